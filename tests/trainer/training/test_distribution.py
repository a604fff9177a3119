"""Choice of a process's strategy, and the error of a lost peer."""

import numpy as np
import pytest
import tensorflow as tf

from tests.wording import says
from trainer.training import TrainingError
from trainer.training.cluster import ALONE, Cluster
from trainer.training.distribution import (
    Distribution,
    PeerLostError,
    choose,
    connect,
    watching,
)

PAIR = Cluster({"chief:0": "a:1", "worker:0": "b:1"}, "chief:0")


def test_auto_takes_what_the_environment_offers():
    assert choose("auto", PAIR) == "multi_worker"
    assert choose("auto", ALONE) in ("single", "mirrored")
    assert choose("mirrored", ALONE) == "mirrored"


def test_parameter_servers_are_used_if_there_are_any():
    served = Cluster(PAIR.addresses | {"ps:0": "c:1"}, "chief:0")
    assert choose("auto", served) == "parameter_server"
    assert choose("parameter_server", served) == "parameter_server"
    with pytest.raises(TrainingError, match="TF_CONFIG has parameter servers"):
        choose("multi_worker", served)
    with pytest.raises(TrainingError, match="TF_CONFIG has no parameter servers"):
        choose("parameter_server", PAIR)


def test_a_machine_without_tpus_is_reported():
    with pytest.raises(TrainingError) as error:
        connect("tpu", ALONE, seed=0)
    assert says(str(error.value), "--strategy tpu", "TensorFlow 2.", "TPUs not found")


def test_reduction_servers_are_used_if_the_job_says_so():
    """Vertex AI's page does not tell whether TF_CONFIG names them."""
    named = Cluster(PAIR.addresses | {"ps:0": "c:1"}, "chief:0")
    assert choose("reduction_server", named) == choose("reduction_server", PAIR)
    single = Cluster({"chief:0": "a:1", "ps:0": "c:1"}, "chief:0")
    with pytest.raises(TrainingError, match="names no second worker"):
        choose("reduction_server", single)


def test_tpus_are_those_of_one_machine_and_taken_if_they_are_asked_for():
    assert choose("tpu", ALONE) == "tpu"
    with pytest.raises(TrainingError, match="which would all train the same model"):
        choose("tpu", PAIR)


def test_several_workers_without_a_cluster_are_refused():
    with pytest.raises(TrainingError, match="TF_CONFIG names no second process"):
        choose("multi_worker", ALONE)


@pytest.mark.parametrize("kind", ["single", "mirrored"])
def test_a_cluster_whose_processes_would_not_work_together_is_refused(kind):
    with pytest.raises(TrainingError, match="which would all train the same model"):
        choose(kind, PAIR)


def test_a_lost_peer_is_named():
    """The words are TensorFlow 2.21's."""
    error = tf.errors.UnavailableError(
        None,
        None,
        "Collective ops is aborted by: Error reported from /job:worker/task:0: The following tasks "
        "are unhealthy (stopped sending heartbeats):\n/job:worker/replica:0/task:0\n",
    )
    lost = pytest.raises(PeerLostError, match=r"^worker:0 is gone, after step 7$")
    with lost, watching(PAIR, lambda: "after step 7"):
        raise error
    with pytest.raises(tf.errors.UnavailableError), watching(ALONE, lambda: ""):
        raise error


def test_alone_there_is_one_row():
    alone = Distribution("single", tf.distribute.get_strategy(), ALONE)
    assert alone.gather(np.arange(3, dtype=np.int32)).tolist() == [[0, 1, 2]]
    assert alone.replicas == alone.local_replicas == 1
    alone.barrier()
