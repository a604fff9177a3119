"""The command line: what it takes, and how it refuses."""

import subprocess
import sys

import pytest

from testbed.trainings import ROOT, arguments
from tests.wording import says
from trainer.training.flags import parse_flags


def parse(*argv, environment=None):
    return parse_flags(argv, "description", environment or {})


def refusal(capsys, *argv):
    with pytest.raises(SystemExit) as error:
        parse(*argv)
    assert error.value.code == 2
    return capsys.readouterr().err


REQUIRED = arguments("gs://bucket/data", output="/tmp/out")


def test_hyperparameters_have_defaults_and_a_place_of_their_own():
    settings = parse(*REQUIRED, "--learning_rate", "0.01", "--layers=3.0")
    assert settings.hyperparameters.learning_rate == 0.01
    assert settings.hyperparameters.layers == 3
    assert settings.hyperparameters.batch_size == 32


def test_vertex_ai_says_where_to_write(monkeypatch):
    monkeypatch.setenv("GCS_ROOT", "/gcs")
    folder = "bucket/e/runs/r/training/1"
    environment = {
        "AIP_MODEL_DIR": f"gs://{folder}/model/",
        "AIP_CHECKPOINT_DIR": f"gs://{folder}/checkpoints/",
        "AIP_TENSORBOARD_LOG_DIR": f"gs://{folder}/logs/",
    }
    places = parse(*arguments("gs://bucket/data"), environment=environment).places
    assert str(places.model) == f"/gcs/{folder}/model"
    assert str(places.checkpoints) == f"/gcs/{folder}/checkpoints"
    assert str(places.metrics) == f"/gcs/{folder}/metrics.json"
    assert str(places.predictions) == f"/gcs/{folder}/predictions.parquet"


def test_a_misspelt_flag_is_told_with_the_nearest_and_all(capsys):
    error = refusal(capsys, *REQUIRED, "--lerning_rate=0.1")
    assert says(error, "--lerning_rate", "--learning_rate")
    assert "--weight_decay" in error


def test_a_flag_is_not_guessed_from_its_beginning(capsys):
    assert "unknown flag --learn" in refusal(capsys, *REQUIRED, "--learn=0.1")


def test_another_models_hyperparameter_is_refused(capsys):
    error = refusal(capsys, *REQUIRED, "--filters=8")
    assert says(error, "--filters", "--lear")
    assert "--layers" in error


@pytest.mark.parametrize(
    ("flag", "error"),
    [
        ("--layers=9", ("--layers", "1 to 8")),
        ("--epochs=0", "argument --epochs: '0' is not a whole number from 1"),
        ("--model=perceptron", "invalid choice: 'perceptron' (choose from"),
        ("--metric=ece", "--metric ece: multiclass_classification has accuracy, balanced_accuracy"),
        ("--dataset=s3://b/x", "'s3://b/x' is not a Cloud Storage address"),
    ],
)
def test_a_value_out_of_range_is_told_with_the_range(capsys, flag, error):
    assert says(refusal(capsys, *REQUIRED, flag), error)


def test_nowhere_to_write_is_told_with_what_to_set(capsys):
    lacking = ("AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR", "AIP_TENSORBOARD_LOG_DIR", "not set")
    assert says(refusal(capsys, *arguments("gs://bucket/data")), lacking)


def run(*argv):
    """A whole process in which TensorFlow cannot be imported."""
    program = "import sys; sys.modules['tensorflow'] = None; from trainer.task import main; "
    return subprocess.run(
        [sys.executable, "-c", program + "sys.exit(main())", *argv],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def test_help_and_refusals_need_no_tensorflow(tmp_path):
    shown = run("--help")
    assert shown.returncode == 0
    assert "python -m trainer.task --dataset gs://" in shown.stdout
    assert "--weight_decay" in shown.stdout
    assert run(*REQUIRED, "--layers=9").returncode == 2
    missing = run(*arguments(tmp_path, output=tmp_path))
    assert missing.returncode == 1
    assert "no dataset has been committed here" in missing.stderr
