"""TF_CONFIG as Vertex AI and others write it."""

import json

import pytest

from trainer.training import TrainingError
from trainer.training.cluster import ALONE, from_environment


def cluster(kind, index, **jobs):
    config = {"cluster": jobs, "task": {"type": kind, "index": index}}
    return from_environment({"TF_CONFIG": json.dumps(config)})


def test_without_tf_config_a_process_is_alone_and_the_chief():
    assert from_environment({}) is ALONE
    assert ALONE.is_chief
    assert len(ALONE) == 1


def test_a_cluster_of_one_is_alone():
    assert cluster("chief", 0, chief=["a:2222"]) is ALONE


def test_the_chief_comes_first():
    found = cluster("worker", 1, worker=["b:2222", "c:2222"], chief=["a:2222"])
    assert found.names == ["chief:0", "worker:0", "worker:1"]
    assert found.chief == "chief:0"
    assert found.name == "worker:1"
    assert not found.is_chief


def test_without_a_chief_worker_0_is_it():
    found = cluster("worker", 0, worker=["b:2222", "c:2222"])
    assert found.chief == "worker:0"
    assert found.is_chief


def test_the_index_may_be_text():
    assert cluster("worker", "1", worker=["b:2222", "c:2222"]).name == "worker:1"


def test_parameter_servers_come_after_the_workers():
    found = cluster("ps", 0, chief=["a:2222"], worker=["b:2222"], ps=["c:2222"])
    assert found.names == ["chief:0", "worker:0", "ps:0"]
    assert found.has_servers
    assert not cluster("worker", 0, chief=["a:2222"], worker=["b:2222"]).has_servers


def test_the_workers_without_the_servers():
    found = cluster("worker", 0, chief=["a:2222"], worker=["b:2222"], ps=["c:2222"]).workers
    assert (found.names, found.name) == (["chief:0", "worker:0"], "worker:0")


def test_parameter_servers_need_a_chief_that_does_not_train():
    with pytest.raises(TrainingError, match="need a chief and workers"):
        cluster("ps", 0, worker=["b:2222"], ps=["c:2222"])


def test_evaluators_are_refused():
    with pytest.raises(TrainingError, match="has evaluator processes"):
        cluster("worker", 0, chief=["a:2222"], worker=["b:2222"], evaluator=["c:2222"])


@pytest.mark.parametrize("text", ["[1]", "no JSON", '{"cluster": {"chief": ["a:1"]}}'])
def test_nonsense_is_refused(text):
    with pytest.raises(TrainingError, match="TF_CONFIG cannot be understood"):
        from_environment({"TF_CONFIG": text})


def test_a_task_outside_its_cluster_is_refused():
    with pytest.raises(TrainingError, match=r"worker:5 is not in its cluster"):
        cluster("worker", 5, chief=["a:2222"], worker=["b:2222"])
