"""A replica's whole step as one XLA program, as TPUs take it: compiled here for the CPU.

Without dropout: XLA draws other random numbers from a seed.
"""

import json

import numpy as np
import pytest
import tensorflow as tf

from testbed.tables import write_table
from testbed.trainings import arguments
from trainer.estimators import run
from trainer.training import speed, step
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

pytestmark = pytest.mark.timeout(600)

# All that may take part in a step beside the plain one.
OPTIONS = {"accumulation": 2, "clip_norm": 0.1, "weight_averaging": 0.9, "schedule": "cosine"}

# Few kernels to compile.
PLAIN = {"optimizer": "sgd", "learning_rate": 0.1, "epochs": 1}

# Not the convolutional model: with deterministic operations, which a CPU is asked for and a TPU is
# not, XLA has no gradient of its max pooling.
CASES = [
    pytest.param(
        "image", "residual", {"layers": 1, "units": 16, **OPTIONS}, marks=pytest.mark.slow
    ),
    pytest.param(
        "image",
        "vision_transformer",
        {"attention_blocks": 1, "head_units": 8, "patches": 2, **PLAIN},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "table",
        "wide_and_deep",
        {"layers": 1, "units": 16, "mixed_precision": "bfloat16"},
        marks=pytest.mark.slow,
    ),
    ("image", "dense", {"layers": 1, "units": 16, **OPTIONS, **PLAIN}),
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """242 rows of two classes, without features whose length varies."""
    random = np.random.default_rng(3)
    size = random.normal(20, 5, 242)
    columns = {
        "size": ("numeric", size.tolist()),
        "colour": ("categorical", random.choice(["red", "green", "blue"], 242).tolist()),
        "smooth": ("boolean", random.choice([True, False], 242).tolist()),
        "seen": ("timestamp", random.integers(1_700_000_000, 1_710_000_000, 242) * 1_000_000),
    }
    files = {"train": [120, 41], "validation": [37], "test": [44]}
    folder = tmp_path_factory.mktemp("datasets") / "rows"
    return write_table(folder, columns, (size > 20).tolist(), files=files, vocabulary=20)


@pytest.fixture
def losses(few_digits, rows, tmp_path):
    """A function: kind of dataset, model, flags -> the losses of a training's epochs."""

    def losses(kind, model, output, **flags):
        address = {"image": few_digits, "table": rows}[kind]
        task = {"image": "multiclass_classification", "table": "binary_classification"}[kind]
        flags = {"batch_size": 16, "dropout": 0.0, "epochs": 2, "outputs": "metrics", **flags}
        argv = arguments(address, model=model, task=task, output=tmp_path / output, **flags)
        settings = parse_flags(argv, "")
        assert run.train(settings, checked_dataset(settings)) == 0
        history = json.loads(settings.places.metrics.read_text())["history"]
        return [row[name] for row in history for name in ("loss", "val_loss")]

    return losses


@pytest.mark.parametrize(("kind", "model", "flags"), CASES)
def test_a_whole_step_is_one_program_and_learns_the_same(losses, monkeypatch, kind, model, flags):
    plain = losses(kind, model, "plain", **flags)
    build = step.build
    programs = []

    def compiled(*args):
        programs.append(tf.function(build(*args), jit_compile=True))
        return programs[-1]

    monkeypatch.setattr(step, "build", compiled)
    monkeypatch.setattr(speed, "readable", lambda distribution: distribution.kind == "none")
    found = losses(kind, model, "compiled", **flags)
    (program,) = programs
    # One program: the shapes of all batches are known, and none of them is compiled anew.
    (concrete,) = program._list_all_concrete_functions()
    for spec in filter(None, tf.nest.flatten(concrete.structured_input_signature)):
        assert spec.shape.is_fully_defined(), spec
    assert found == pytest.approx(plain, rel=0.02 if "mixed_precision" in flags else 1e-4)
