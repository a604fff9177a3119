"""The files that pass between stages, and between Airflow and the job image."""

import json

import jsonschema
import pytest

from tests.airflow_side import ROOT
from trellis.workflow.contracts import documents

SCHEMAS = sorted(documents.FOLDER.glob("*.schema.json"))
TRAINER = ROOT / "trainer/contracts"

OF_AIRFLOW = {
    f"{kind}.schema.json"
    for kind in (
        "deployment",
        "plan_table",
        "prediction_plan",
        "prediction_result",
        "rollback",
        "run_plan",
    )
}
"""Of files that the job image neither writes nor reads, and the other views of plan.json."""

SERVED = {
    "schema": 1,
    "endpoint": "projects/p/locations/r/endpoints/digits",
    "model": "projects/p/locations/r/models/digits@3",
    "artifact_uri": None,
    "traffic": 100,
}


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_every_schema_is_one_and_says_what_its_file_is(path):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert schema["description"]


def test_airflow_and_the_job_image_agree_byte_for_byte():
    """Each side checks by its own copy: neither imports the other."""
    shared = {path.name: path.read_bytes() for path in SCHEMAS if path.name not in OF_AIRFLOW}
    assert shared == {path.name: path.read_bytes() for path in TRAINER.glob("*.schema.json")}


def test_a_document_that_fits_passes():
    documents.check("served", SERVED, "gs://b/served.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"traffic": "all"}, r"gs://b/served.json .* traffic: 'all' is not of type 'integer'"),
        ({"traffic": 101}, "traffic: 101 is greater than the maximum of 100"),
        ({"schema": 2}, "schema: 1 was expected"),
        ({"share": 1}, r"the file: Additional properties are not allowed \('share'"),
    ],
)
def test_one_that_does_not_fit_is_refused_with_file_and_field(changes, message):
    with pytest.raises(documents.DocumentError, match=message):
        documents.check("served", SERVED | changes, "gs://b/served.json")
