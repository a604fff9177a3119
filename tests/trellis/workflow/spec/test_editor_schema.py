"""The JSON Schema of an experiment file."""

import copy
import json

import jsonschema
import pytest

from tests.airflow_side import ROOT
from trellis.workflow.spec.editor_schema import schema, text
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.sections import fields
from trellis.workflow.spec.yaml_file import MODELINE, parse
from trellis_contracts.catalog import load

COMMITTED = ROOT / "dags/experiment.schema.json"
EXAMPLES = sorted((ROOT / "dags/experiments").glob("*.yaml"))


def problems(values):
    found = jsonschema.Draft7Validator(schema(load())).iter_errors(values)
    return [error.json_path.removeprefix("$.") for error in found]


@pytest.fixture
def values():
    file = ROOT / "dags/experiments/breast-cancer.yaml"
    # JSON has no dates.
    return json.loads(json.dumps(parse(file.name, file.read_text()).values, default=str))


def test_the_committed_file_is_that_of_this_version():
    made = text(load())
    assert COMMITTED.read_text() == made, f"trellis schema > {COMMITTED}"
    jsonschema.Draft7Validator.check_schema(json.loads(made))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_fit_and_their_first_line_names_the_schema(file):
    document = parse(file.name, file.read_text())
    assert problems(json.loads(json.dumps(document.values, default=str))) == []
    first = file.read_text().splitlines()[0]
    told = first.removeprefix(f"# {MODELINE} $schema=")
    assert (file.parent / told).resolve() == COMMITTED
    assert MODELINE not in document.comment


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("budget",), "6 EUR"),
        (("train", "timeout"), "an hour"),
        (("train", "epochs"), 0),
        (("tune", "search", "learning_rate"), {"from": 1, "choose": [1]}),
        (("tune", "trails"), 4),
        (("hyperparameters",), {"batch_size": 0}),
        (("until",), 3),
        (("deploy", "machines", "replicas"), [1]),
        (("task",), "clustering"),
        (("source", "images"), "a table and images"),
    ],
)
def test_what_an_editor_marks(values, path, wrong):
    changed = copy.deepcopy(values)
    section = changed
    for name in path[:-1]:
        section = section.setdefault(name, {})
    section[path[-1]] = wrong
    assert problems(changed)


def test_every_key_is_offered_with_its_meaning_and_default():
    made = schema(load())
    names = {name for name, _ in fields(Experiment)}
    assert made["properties"].keys() == names
    assert made["required"] == ["owner", "budget", "source", "model", "task", "train"]
    assert all(about["description"] for about in made["properties"].values())
    train = made["$defs"]["Train"]["properties"]
    assert train["timeout"]["default"] == "2 hours"
    assert made["$defs"]["Deploy"]["properties"]["hold"]["default"] == "0 minutes"
    offered = made["$defs"]["Maximize"]["properties"]["maximize"]["anyOf"][0]["enum"]
    assert "accuracy" in offered
    assert "log_loss" not in offered
