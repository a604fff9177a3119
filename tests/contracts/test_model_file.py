"""Declarations of a model's own file, read without executing it."""

import argparse
import contextlib
import importlib.metadata
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wording import says
from trainer.training import flags
from trellis_contracts import hyperparameter_schema, hyperparameters, model_file, model_imports
from trellis_contracts.hyperparameters import Common, HyperparameterError
from trellis_contracts.model_file import Declaration, ModelFileError

BUILD = "def build(dataset, hyperparameters):\n    return 1 / 0\n"
COMMON = hyperparameters.schema(Common)
FIT = "def fit(data, hyperparameters, report): ...\n"
LOAD = "def load(folder): ...\n"


def declared(entry, name="width"):
    return f'HYPERPARAMETERS = {{"{name}": {entry}}}\n{BUILD}'


def test_a_file_is_read_and_not_executed():
    text = (
        '"""Two towers.\n\nMore."""\nimport tensorflow.nothing_like_this\nraise SystemExit\n'
        + 'INPUTS = ["table"]\n'
        + declared('{"default": 8, "minimum": 1, "maximum": 64, "description": "units"}')
        + "def loss(labels, outputs, hyperparameters, scale=2): ...\n"
    )
    found = model_file.read(text, COMMON)
    assert found.description == "Two towers."
    assert found.inputs == ("table",)
    assert found.loss
    assert found.hyperparameters == {
        "width": {
            "type": "integer",
            "expected": "a whole number from 1 to 64",
            "default": 8,
            "minimum": 1,
            "maximum": 64,
            "description": "units",
        }
    }


def test_a_file_may_declare_nothing():
    assert model_file.read(BUILD, COMMON) == Declaration()


@pytest.mark.parametrize(
    "fit",
    [
        FIT,
        "def fit(data, hyperparameters, report, run): ...\n",
        "def fit(data, hyperparameters, report, run=None): ...\n",
        "def fit(*everything): ...\n",
    ],
)
def test_a_file_of_another_library_has_the_hyperparameters_that_it_declares_alone(fit):
    """One may be called as one of every Keras model: nothing of Keras is there."""
    found = model_file.read(
        'HYPERPARAMETERS = {"learning_rate": {"default": 2, "minimum": 1, "maximum": 9, '
        f'"description": "shrinkage"}}}}\n{fit}{LOAD}def loss(x): ...\n',
        COMMON,
    )
    assert found.estimator
    assert not found.loss
    table = hyperparameters.own(found)
    assert hyperparameters.of_model("forest.py", table) == ["learning_rate"]
    with pytest.raises(HyperparameterError, match="10 is not a whole number from 1 to 9"):
        table(learning_rate=10)


FIT_RUN = "def fit(data, hyperparameters, report, run): ...\n"


@pytest.mark.parametrize(
    ("line", "several"),
    [("", False), ("SEVERAL_WORKERS = False\n", False), ("SEVERAL_WORKERS = True\n", True)],
)
def test_a_file_says_whether_it_trains_on_several_workers(line, several):
    assert model_file.read(f"{line}{FIT_RUN}{LOAD}", COMMON).several_workers is several
    assert model_file.read(line, COMMON, program=True).several_workers is several


WIDE = '"minimum": 1, "maximum": 64, "description": "units"'


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("x = (", "line 1: not Python: '(' was never closed"),
        (
            "x = 1\n",
            "line 1: there is no function `def build(dataset, hyperparameters)` or "
            "`def fit(data, hyperparameters, report)`",
        ),
        (
            f"{BUILD}{FIT}",
            "line 3: build is of a Keras model, and fit of any other library: define one of them",
        ),
        (
            "def fit(data, hyperparameters, report): ...\n",
            "line 1: there is no function `def load(folder)`",
        ),
        (
            f"{LOAD}def fit(data, hyperparameters): ...\n",
            ("`def fit(data, hyperparameters, report)`", "`run`"),
        ),
        (f"{FIT}def load(): ...\n", "line 2: expected `def load(folder)`"),
        (f"def fit(a, b, c, d, e): ...\n{LOAD}", "line 1: expected `def fit("),
        ("def build(dataset): ...\n", "line 1: expected `def build(dataset, hyperparameters)`"),
        (
            BUILD + "def loss(labels, outputs): ...\n",
            "line 3: expected `def loss(labels, outputs, hyperparameters)`",
        ),
        (BUILD + "from .layers import x\n", "line 3: a relative import: only this one file"),
        (
            f"W = 8\n{declared('{' + WIDE + ', ' + chr(34) + 'default' + chr(34) + ': W}')}",
            "line 2: width: `{'minimum': 1, 'maximum': 64, 'description': 'units', 'defau`"
            " would have to be computed",
        ),
        (f"HYPERPARAMETERS = read()\n{BUILD}", "line 1: HYPERPARAMETERS: expected"),
        (declared("8"), 'line 1: width: expected {"default": ..., "description": ...}'),
        (declared('{"default": 8, "minimum": 1}'), "line 1: width: description missing"),
        (declared(f'{{"default": 8, "max": 9, {WIDE}}}'), "line 1: width: unknown max; known:"),
        (declared(f'{{"default": 65, {WIDE}}}'), "its default 65 is not a whole number from 1 to"),
        (declared(f'{{"default": 0.5, {WIDE}, "type": "integer"}}'), "got 0.5 for a hyperpara"),
        (declared('{"default": 8, "description": "units"}'), "a number needs bounds"),
        (declared('{"default": "a", "description": "units"}'), 'a text needs "enum"'),
        (declared('{"default": "a", "enum": ["a"], "description": ""}'), "at least two different"),
        (declared('{"default": True, "minimum": False, "description": ""}'), "for numbers"),
        (declared('{"default": None, "description": ""}'), "expected type boolean, integer"),
        (declared(f'{{"default": 8, {WIDE}}}', "learning_rate"), "every model has it; leave it"),
        (declared(f'{{"default": 8, {WIDE}}}', "epochs"), "no name for a hyperparameter"),
        (declared(f'{{"default": 8, {WIDE}}}', "Width"), "no name for a hyperparameter"),
        (f"SEVERAL_WORKERS = 'two'\n{FIT_RUN}{LOAD}", "line 1: SEVERAL_WORKERS: expected True or"),
        (f"SEVERAL_WORKERS = 2 > 1\n{FIT_RUN}{LOAD}", "line 1: SEVERAL_WORKERS: `2 > 1` would"),
        (f"SEVERAL_WORKERS = True\n{FIT}{LOAD}", "line 2: SEVERAL_WORKERS: fit takes no fourth"),
        (f"SEVERAL_WORKERS = True\n{BUILD}", "line 1: SEVERAL_WORKERS: is of a file with fit"),
        (f'INPUTS = ["text"]\n{BUILD}', 'line 1: INPUTS: expected ["image"] or ["table"]'),
    ],
)
def test_every_mistake_is_told_with_its_line(text, mistake):
    with pytest.raises(ModelFileError) as refused:
        model_file.read(text, COMMON)
    assert says(str(refused.value), mistake)


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n",
        "import torch.nn.functional as f\n",
        "from my_layers import Gate\n",
        "import keras, my_layers\n",
        f"{BUILD}    import torch\n",
        "import importlib\nlayers = importlib.import_module('my_layers')\n",
        "layers = __import__('my_layers')\n",
        "try:\n    import torch\nexcept ValueError:\n    pass\n",
        "try:\n    import keras\nexcept ImportError:\n    import my_layers\n",
        "if True:\n    import torch\n",
    ],
)
def test_what_the_image_does_not_have_cannot_be_imported(text):
    """A file beside it is not sent to the job, whether it is imported relatively or not."""
    whole = text if "def build" in text else text + BUILD
    with pytest.raises(ModelFileError) as refused:
        model_file.read(whole, COMMON)
    (mistake,) = refused.value.mistakes
    line = whole.splitlines()[mistake.line - 1]
    assert any(name in line and f"imports {name}," in str(mistake) for name in ("torch", "my_lay"
        "ers"))  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "from __future__ import annotations\n",
        "import dataclasses, functools, math, typing\n",
        "import numpy as np\nimport tensorflow.keras\nfrom trainer.models import inputs\n",
        "from scipy import signal\nfrom sklearn.linear_model import Ridge\nimport cv2\n",
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n",
        "import typing\nif typing.TYPE_CHECKING:\n    import torch\nelse:\n    torch = None\n",
        "if __name__ == '__main__':\n    import matplotlib\n",
        f"x = {' + '.join(['1'] * 800)}\n",
    ],
)
def test_what_the_image_has_can_be_imported(text):
    assert model_file.read(text + BUILD, COMMON) == Declaration()


def test_the_image_has_what_it_is_said_to_have():
    pinned = Path(__file__).parents[2].joinpath("trainer/requirements-train.txt").read_text()
    names = {re.sub(r"[-_.]+", "-", line) for line in re.findall(r"(?m)^([\w.-]+)==", pinned)}
    providers = importlib.metadata.packages_distributions()
    for name in set(model_imports.IMPORTABLE) - {"trainer"}:
        assert {re.sub(r"[-_.]+", "-", d).lower() for d in providers[name]} & names, name


def test_all_mistakes_are_told_at_once():
    text = 'HYPERPARAMETERS = {"a": 1,\n "b": {"default": 2}}\nfrom . import x\n'
    with pytest.raises(ModelFileError) as refused:
        model_file.read(text, COMMON)
    assert [mistake.line for mistake in refused.value.mistakes] == [1, 1, 2, 3]


@given(st.text())
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(ModelFileError):
        model_file.read(text, COMMON)


def test_no_hyperparameter_can_be_named_as_a_flag():
    parser = flags._parser("")
    options = {
        option.removeprefix("--")
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction)
        for option in action.option_strings
        if option.startswith("--")
    }
    assert options - set(hyperparameters.schema()) == set(hyperparameter_schema.FLAGS)


def test_declared_hyperparameters_are_as_the_trainers_own():
    text = declared(f'{{"default": 8, {WIDE}}}') + "def loss(a, b, c): ...\n"
    table = hyperparameters.own(model_file.read(text, COMMON))
    assert table().width == 8
    assert hyperparameters.parse("width", "12.0", table) == 12
    with pytest.raises(HyperparameterError, match="0 is not a whole number from 1 to 64"):
        table(width=0)
    names = hyperparameters.of_model("mine.py", table)
    # Nothing of the trainer's models, and nothing that a loss of its own would ignore.
    assert set(names) == {*COMMON, "width"} - {"label_smoothing", "loss", "focal_gamma"}
    assert not hasattr(table(), "layers")


def test_a_training_step_leaves_what_only_the_tasks_loss_reads():
    """Mixed images have two labels, of which a step would know one."""
    found = model_file.read(BUILD + "def train_step(model, batch, given): ...\n", COMMON)
    assert found.train_step
    assert not found.loss
    left = {"label_smoothing", "loss", "focal_gamma", "mix", "mix_alpha"}
    assert {*COMMON} - {*found.common(COMMON)} == left


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def train_step(batch, given): ...\n", "train_step(model, batch, hyperparameters)"),
        (
            "def loss(a, b, c): ...\ndef train_step(a, b, c): ...\n",
            "train_step returns all losses",
        ),
        ("def train_step(a, b, c): return c.widht\n", "no hyperparameter 'widht'"),
    ],
)
def test_what_is_no_training_step_is_refused_with_its_line(text, message):
    with pytest.raises(ModelFileError) as refused:
        model_file.read(BUILD + text, COMMON)
    (mistake,) = refused.value.mistakes
    assert message in mistake.message
    assert mistake.line == len((BUILD + text).splitlines())
