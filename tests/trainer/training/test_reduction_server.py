"""Reduction Server, as far as it shows without GPUs and Google's library."""

import json
import subprocess

import pytest

from tests.wording import says
from trainer.training import TrainingError, reduction_server

CHIEF, WORKER, REDUCER = CLUSTER = ("chief:0", "worker:0", "ps:0")

# All but the look for what this machine lacks.
UNCHECKED = (
    "-c",
    """
import sys
from trainer.training import reduction_server
reduction_server.check = lambda: None
from trainer.task import main
sys.exit(main())
""",
)

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def library(tmp_path):
    """Makes a shared library with one variable."""

    def make(variable):
        source, made = tmp_path / "plugin.c", tmp_path / f"{variable}.so"
        source.write_text(f"int {variable};")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", made, source], check=True)
        return str(made)

    return make


def test_nccl_takes_the_library(library):
    reduction_server.check_library(library("ncclNetPlugin_v8"))


def test_nccl_would_not_take_an_old_library(library):
    with pytest.raises(TrainingError, match=r"ncclNetPlugin_v6.*NCCL"):
        reduction_server.check_library(library("ncclNetPlugin_v4"))


def test_only_the_processes_that_train_are_tensorflows(monkeypatch):
    jobs = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
    config = {"cluster": jobs, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    workers = reduction_server.Workers()
    assert workers.cluster_spec().as_dict() == {"chief": ["a:1"], "worker": ["b:1", "c:1"]}
    assert (workers.task_type, workers.task_id) == ("worker", 1)


@pytest.mark.parametrize("kind", ["chief", "worker"])
def test_a_job_does_not_pay_for_reducers_that_nothing_reaches(train, few_digits, monkeypatch, kind):
    """No process waits for another before it says so."""
    jobs = {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"], "ps": ["127.0.0.1:3"]}
    config = {"cluster": jobs, "task": {"type": kind, "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with pytest.raises(TrainingError) as error:
        train(few_digits, task="multiclass_classification", strategy="reduction_server")
    assert says(str(error.value), "NCCL", "libnccl-net.so")
    assert "docker/packages/README.md" in str(error.value)


@pytest.mark.slow
def test_reducers_are_none_of_the_trainings_processes(few_digits, make_job):
    """Nobody answers at the reducer's address: Google's program speaks no gRPC of TensorFlow's."""
    job = make_job(CLUSTER, few_digits, UNCHECKED, strategy="reduction_server", batch_size=8)
    job.start(CHIEF, WORKER)
    assert job.wait() == {CHIEF: 0, WORKER: 0}, job.log(CHIEF)
    assert job.metrics["strategy"] == "reduction_server"
    assert set(job.metrics["replicas"]) == {CHIEF, WORKER}
