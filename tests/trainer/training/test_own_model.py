"""Whole trainings of a model's own file."""

import contextlib
import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from testbed.trainings import arguments
from tests.wording import says
from trainer import predictions, try_model
from trainer.estimators import run
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

RESIDUAL = Path(__file__).parents[1] / "models/files/residual.py"
DIGEST = hashlib.sha256(RESIDUAL.read_bytes()).hexdigest()

SERVE = """
import sys
import numpy as np, tensorflow as tf
model = tf.saved_model.load(sys.argv[1]).signatures["pixels"]
pixels = tf.constant(np.load(sys.argv[2]))
np.save(sys.argv[3], model(image=pixels)["probabilities"].numpy())
"""


@pytest.fixture
def train(tmp_path):
    """A function: dataset, flags -> metrics.json."""

    def train(dataset, model=RESIDUAL, output="out", **flags):
        argv = arguments(dataset, model=model, output=tmp_path / output, **flags)
        settings = parse_flags(argv, "")
        assert run.train(settings, checked_dataset(settings)) == 0
        return json.loads(settings.places.metrics.read_text())

    return train


@pytest.mark.slow
def test_digits_are_learned_and_served_without_the_file(train, digits, digits_arrays, tmp_path):
    copy = tmp_path / "residual.py"
    copy.write_bytes(RESIDUAL.read_bytes())
    flags = {"model_sha256": DIGEST, "width": 64, "depth": 2.0, "focus": 0.5}
    metrics = train(digits, model=copy, epochs=8, **flags)
    assert metrics["test"]["accuracy"] > 0.93
    assert (metrics["model"], metrics["model_sha256"]) == ("residual.py", DIGEST)
    assert metrics["hyperparameters"]["width"] == 64
    assert {"layers", "label_smoothing"}.isdisjoint(metrics["hyperparameters"])

    # Asked by a process that knows neither the file nor the trainer.
    copy.unlink()
    images, _ = digits_arrays
    np.save(tmp_path / "pixels.npy", images[-180:])
    names = [tmp_path / "out/model", tmp_path / "pixels.npy", tmp_path / "answers.npy"]
    subprocess.run([sys.executable, "-c", SERVE, *map(str, names)], check=True, cwd=tmp_path)
    offline = predictions.read(tmp_path / "out/predictions.parquet")
    order = np.argsort([int(key[7:12]) for key in offline.keys])
    answers = np.load(tmp_path / "answers.npy")
    np.testing.assert_allclose(answers, offline.probabilities[order], atol=1e-6)


def test_a_datasets_first_examples_are_tried(few_digits, capsys):
    assert try_model.main([str(RESIDUAL), f"--dataset={few_digits}"]) == 0
    assert says(capsys.readouterr().out, "batch ", "(32, 8, 8, 1)", "(32, 10)")


@pytest.mark.slow
def test_rows_of_every_kind(train, few_rows):
    flags = {"task": "binary_classification", "metric": "auc", "epochs": 2}
    metrics = train(few_rows, **flags)
    assert 0 <= metrics["test"]["auc"] <= 1


MEASURED = """
import tensorflow as tf

def metrics(labels, outputs, hyperparameters):
    right = tf.cast(tf.argmax(outputs, -1) == labels, tf.float32)
    distance = tf.abs(tf.argmax(outputs, -1) - labels)
    return {"again": right, "off_by": tf.cast(distance, tf.float32)}
"""

SMALL = {"epochs": 3, "width": 16, "depth": 1, "focus": 0, "outputs": "metrics"}


@pytest.fixture(scope="module")
def measured(few_digits, tmp_path_factory):
    """A training of a file with metrics of its own: metrics.json, and what it printed."""
    folder, printed = tmp_path_factory.mktemp("measured"), io.StringIO()
    copy = folder / "measured.py"
    copy.write_text(RESIDUAL.read_text() + MEASURED)
    digest = hashlib.sha256(copy.read_bytes()).hexdigest()
    flags = {"model": copy, "model_sha256": digest, "metric": "auc", **SMALL}
    settings = parse_flags(arguments(few_digits, output=folder, **flags), "")
    with contextlib.redirect_stdout(printed):
        assert run.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text()), printed.getvalue()


def test_the_files_loss_is_what_is_minimized_and_the_tasks_is_reported(train, few_digits, measured):
    """With focus 5, examples that are nearly right hardly count, so other weights come out."""
    (plain, _), focal = measured, train(few_digits, **SMALL | {"focus": 5})
    first, other = (one["replicas"]["chief:0"] for one in (plain, focal))
    assert first["last_weights_sha256"] != other["last_weights_sha256"]
    # Focal losses are smaller by far; what is reported is cross-entropy in both.
    assert focal["history"][0]["loss"] > 1.0


def test_metrics_of_the_file_are_reported_beside_those_of_the_task(measured):
    metrics, printed = measured
    assert metrics["validation"]["again"] == pytest.approx(metrics["validation"]["accuracy"])
    assert 0 < metrics["validation"]["off_by"] < 9
    assert [epoch["val_again"] for epoch in metrics["history"]] == pytest.approx(
        [epoch["val_accuracy"] for epoch in metrics["history"]]
    )
    assert f"val_off_by {metrics['history'][1]['val_off_by']:.3f}" in printed


def test_another_content_than_planned_is_refused(few_digits, capsys, tmp_path):
    with pytest.raises(SystemExit) as refused:
        parse_flags(arguments(few_digits, model=RESIDUAL, model_sha256="0" * 64, output="o"), "")
    assert refused.value.code == 2
    assert says(capsys.readouterr().err, str(RESIDUAL), "planned")


def test_help_and_refusals_know_the_files_hyperparameters(few_digits, capsys):
    required = arguments(few_digits, model=RESIDUAL, output="o")
    with pytest.raises(SystemExit):
        parse_flags([*required, "--help"], "")
    assert "--width" in (shown := capsys.readouterr().out)
    assert "--cell_units" not in shown
    with pytest.raises(SystemExit):
        parse_flags([*required, "--widht=4"], "")
    assert says(capsys.readouterr().err, "--widht", "--width")


@pytest.mark.slow
def test_two_workers(few_digits, make_job):
    job = make_job(["chief:0", "worker:0"], few_digits, model=RESIDUAL, epochs=2)
    job.start()
    assert job.wait() == {"chief:0": 0, "worker:0": 0}
    assert len(job.metrics["replicas"]) == 2
