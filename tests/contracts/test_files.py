"""Each file that passes between stages has one class, whose fields are those of its schema."""

import dataclasses
import json
import typing

import pytest

from trellis_contracts import documents
from trellis_contracts.baseline import Baseline
from trellis_contracts.challenger import Challenger
from trellis_contracts.changes import DatasetChanges
from trellis_contracts.deployment import Deployment
from trellis_contracts.documents import ContractError
from trellis_contracts.files import Part
from trellis_contracts.leaderboard import Leaderboard
from trellis_contracts.plan import PlanFile
from trellis_contracts.postprocessing import Postprocessing
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.served import Served
from trellis_contracts.training import Training
from trellis_contracts.trials import Trials

FILES = [
    Baseline,
    Challenger,
    DatasetChanges,
    Deployment,
    Leaderboard,
    PlanFile,
    Postprocessing,
    Served,
    Training,
    Trials,
]
# Keys that the classes write by themselves.
WRITTEN = {"schema", "contracts"}


def resolved(schema, whole):
    """A part of a schema that is an object, or None."""
    if "$ref" in schema:
        return resolved(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    for word in ("oneOf", "anyOf"):
        found = [resolved(one, whole) for one in schema.get(word, ())]
        if objects := [one for one in found if one]:
            return objects[0]
    if "items" in schema:
        return resolved(schema["items"], whole)
    if isinstance(schema.get("additionalProperties"), dict) and "properties" not in schema:
        return resolved(schema["additionalProperties"], whole)
    return schema if "properties" in schema else None


def part_of(hint):
    """The class of a part in a field's type: X, X | None, tuple[X, ...], Mapping[str, X]."""
    if isinstance(hint, type) and issubclass(hint, Part):
        return hint
    return next(filter(None, map(part_of, typing.get_args(hint))), None)


def compare(kind, schema, whole):
    """Hold the fields of a class, and of its parts, against a schema."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    assert set(fields) | WRITTEN & set(schema["properties"]) == set(schema["properties"]), kind
    always = {name for name, field in fields.items() if not field.metadata}
    assert always == set(schema["required"]) - WRITTEN, kind
    hints = typing.get_type_hints(kind)
    for name in fields:
        if part := part_of(hints[name]):
            compare(part, resolved(schema["properties"][name], whole), whole)


@pytest.mark.parametrize("kind", FILES)
def test_a_class_has_the_fields_of_its_schema(kind):
    schema = documents.schema(kind.CONTRACT)
    assert schema["properties"]["schema"] == {"const": kind.SCHEMA}
    compare(kind, schema, schema)


TRIALS = {
    "schema": 1,
    "job": "projects/1/locations/r/hyperparameterTuningJobs/2",
    "metric": "accuracy",
    "goal": "maximize",
    "trials": [
        {
            "id": "1",
            "state": "SUCCEEDED",
            "parameters": {"units": 3},
            "final": {"step": 4, "value": 0.9, "loss": None},
            "start": None,
            "end": None,
        },
        {"id": "2", "state": "FAILED", "parameters": {}, "final": None, "start": None, "end": None},
    ],
    "chosen": [{"rank": 1, "trial": "1", "parameters": {"units": 3}, "value": 0.9}],
}


def test_a_file_is_read_and_written_as_it_was():
    found = Trials.parse(json.dumps(TRIALS), "trials.json")
    assert found.trials[0].final.value == found.chosen[0].value == 0.9
    assert found.trials[1].final is None
    assert json.loads(found.to_json("trials.json")) == TRIALS
    assert list(json.loads(found.to_json("trials.json"))) == list(TRIALS)


@pytest.mark.parametrize("threshold", [None, {"class": "ill", "above": 0.25}])
def test_an_optional_part_is_left_out(threshold):
    document = {
        "schema": 1,
        "contender": "training/1",
        "model": "gs://b/x/runs/r/training/1/model/",
        "examples": [{"key": "7", "instance": {"x": 1}, "prediction": {"value": 1.5}}],
        "hyperparameters": {},
        "provenance": {
            "run": "gs://b/x/runs/r/",
            "dataset": "1",
            "versions": {},
            "code_sha256": "0" * 64,
        },
    }
    document |= {"threshold": threshold} if threshold else {}
    found = Challenger.parse(json.dumps(document), "challenger.json")
    assert (found.threshold is None) == (threshold is None)
    assert found.to_document() == document


def test_what_does_not_fit_is_refused_on_both_ways():
    with pytest.raises(ContractError, match=r"trials.json .*\n  .*key 'chosen' is missing"):
        Trials.parse(json.dumps({k: v for k, v in TRIALS.items() if k != "chosen"}), "trials.json")
    wrong = dataclasses.replace(Trials.from_document(TRIALS), goal="win")
    with pytest.raises(ContractError, match=r"trials.json .*\n  goal: expected one of"):
        wrong.to_json("trials.json")


@pytest.mark.parametrize(
    "header",
    [
        PredictionsHeader(classes=("a", "b"), origin={"model": "m"}),
        PredictionsHeader("multilabel_classification", ("a", "b")),
        PredictionsHeader("regression"),
    ],
)
def test_the_schema_of_predictions(header):
    metadata = {name.encode(): text.encode() for name, text in header.metadata.items()}
    assert PredictionsHeader.parse(metadata, header.columns) == header
    with pytest.raises(ContractError, match="extra double; expected key string, label "):
        PredictionsHeader.parse(metadata, {**header.columns, "extra": "double"})
