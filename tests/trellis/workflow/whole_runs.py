"""Fixtures of whole runs of the DAG, with a stand-in for the trainer."""

import pytest

from tests.trellis.workflow import platforms
from trellis.workflow.assembly import training
from trellis.workflow.validation.file import with_changes

PROVEN = "us-central1-docker.pkg.dev/stand-in/trellis"


MANIFEST = "".join(f"gs://runs-tests/{n}.png,{n % 2}\n" for n in range(300))


@pytest.fixture
def a_dag(google, digits, group, request):
    """The demo's experiment under the test's own name; `seed` says what goes wrong."""
    (google.buckets / "runs-tests").mkdir(exist_ok=True)
    (google.buckets / "runs-tests/manifest.csv").write_text(MANIFEST)
    platform = platforms.of_tests(group, bucket="runs-tests", registry="example.com/stand-in")

    def make(seed=0, deploy=None, changes=None, registry=None, **tune):
        values = {
            ("source", "images"): "manifest.csv",
            ("seed",): seed,
            ("deploy",): deploy,
            ("tune", "trials"): 3,
            ("tune", "parallel"): 3,
            ("train", "machines"): {"workers": 1},
            **{("tune", name): value for name, value in tune.items()},
            **(changes or {}),
        }
        name = request.node.name.replace("_", "-")[5:45].strip("-")
        experiment = with_changes(digits, values).model_copy(update={"name": name})
        own = {"registry": registry} if registry else {}
        return training.build(experiment, platform.model_copy(update=own))

    return make


@pytest.fixture
def folder(google):
    """The folder of a DAG's only run."""

    def find(dag):
        (run,) = (google.buckets / "runs-tests" / dag.dag_id / "runs").iterdir()
        return run

    return find


def states(run):
    return {
        ti.task_id if ti.map_index < 0 else f"{ti.task_id} {ti.map_index}": str(ti.state)
        for ti in run.get_task_instances()
    }


def rendered(run, name):
    """Return a task's Rendered Templates in the UI; `name` as in `states`."""
    from airflow.models.renderedtifields import RenderedTaskInstanceFields

    task, _, index = name.partition(" ")
    (ti,) = [
        ti
        for ti in run.get_task_instances()
        if ti.task_id == task and ti.map_index == int(index or -1)
    ]
    return RenderedTaskInstanceFields.get_templated_fields(ti)


def jobs(google, dag):
    return [j for j in google.status()["jobs"] if j["labels"].get("airflow-dag") == dag.dag_id]


def said(run):
    """Return the text of `result` on the deployment."""
    result = next(ti for ti in run.get_task_instances() if ti.task_id == "result")
    return result.xcom_pull(task_ids="result")["deployment"]
