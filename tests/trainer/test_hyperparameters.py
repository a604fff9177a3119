"""The table of hyperparameters: what a value may be, and what is said of one that may not."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis_contracts import hyperparameters
from trellis_contracts.hyperparameters import HyperparameterError, Hyperparameters, parse
from trellis_contracts.models import MODELS

NAMES = sorted(hyperparameters.schema())


def test_a_tuner_writes_whole_numbers_as_doubles():
    assert parse("layers", "2.0") == 2
    assert parse("layers", "2") == 2
    assert isinstance(parse("layers", "2.0"), int)


def test_a_tuner_writes_categories_as_text():
    assert parse("augment", "true") is True
    assert parse("augment", "False") is False
    assert parse("optimizer", "sgd") == "sgd"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("layers", "2.5", "'2.5' is not a whole number from 1 to 8"),
        ("layers", "9", "9 is not a whole number from 1 to 8"),
        ("learning_rate", "0", "0.0 is not a number above 0 and at most 1"),
        ("learning_rate", "nan", "nan is not a number above 0 and at most 1"),
        ("learning_rate", "fast", "'fast' is not a number above 0 and at most 1"),
        ("layers", "1e400", "'1e400' is not a whole number from 1 to 8"),
        ("dropout", "1", "1.0 is not a number of at least 0 and below 1"),
        ("optimizer", "adan", "'adan' is not one of adam, sgd, rmsprop, lamb, lion"),
        ("kernel", "2", "2 is not one of 1, 3, 5, 7"),
        ("augment", "1", "'1' is not true or false"),
        (
            "class_weights",
            '{"yes": 0}',
            "'{\"yes\": 0}' is not one of none, balanced; or a number above 0 and at most 1000000 "
            "for each of some classes, as {CLASS: 2, OTHER: 0.5}",
        ),
    ],
)
def test_what_is_out_of_bounds_is_told_with_the_bounds(name, text, expected):
    with pytest.raises(HyperparameterError) as error:
        parse(name, text)
    assert str(error.value) == expected


@pytest.mark.parametrize("text", ["balanced", '{"yes": 20}', '{"0": 1e-3, "1": 7}'])
def test_weights_are_a_rule_or_numbers_by_class(text):
    assert parse("class_weights", text) == text


@pytest.mark.parametrize("text", ["", "{}", "[1]", "3", '{"a": "2"}', '{"a": true}', '{"a": NaN}',
                                  '{"a": 1' + 400 * "0" + "}", "[" * 100_000])  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(HyperparameterError, match="none, balanced; or a number"):
        parse("class_weights", text)


def test_bounds_hold_without_a_command_line_too():
    with pytest.raises(HyperparameterError, match="from 1 to 65536"):
        Hyperparameters(batch_size=0)


@pytest.mark.parametrize("name", NAMES)
def test_every_default_is_within_its_bounds_and_every_hyperparameter_is_explained(name):
    words = hyperparameters.schema()[name]
    assert parse(name, str(words["default"])) == words["default"]
    assert len(words["description"]) > 10


@given(st.sampled_from(NAMES), st.one_of(st.floats(), st.integers(), st.text(), st.booleans()))
def test_a_flag_is_refused_or_keeps_the_bounds(name, value):
    try:
        parsed = parse(name, str(value))
    except HyperparameterError:
        return
    assert getattr(dataclasses.replace(Hyperparameters(), **{name: parsed}), name) == parsed
    words = hyperparameters.schema()[name]
    if "enum" in words and "by_class" not in words:
        assert parsed in words["enum"]
    elif words["type"] in ("number", "integer"):
        assert parsed >= words.get("minimum", words.get("exclusiveMinimum", parsed))
        assert parsed <= words.get("maximum", words.get("exclusiveMaximum", parsed))


def test_a_model_has_its_own_and_the_common_ones():
    dense, convolutional = map(hyperparameters.of_model, ("dense", "convolutional"))
    assert "layers" in dense
    assert "layers" not in convolutional
    assert "kernel" in convolutional
    assert "learning_rate" in set(dense) & set(convolutional)
    assert set().union(*map(hyperparameters.of_model, MODELS)) == set(NAMES)


def test_a_model_may_lack_what_others_have():
    assert "jit_compile" in hyperparameters.of_model("dense")
    assert "jit_compile" not in hyperparameters.of_model("recurrent")


def test_a_training_has_only_those_that_can_change_it():
    h = Hyperparameters()
    of_rows = hyperparameters.of_training(h, "dense", ["table"], "regression")
    of_images = hyperparameters.of_training(h, "dense", ["image"], "multiclass_classification")
    assert set(of_images) - set(of_rows) == {
        "augment",
        "flip",
        "rand_augment",
        "mix",
        "mix_alpha",
        "label_smoothing",
        "loss",
        "focal_gamma",
        "class_weights",
    }
    assert set(of_rows) - set(of_images) == {"embedding"}


def test_values_that_change_nothing_are_found():
    h = Hyperparameters(augment=True, label_smoothing=0.1, embedding=4)
    assert hyperparameters.without_effect(h, ["table"], "regression") == [
        "label_smoothing",
        "augment",
    ]
    assert hyperparameters.without_effect(h, ["image"], "binary_classification") == ["embedding"]
