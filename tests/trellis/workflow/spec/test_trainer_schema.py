import pytest

from trellis.workflow.spec.trainer_schema import Hyperparameter, flag, load


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


def test_the_committed_schema_is_whole():
    schema = load()
    assert set(schema.commands) == {"train", "try", "weights", "export", "compare", "serve"}
    for model in schema.models:
        assert schema.of_model(model)
    for task in schema.tasks.values():
        assert set(task["metrics"]) <= set(schema.metrics)


def test_another_version_is_refused(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text('{"version": 2}')
    with pytest.raises(ValueError, match="one release"):
        load(path)
