"""`python -m trainer try`: a file on one batch."""

import re
from pathlib import Path

import pytest

from testbed.trainings import ROOT
from tests.wording import says
from trainer import try_model
from trainer.estimators import own_file, trial
from trainer.try_model import main

RESIDUAL = str(Path(__file__).parent / "models/files/residual.py")
AGE = "--feature=age=numeric"
START = """
import keras
from keras import layers
from trainer.models import inputs

def build(dataset, hyperparameters):
    row = inputs.table(dataset, 4)
    x = inputs.joined(row.flat)
"""


def test_a_good_file_learns_its_batch_and_exports(capsys):
    assert main([RESIDUAL, "--width=16", "--depth=1", "--learning_rate=0.01"]) == 0
    shown = capsys.readouterr().out
    assert says(shown, "settings", "width 16", "focus 1.0", "-> (32, 2)", "SavedModel", "the same")
    assert "warning" not in shown
    assert shown.endswith("residual.py can be trained.\n")


def test_the_models_of_the_documentation(tmp_path):
    blocks = [
        (ROOT / page).read_text().split("```python\n")[1].partition("```")[0]
        for page in ("docs/how-to/own-model.md", "README.md")
    ]
    assert blocks[0] == blocks[1]
    (tmp_path / "residual.py").write_text(blocks[0])
    assert main([str(tmp_path / "residual.py"), "--task=regression", AGE]) == 0


def of_the_page(folder):
    """The file in the page about any library."""
    text = (ROOT / "docs/how-to/any-library.md").read_text()
    path = folder / "boosting.py"
    path.write_text(text.split("```python\n")[1].partition("```")[0])
    return path


def test_a_file_with_fit_is_loaded_in_a_new_process(tmp_path, capfd):
    assert main([str(of_the_page(tmp_path)), "--leaves=10", "--classes=4"]) == 0
    shown = capfd.readouterr().out
    facts = ("leaves 10", "fitted", "400 examples", "predicted", "100 examples", "new process")
    assert says(shown, facts)
    assert shown.endswith("boosting.py can be trained.\n")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("pickle.dumps(self.model)", "b''", "in a new process: .*line .*EOFError"),
        ("predict_proba", "predict", r"predict returned an array \(100,\) for 100 examples"),
        ("def save(self, folder):", "def store(self, folder):", "which has no method save"),
    ],
)
def test_what_could_not_be_served_is_refused(tmp_path, capfd, old, new, problem):
    path = of_the_page(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert main([str(path), "--leaves=10", AGE]) == 1
    assert re.search(problem, capfd.readouterr().err, re.DOTALL)


def test_one_that_predicts_something_else_once_loaded_is_refused(tmp_path, capfd, monkeypatch):
    def loaded(folder, batch):
        return own_file.load(folder / "model").predict(batch)

    monkeypatch.setattr(trial, "_in_a_new_process", loaded)
    path = of_the_page(tmp_path)
    text = path.read_text().replace("dumps(self.model)", "dumps(None)")
    old = "return self.model.predict_proba(batch.numpy())"
    share = "share = 0.25 if self.model else 0.5"
    assert old in text
    path.write_text(text.replace(old, f"{share}\n        return [[share, 1 - share]] * len(batch)"))
    assert main([str(path), AGE]) == 1
    assert says(capfd.readouterr().err, "something else", "0.25 off")


def test_what_a_training_would_stumble_over_is_refused(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        START
        + "    idle = layers.Dense(4)(x)\n"
        + "    y = layers.Dense(dataset.outputs)(x)\n"
        + "    return keras.Model(row.inputs, y + 0 * keras.ops.stop_gradient(idle[:, :1]))\n"
    )
    assert main([str(path), "--task=regression", AGE]) == 1
    assert says(capsys.readouterr().err, "does not depend", "dense")


SCANS = """
import keras
from keras import layers
from trainer.models import inputs

def build(dataset, hyperparameters):
    row = inputs.table(dataset, 4)
    x = layers.Reshape((8, 8, 1))(row.sequences["scan"].values)
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3)(x))
    x = layers.Concatenate()([x, *row.flat])
    return keras.Model(row.inputs, layers.Dense(dataset.outputs)(x))
"""


def test_rows_can_be_made_up_as_a_dataset_will_have_them(tmp_path, capsys):
    """Before there is one: of the features that are named, and sequences of a length."""
    path = tmp_path / "scans.py"
    path.write_text(SCANS)
    assert main([str(path)]) == 1
    error = capsys.readouterr().err
    assert says(error, "scans.py", "LookupError", "'scan'")
    assert main([str(path), "--feature=scan=sequence:64", AGE]) == 0
    assert "sequence_scan (32, 64)" in capsys.readouterr().out


LESIONS = """
import keras
from keras import layers
from trainer.models import inputs

INPUTS = ("image", "table")

def build(dataset, hyperparameters):
    row = inputs.table(dataset, 4)
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3)(row.images["photo"]))
    taken = [TAKEN]
    return keras.Model(taken, layers.Dense(dataset.outputs)(inputs.joined([x, *FLAT])))
"""


@pytest.mark.parametrize(
    ("taken", "flat", "scale", "batch"),
    [
        ("row.inputs", "row.flat", (), "numeric (32, 1), image_photo (32, 9, 8, 3) -> (32, 2)"),
        ('row.inputs["image_photo"]', "[]", (), "image_photo (32, 9, 8, 3) -> (32, 2)"),
        (
            '[row.inputs["image_photo"]]',
            "[]",
            ("--scale=full",),
            "image_photo (32, 9, 8, 3) -> (32, 2)",
        ),
    ],
)
def test_a_file_may_read_images_beside_columns_or_some_of_both(
    taken, flat, scale, batch, tmp_path, capsys, recwarn
):
    path = tmp_path / "lesions.py"
    path.write_text(LESIONS.replace("[TAKEN]", taken).replace("FLAT", flat))
    made = [AGE, "--feature=photo=image:9x8x3", *scale]
    assert main([str(path), *made]) == 0
    assert batch in capsys.readouterr().out
    assert not [str(found.message) for found in recwarn if "structure" in str(found.message)]


@pytest.mark.parametrize(
    ("last", "task"),
    [
        ('layers.Dense(dataset.outputs, activation="softmax")(x)', "binary_classification"),
        ('layers.Dense(dataset.outputs, activation="sigmoid")(x)', "multilabel_classification"),
        ('layers.Dense(1, activation="sigmoid")(x)', "regression"),
        # Nothing in the graph is called softmax here.
        (
            "(lambda e: e / keras.ops.sum(e, axis=1, keepdims=True))"
            "(keras.ops.exp(layers.Dense(dataset.outputs)(x)))",
            "multiclass_classification",
        ),
    ],
)
def test_outputs_that_are_probabilities_already_are_refused(last, task, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(START + f"    return keras.Model(row.inputs, {last})\n")
    assert main([str(path), f"--task={task}", AGE]) == 1
    refused = capsys.readouterr().err
    assert "layers.Dense(" in refused
    assert "from 0 to 1" in refused if task == "regression" else "logits" in refused


def test_a_loss_that_does_not_fall_is_a_warning(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        START
        + "    return keras.Model(row.inputs, layers.Dense(dataset.outputs)(x))\n\n"
        + "def loss(labels, outputs, hyperparameters):\n"
        + "    return 1 + 0 * outputs[:, 0]\n"
    )
    assert main([str(path), "--task=regression"]) == 0
    shown = capsys.readouterr().out
    assert "warning    the loss did not fall" in shown
    # A constant loss has no gradient either, which is a warning of its own.
    assert says(shown.splitlines()[-1], "can be trained", "2 warnings")


def test_wrong_flags(capsys):
    for flags, error in [
        (["--feature=scan"], "'scan' is not NAME=KIND, as age=numeric, scan=sequence:1024 or"),
        (["--feature=scan=picture"], "kinds: numeric, boolean, categorical"),
        (["--feature=age=numeric:4"], "'age=numeric:4' is not NAME=KIND"),
        ([AGE, "--images=8x8x1"], "name an image of rows as --feature"),
        (["--feature=photo=image"], "or photo=image:64x64x3"),
        (["--feature=photo=image:64x64"], "'photo=image:64x64' is not NAME=KIND"),
        (["--width=1"], "1 is not a whole number from 8 to 512"),
        (["--images=8"], "'8' is not HEIGHTxWIDTHxCHANNELS"),
        (["--task=binary_classification", "--classes=3"], "binary_classification has 2"),
    ]:
        with pytest.raises(SystemExit) as refused:
            main([RESIDUAL, *flags])
        assert refused.value.code == 2
        assert error in capsys.readouterr().err


def test_an_environment_without_tensorflow_is_told_what_to_run(monkeypatch, capsys):
    monkeypatch.setattr(try_model.importlib.util, "find_spec", lambda name: None)
    assert main([RESIDUAL]) == 1
    assert f".venv/trainer/bin/python -m trainer try {RESIDUAL}" in capsys.readouterr().err


def test_files_learn_masks(tmp_path, capfd):
    """A network with a logit for each pixel, and one of the two baselines."""
    network = tmp_path / "network.py"
    network.write_text(
        '"""A convolution."""\n'
        "import keras\n"
        "from keras import layers\n"
        "from trainer.models import inputs\n"
        'INPUTS = ["image"]\n'
        "def build(dataset, hyperparameters):\n"
        "    taken, x = inputs.image(dataset)\n"
        '    x = layers.Conv2D(8, 3, padding="same", activation="relu")(x)\n'
        "    return keras.Model(taken, layers.Conv2D(dataset.outputs, 1)(x))\n"
    )
    masks = ["--task=segmentation", "--images=24x16x1"]
    assert main([str(network), *masks, "--classes=3"]) == 0
    shown = capfd.readouterr().out
    assert "-> (32, 24, 16, 3)" in shown
    assert "answers the same (at most 0e+00 off)" in shown
    assert main([str(ROOT / "dags/experiments/otsu.py"), *masks, "--classes=2"]) == 0
    network.write_text(network.read_text().replace("(dataset.outputs, 1)", "(1, 1)"))
    assert main([str(network), *masks, "--classes=3"]) == 1
    problem = (
        "output (None, 24, 16, 1); expected (None, 24, 16, 3), a logit for each pixel and class"
    )
    assert problem in capfd.readouterr().err
