"""No task waits without end for a job's machines, or for an operation of Vertex AI."""

from datetime import timedelta

import pytest

from tests.airflow_side import ROOT
from trellis import dags
from trellis.vertex.base import VertexTask
from trellis.workflow.assembly.training import build
from trellis.workflow.spec.platform import JobMachines
from trellis.workflow.validation.file import with_changes


def waits(dag):
    """Seconds that each task of a DAG waits for its job's machines, or an operation, by task."""
    found = {}
    for task in dag.tasks:
        kind = getattr(task, "operator_class", type(task))
        if issubclass(kind, VertexTask):
            found[task.task_id] = getattr(task, "partial_kwargs", vars(task)).get("wait")
    return found


@pytest.fixture(scope="module")
def shipped(airflow_database):
    """All DAGs of the examples by id."""
    return dags.build(str(ROOT / "dags/trellis_dags.py"))


def test_every_wait_of_the_examples_has_a_limit(shipped):
    found = {name: waits(dag) for name, dag in shipped.items()}
    kinds = {task for dag in found.values() for task in dag}
    assert {
        "automl.dataset", "automl.predict", "automl.train", "compare", "deploy.canary_10",
        "deploy.champion", "deploy.endpoint", "deploy.register", "deploy.retention",
        "deploy.retreat", "deploy.shift_100", "deploy.undeploy", "endpoint", "folds", "outputs",
        "predict", "repeat", "score", "shift", "train", "tune", "undeploy",
    } <= kinds  # fmt: skip
    days = timedelta(days=3).total_seconds()
    assert {(name, task, wait) for name, dag in found.items() for task, wait in dag.items()} == {
        (name, task, days) for name, dag in found.items() for task in dag
    }


def test_an_experiments_own_limit_comes_before_the_groups(digits, group):
    changes = {
        ("train", "machines", "wait"): "12 hours",
        ("train", "ensemble"): True,
        ("baselines", "files"): {"theirs": "theirs.parquet"},
    }
    changed = with_changes(digits, changes)
    brief = group.model_copy(update={"machines": JobMachines(wait="2 hours")})
    found = waits(build(changed, brief))
    assert found.pop("train") == 12 * 3600
    assert {"ensemble", "check_files"} <= found.keys()
    assert set(found.values()) == {2 * 3600}
