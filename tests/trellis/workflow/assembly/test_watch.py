"""One event for each change of what an experiment waits for, in a real Airflow."""

import pytest
from sqlalchemy import select

from tests.airflow_side import run_dag
from trellis.workflow.assembly import training, watch
from trellis.workflow.contracts import assets
from trellis.workflow.validation.file import with_changes


@pytest.fixture
def waiting(google, digits, breast_cancer, group, request):
    """Two experiments of the test's own names, by name, and the first one's manifest: the first
    waits for new data, the second for the champion of the first.
    """
    name = request.node.name.replace("_", "-")[5:40].strip("-")
    manifest = google.buckets / group.bucket / name / "manifest.csv"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    changes = {("schedule",): "new data", ("source", "images"): f"{name}/manifest.csv"}
    first = with_changes(digits, changes).model_copy(update={"name": name})
    changes = {("schedule",): f"new champion of {name}", ("until",): None}
    second = with_changes(breast_cancer, changes).model_copy(update={"name": f"{name}-next"})
    return {one.name: one for one in (first, second)}, manifest


def states(run):
    return {ti.task_id.partition(".")[2]: str(ti.state) for ti in run.get_task_instances()}


def events(asset):
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session

    with create_session() as session:
        found = select(AssetEvent.extra).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        return list(session.scalars(found.where(AssetModel.name == asset.name)))


def test_each_change_of_a_manifest_is_one_event(google, group, waiting):
    experiments, manifest = waiting
    dag = watch.build(experiments, group)
    source = assets.source(next(iter(experiments)), group)
    assert states(run_dag(dag)) == {"source": "skipped", "champion": "skipped"}
    manifest.write_text("gs://b/1.png,1\n")
    assert states(run_dag(dag))["source"] == "success"
    assert states(run_dag(dag))["source"] == "skipped"
    manifest.write_text("gs://b/1.png,1\ngs://b/2.png,2\n")
    assert states(run_dag(dag))["source"] == "success"
    told = events(source)
    assert len(told) == 2
    first, second = (event["version"][0]["crc32c"] for event in told)
    assert first != second


def test_what_waits_is_scheduled_by_the_event_that_the_watch_emits(group, waiting):
    experiments, _ = waiting
    first, second = experiments.values()
    dag = watch.build(experiments, group)
    for experiment, what in ((first, "source"), (second, "champion")):
        (asset,) = training.build(experiment, group).timetable.asset_condition.objects
        assert dag.get_task(f"{first.name}.{what}").outlets == [asset]


def test_names_have_the_groups_prefix(group):
    other = group.model_copy(update={"dag_prefix": "lab-"})
    assert assets.dataset("digits", group).name == "digits dataset"
    assert assets.dataset("digits", other).name == "lab-digits dataset"
