"""Models and hyperparameters that an experiment may name."""

import pytest
from jsonschema import Draft202012Validator

from trellis_contracts import hyperparameters, metrics
from trellis_contracts.catalog import Hyperparameter, flag, load
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.model_file import Declaration
from trellis_contracts.tasks import TASKS


def parameter(**schema):
    return Hyperparameter("x", {"expected": "its bounds in words", **schema})


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, [0.5, 1], [0, 1.1, "1", True]),
        ({"type": "integer", "minimum": 1, "maximum": 8}, [1, 8], [0, 9, 2.5, 2.0, False]),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, [0, 0.99], [1, -0.1]),
        ({"type": "integer", "enum": [3, 5]}, [3], [4, "3"]),
        ({"type": "string", "enum": ["adam"]}, ["adam"], ["Adam", 1]),
        ({"type": "boolean"}, [True], ["true", 1]),
    ],
)
def test_values_are_judged_by_type_and_bounds(schema, good, bad):
    assert [parameter(**schema).problem_with(value) for value in good] == [None] * len(good)
    problems = {parameter(**schema).problem_with(value) for value in bad}
    assert problems == {"expected its bounds in words"}


@pytest.mark.parametrize(
    ("kind", "value", "cast"),
    [
        ("integer", 2.0, 2),
        ("integer", "2.0", 2),
        ("number", 1, 1.0),
        ("string", "adam", "adam"),
        ("boolean", "true", True),
        ("boolean", "false", False),
    ],
)
def test_a_tuners_value_gets_the_trainers_type(kind, value, cast):
    result = parameter(type=kind).cast(value)
    assert result == cast
    assert type(result) is type(cast)


def test_a_fraction_is_no_integer():
    with pytest.raises(ValueError, match=r"x is a whole number, the tuner gave 2\.5"):
        parameter(type="integer").cast(2.5)


def test_a_flag_is_written_as_the_trainer_reads_it():
    assert [flag(v) for v in (True, 2, 0.5, "adam")] == ["true", "2", "0.5", "adam"]


def test_every_hyperparameter_is_valid_json_schema_and_its_default_fits():
    for name, words in hyperparameters.schema().items():
        Draft202012Validator.check_schema(words)
        assert Draft202012Validator(words).is_valid(getattr(Hyperparameters(), name))


def test_every_model_has_hyperparameters_and_every_task_metrics():
    catalog = load()
    for model in catalog.models:
        assert catalog.of_model(model)
    for task in TASKS:
        assert metrics.of_task(task)


def test_a_groups_own_file_is_one_more_model():
    declared = {"width": {"type": "integer", "default": 8, "expected": "a whole number"}}
    catalog = load().with_file(
        "own.py", Declaration("Two towers.", ("table",), declared, loss=True)
    )
    assert catalog.models["own.py"].inputs == ("table",)
    assert {"width", "learning_rate"} <= set(catalog.of_model("own.py"))
    assert not {"loss", "focal_gamma"} & set(catalog.of_model("own.py"))
    assert "own.py" not in load().models
