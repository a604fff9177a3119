"""TF_CONFIG and CLUSTER_SPEC as Vertex AI writes them."""

import json

from local_gcp.jobs.cluster import cluster_environment

ALL = {
    (0, 0): "h:1",
    (1, 0): "h:2",
    (1, 1): "h:3",
    (2, 0): "h:4",
    (3, 0): "h:5",
}


def test_a_single_replica_has_a_cluster_spec_and_no_tf_config():
    environment = cluster_environment({(0, 0): "h:1"}, 0, 0, None)
    assert environment.keys() == {"CLUSTER_SPEC"}
    spec = json.loads(environment["CLUSTER_SPEC"])
    assert spec["cluster"] == {"workerpool0": ["h:1"]}
    assert spec["task"] == {"type": "workerpool0", "index": 0}
    assert spec["environment"] == "cloud"


def test_a_worker_is_told_of_chief_workers_and_parameter_servers_but_not_of_evaluators():
    environment = cluster_environment(ALL, 1, 1, None)
    config = json.loads(environment["TF_CONFIG"])
    assert config["cluster"] == {"chief": ["h:1"], "worker": ["h:2", "h:3"], "ps": ["h:4"]}
    assert config["task"] == {"type": "worker", "index": 1}
    spec = json.loads(environment["CLUSTER_SPEC"])
    assert spec["cluster"]["workerpool3"] == ["h:5"]
    assert spec["task"] == {"type": "workerpool1", "index": 1}


def test_an_evaluator_knows_the_cluster_that_it_is_no_part_of():
    config = json.loads(cluster_environment(ALL, 3, 0, None)["TF_CONFIG"])
    assert config["task"] == {"type": "evaluator", "index": 0}
    assert "evaluator" not in config["cluster"]


def test_an_empty_pool_leaves_a_gap_in_the_roles():
    config = json.loads(
        cluster_environment({(0, 0): "h:1", (2, 0): "h:2"}, 2, 0, None)["TF_CONFIG"]
    )
    assert config["cluster"] == {"chief": ["h:1"], "ps": ["h:2"]}


def test_the_trial_is_part_of_the_task():
    environment = cluster_environment(ALL, 0, 0, "7")
    for variable in environment.values():
        assert json.loads(variable)["task"]["trial"] == "7"
