"""Files that pass between Airflow and the trainer: schemas, and what a violation is told as."""

import json

import jsonschema
import pytest

from tests.wording import says
from trellis_contracts import VERSION, documents, tasks
from trellis_contracts.documents import ContractError

SERVED = {"schema": 1, "endpoint": None, "model": None, "artifact_uri": None, "traffic": 0}


@pytest.mark.parametrize("name", documents.names())
def test_every_schema_is_one_of_draft_2020_12(name):
    schema = documents.schema(name)
    assert jsonschema.validators.validator_for(schema, None) is jsonschema.Draft202012Validator
    assert schema["title"]
    assert schema["description"]
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_tasks_of_the_schemas_are_those_that_there_are():
    assert sorted(documents.schema("task")["enum"]) == sorted(tasks.ALL)


def test_what_is_written_is_read(tmp_path):
    where = tmp_path / "served.json"
    where.write_text(documents.to_json("served", SERVED, str(where)))
    assert documents.parse("served", where.read_bytes(), str(where)) == SERVED


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"traffic": 101}, "traffic: expected at most 100, got 101"),
        ({"traffic": "all"}, 'traffic: expected integer, got "all"'),
        ({"model": 3}, "model: expected string or null, got 3"),
        ({"schema": 2}, "schema: expected 1, got 2"),
        ({"trafic": 3}, "the document: unknown key 'trafic'"),
    ],
)
def test_a_violation_names_file_field_and_expectation(changed, problem):
    text = json.dumps(SERVED | changed)
    with pytest.raises(ContractError) as refused:
        documents.parse("served", text, "gs://b/served.json")
    assert str(refused.value) == (
        f"gs://b/served.json does not match served.schema.json:\n  {problem}"
    )


def test_places_within_lists_are_reported():
    trial = {
        "id": "1",
        "state": "SUCCEEDED",
        "parameters": {"units": None},
        "final": {"step": 2, "loss": 1},
    }
    document = {"schema": 1, "job": "j", "metric": "auc", "goal": "up", "chosen": []}
    with pytest.raises(ContractError) as refused:
        documents.check("trials", document | {"trials": [trial]}, "trials.json")
    problems = [line.strip().split(": ") for line in str(refused.value).splitlines()[1:]]
    assert [place for place, _ in problems] == [
        "goal", "trials[0]", "trials[0]", "trials[0].final", "trials[0].parameters.units",
    ]  # fmt: skip


def test_a_document_that_violates_its_schema_is_not_written():
    with pytest.raises(ContractError, match="traffic: expected at least 0"):
        documents.to_json("served", SERVED | {"traffic": -1}, "served.json")
    with pytest.raises(ContractError, match="cannot be written as JSON"):
        documents.to_json("served", SERVED | {"traffic": float("nan")}, "served.json")


@pytest.mark.parametrize(
    ("written", "read"), [("0.9.3", True), (f"{int(VERSION[0]) + 1}.0.0", False)]
)
def test_a_document_of_another_first_number_is_refused_in_one_sentence(written, read):
    """The schema decides on documents of the same first number."""
    with pytest.raises(ContractError) as refused:
        documents.check("plan", {"contracts": written}, "gs://b/plan.json")
    assert says(str(refused.value), written, VERSION) != read
    assert (len(str(refused.value).splitlines()) == 1) != read
