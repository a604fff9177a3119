"""Inputs and outputs that operators report to OpenLineage."""

from types import SimpleNamespace

import pytest

from trellis.lineage import Traced, named
from trellis.vertex.endpoints import DeployModelOperator
from trellis.vertex.operators import (
    AutoMLTabularOperator,
    BatchPredictionJobOperator,
    CustomJobOperator,
)

PLACE = {"task_id": "task", "project_id": "p", "region": "r"}
ENDED = {state: SimpleNamespace(state=state) for state in ("success", "failed", "skipped")}


@pytest.mark.parametrize(
    ("address", "name"),
    {
        "p.d.t": ("bigquery", "p.d.t"),
        "bq://p.d.t": ("bigquery", "p.d.t"),
        "gs://b/f/": ("gs://b", "f"),
        "gs://b/f/g.json": ("gs://b", "f/g.json"),
        "gs://b/f/rows-*.parquet": ("gs://b", "f"),
        "projects/p/locations/r/models/m@3": ("vertex_ai", "model:p.r.m.3"),
        "projects/p/locations/r/datasets/5": ("vertex_ai", "dataset:p.r.5"),
        "projects/p/locations/r/endpoints/e": ("vertex_ai", "endpoint:p.r.e"),
    }.items(),
)
def test_names_follow_the_conventions(address, name):
    assert named(address) == name


def test_a_projects_number_gives_way_to_its_id():
    by_number = "projects/123/locations/r/models/m@3"
    assert named(by_number, "p") == ("vertex_ai", "model:p.r.m.3")
    assert named(by_number) == ("vertex_ai", "model:123.r.m.3")
    assert named("projects/other/locations/r/models/m@3", "p") == ("vertex_ai", "model:other.r.m.3")


@pytest.mark.parametrize("address", ["", "table", "d.t", "s3://b/f", "http://h/f"])
def test_what_has_no_name_is_refused(address):
    with pytest.raises(ValueError, match="no address"):
        named(address)


def told(lineage):
    """The names that are read, and those that are written."""
    return tuple(
        [f"{d.namespace} {d.name}" for d in way] for way in (lineage.inputs, lineage.outputs)
    )


class Copy(Traced):
    def _reads(self):
        return ["p.d.from", "", "p.d.from"]

    def _writes(self):
        return ["p.d.to"]


def test_each_end_of_a_task_is_reported():
    task = Copy()
    assert told(task.get_openlineage_facets_on_start()) == (["bigquery p.d.from"], [])
    ends = {
        "success": task.get_openlineage_facets_on_complete(ENDED["success"]),
        # The listener has no method of its own for a skip.
        "skipped": task.get_openlineage_facets_on_complete(ENDED["skipped"]),
        "failed": task.get_openlineage_facets_on_failure(ENDED["failed"]),
    }
    assert {end: told(lineage) for end, lineage in ends.items()} == {
        "success": (["bigquery p.d.from"], ["bigquery p.d.to"]),
        "skipped": ([], []),
        "failed": (["bigquery p.d.from"], []),
    }


def of(task):
    return told(task.get_openlineage_facets_on_complete(ENDED["success"]))


def test_a_job_writes_to_its_output_directory():
    output = {"base_output_directory": {"output_uri_prefix": "gs://b/out"}}
    task = CustomJobOperator(custom_job={"job_spec": output}, **PLACE)
    assert of(task) == ([], ["gs://b out"])
    assert of(CustomJobOperator(custom_job={"job_spec": {}}, **PLACE)) == ([], [])


def test_a_batch_prediction_reads_its_instances_and_its_model():
    model = "projects/p/locations/r/models/m@1"
    job = {"input_config": {"bigquery_source": {"input_uri": "bq://p.d.rows"}}, "model": model}
    task = BatchPredictionJobOperator(batch_prediction_job=job, **PLACE)
    assert of(task)[0] == ["bigquery p.d.rows", "vertex_ai model:p.r.m.1"]


def test_a_pipeline_reads_its_dataset():
    pipeline = {"input_data_config": {"dataset_id": "5"}}
    task = AutoMLTabularOperator(training_pipeline=pipeline, **PLACE)
    assert of(task)[0] == ["vertex_ai dataset:p.r.5"]
    assert of(AutoMLTabularOperator(training_pipeline=None, **PLACE)) == ([], [])


def test_a_deployment_leads_from_the_version_to_the_endpoint():
    task = DeployModelOperator(
        endpoint_id="projects/p/locations/r/endpoints/e",
        model="projects/p/locations/r/models/m@2",
        deployed_model={},
        share=10,
        **PLACE,
    )
    assert of(task) == (["vertex_ai model:p.r.m.2"], ["vertex_ai endpoint:p.r.e"])
