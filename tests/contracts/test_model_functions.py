"""Functions of a model's own file, judged without executing them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wording import says
from trellis_contracts import hyperparameters, model_file
from trellis_contracts.hyperparameters import Common
from trellis_contracts.model_file import ModelFileError

COMMON = hyperparameters.schema(Common)
OWN = 'HYPERPARAMETERS = {"width": {"default": 8, "enum": [8, 16], "description": ""}}\n'
BUILD = "def build(dataset, hyperparameters): return hyperparameters.width\n"
FIT = "def fit(data, hyperparameters, report): return hyperparameters.width\n"
LOAD = "def load(folder): ...\n"


def mistakes(text):
    try:
        model_file.read(text, COMMON)
    except ModelFileError as error:
        return [(mistake.line, mistake.message) for mistake in error.mistakes]
    return []


@pytest.mark.parametrize(
    "function",
    [
        "def build(dataset, h):\n    return [h.widht for _ in 'ab']\n",
        BUILD + "def loss(labels, outputs, h):\n    return h.widht\n",
        BUILD + "def metrics(labels, outputs, given):\n    return {'a': lambda: given.widht}\n",
        LOAD + "def fit(data, h, report, run):\n    return h.widht\n",
    ],
)
def test_a_hyperparameter_that_the_model_does_not_have_is_named_with_its_line(function):
    ((line, message),) = mistakes(OWN + function)
    assert (OWN + function).split("\n")[line - 1].count("widht") == 1
    assert says(message, "'widht'", "'width'")


@given(name=st.sampled_from([*COMMON, "width", "_fields", "__class__"]))
def test_those_of_every_keras_model_and_its_own_are_there(name):
    assert mistakes(f"{OWN}def build(dataset, h):\n    return h.{name}\n") == []


def test_those_of_every_keras_model_are_not_those_of_another_library():
    ((line, message),) = mistakes(f"{OWN}{LOAD}def fit(data, h, report):\n    return h.clip_norm\n")
    assert (line, message.endswith("Known: width")) == (4, True)


@pytest.mark.parametrize(
    "body",
    [
        "h = other()\n    return h.anything",
        "def inner(h):\n        return h.anything\n    return inner",
        "return [h.anything for h in dataset]",
        "return other.anything",
    ],
)
def test_a_name_with_another_meaning_is_not_judged(body):
    assert mistakes(f"{OWN}def build(dataset, h):\n    {body}\n") == []


@pytest.mark.parametrize(("name", "text"), [("build", BUILD), ("fit", FIT + LOAD)])
def test_a_function_that_is_defined_twice_is_refused(name, text):
    first = text.split("\n").index(next(x for x in text.split("\n") if f"def {name}(" in x)) + 2
    found = mistakes(OWN + text + "x = 1\n" + text)
    assert (f"{name}: defined twice, first on line {first}") in [message for _, message in found]


def test_other_names_may_be_defined_twice():
    assert mistakes(OWN + BUILD + "def helper(): ...\ndef helper(): ...\n") == []


@pytest.mark.parametrize("inputs", ['["images"]', '"table"', "[]", '["image", "text"]'])
def test_inputs_that_are_none_say_how_to_learn_from_both(inputs):
    ((_, message),) = mistakes(f"INPUTS = {inputs}\n" + OWN + BUILD)
    assert 'expected ["image"] or ["table"]' in message
    assert "left out" in message
