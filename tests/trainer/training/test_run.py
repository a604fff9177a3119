"""Whole trainings in this process: what they write, and that interruptions leave no trace."""

import gc
import json
import shutil

import numpy as np
import pytest
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context

from testbed.trainings import arguments, without_seconds
from trainer import predictions
from trainer.estimators import run
from trainer.training import TrainingError, callbacks, checkpoints, loop, optimizer
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trainer.training.input_pipeline import Input
from trainer.training.synchronous import Synchronous
from trellis_contracts.progress import Progress


class Interruption(BaseException):
    """Ends a training as a kill would."""


@pytest.fixture
def train(tmp_path):
    """A function: dataset, output folder, flags -> metrics.json."""

    def train(dataset, output="out", **flags):
        argv = arguments(dataset, output=tmp_path / output, **flags)
        settings = parse_flags(argv, "")
        assert run.train(settings, checked_dataset(settings)) == 0
        return json.loads(settings.places.metrics.read_text())

    return train


@pytest.fixture(scope="module")
def whole(few_digits, tmp_path_factory):
    """A training with all that it writes: its folder, metrics.json, and (whether that was there,
    how many input pipelines) when it called `at_end`.
    """
    folder, found = tmp_path_factory.mktemp("whole"), []
    flags = {"epochs": 4, "model": "convolutional", "filters": 4}
    settings = parse_flags(arguments(few_digits, output=folder, **flags), "")

    def pipelines():
        return sum(isinstance(o, Input) for o in gc.get_objects())

    def at_end():
        found.append((settings.places.metrics.exists(), pipelines() - before))

    before = pipelines()
    assert run.train(settings, checked_dataset(settings), at_end) == 0
    return folder, json.loads(settings.places.metrics.read_text()), found


def test_a_training_leaves_a_model_predictions_and_metrics(whole):
    folder, metrics, _ = whole
    assert metrics["epochs_run"] == 4
    assert [row["epoch"] for row in metrics["history"]] == [1, 2, 3, 4]
    assert metrics["replicas"]["chief:0"]["steps"] == 4 * 5
    assert metrics["replicas"]["chief:0"]["examples"] == 4 * 5 * 32
    assert metrics["hyperparameters"]["filters"] == 4
    assert "layers" not in metrics["hyperparameters"]
    test = predictions.read(folder / "predictions.parquet")
    assert len(test) == 44
    right = test.probabilities.argmax(axis=1) == test.labels
    assert metrics["test"]["accuracy"] == pytest.approx(right.mean())
    assert [path.name for path in (folder / "logs").rglob("events*")]


def test_a_process_can_end_before_its_input_pipelines_are_deleted(whole):
    # TensorFlow may take a minute to delete them (docs/upstream/tensorflow-iterators.md).
    assert whole[2] == [(True, 1)]


# Trials: epochs by learning rate. In the second one a later epoch is worse than an earlier one.
TRIALS = {0.01: 4, 0.1: 6}


@pytest.fixture(scope="module")
def trials(few_digits, tmp_path_factory):
    """The folder of two trials of a tuning, each with what it told the tuner; their metrics.json by
    learning rate.
    """
    folder, found = tmp_path_factory.mktemp("trials"), {}
    for number, (rate, epochs) in enumerate(TRIALS.items(), 1):
        flags = {"learning_rate": rate, "epochs": epochs, "outputs": "metrics"}
        settings = parse_flags(arguments(few_digits, output=folder / str(rate), **flags), "")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CLOUD_ML_TRIAL_ID", str(number))
            patch.setenv("CLOUD_ML_HP_METRIC_FILE", str(folder / f"tuner/{rate}"))
            assert run.train(settings, checked_dataset(settings)) == 0
        found[rate] = json.loads(settings.places.metrics.read_text())
    return folder, found


def test_tensorboard_compares_trials_by_their_hyperparameters(trials):
    folder, metrics = trials
    wanted = {
        rate: pytest.approx(of_trial["history"][-1]["val_accuracy"])
        for rate, of_trial in metrics.items()
    }
    runs = EventMultiplexer().AddRunsFromDirectory(str(folder))
    runs.Reload()
    board = Context(TBContext(data_provider=MultiplexerDataProvider(runs, str(folder))))
    request = api_pb2.ListSessionGroupsRequest(
        slice_size=10, allowed_statuses=[api_pb2.STATUS_SUCCESS]
    )
    found = list_session_groups.Handler(RequestContext(), board, "", request).run()
    accuracies = {}
    for group in found.session_groups:
        assert group.hparams["model"].string_value == "dense"
        [accuracy] = [
            metric.value
            for metric in group.metric_values
            if (metric.name.group, metric.name.tag) == ("validation", "epoch_accuracy")
        ]
        accuracies[group.hparams["learning_rate"].number_value] = accuracy
    assert accuracies == wanted


@pytest.mark.slow
@pytest.mark.parametrize(("model", "accuracy"), [("convolutional", 0.97), ("dense", 0.94)])
def test_digits_are_learned(train, digits, model, accuracy):
    assert train(digits, model=model, epochs=15)["test"]["accuracy"] > accuracy


@pytest.fixture(scope="module")
def shorter(few_digits, trials, tmp_path_factory):
    """The second trial, with no epoch after its best one: its folder and metrics.json."""
    folder, best = tmp_path_factory.mktemp("shorter"), trials[1][0.1]["best_epoch"]
    flags = {"learning_rate": 0.1, "epochs": best, "outputs": "metrics"}
    settings = parse_flags(arguments(few_digits, output=folder, **flags), "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return folder, json.loads(settings.places.metrics.read_text())


def test_the_best_epochs_weights_are_kept(shorter, trials):
    metrics = trials[1][0.1]
    # Of equal accuracies, the one with the lower loss.
    best = max(metrics["history"], key=lambda row: (row["val_accuracy"], -row["val_loss"]))
    assert metrics["best_epoch"] == best["epoch"] < 6
    assert metrics["validation"]["accuracy"] == best["val_accuracy"]
    stopped_there = shorter[1]["replicas"]["chief:0"]
    assert metrics["weights_sha256"] == stopped_there["last_weights_sha256"]
    assert metrics["weights_sha256"] != metrics["replicas"]["chief:0"]["last_weights_sha256"]


def test_a_trial_writes_metrics_only_and_tells_the_tuner(trials):
    folder, metrics = trials[0], trials[1][0.01]
    assert metrics["test"] is None
    assert {path.name for path in (folder / "0.01").iterdir()} == {
        "checkpoints",
        "logs",
        "metrics.json",
        "progress.json",
    }
    shown = Progress.parse((folder / "0.01/progress.json").read_text(), "progress.json")
    assert (shown.metric, shown.epochs) == ("accuracy", 4)
    assert shown.points[0].value == metrics["history"][0]["val_accuracy"]
    lines = (folder / "tuner/0.01").read_text().splitlines()
    reported = [json.loads(line) for line in lines]
    assert [row["global_step"] for row in reported] == ["1", "2", "3", "4"]
    assert [float(row["accuracy"]) for row in reported] == [
        row["val_accuracy"] for row in metrics["history"]
    ]


def test_the_rate_rises_during_the_warm_up_and_falls_on_a_plateau(train, few_digits):
    """And patience 0 never stops, plateau or not."""
    metrics = train(
        few_digits,
        epochs=8,
        outputs="metrics",
        learning_rate=0.5,
        optimizer="sgd",
        warmup_epochs=2,
        plateau_patience=2,
        plateau_factor=0.01,
        min_lr=0.05,
        early_stopping_patience=0,
    )
    rates = [row["learning_rate"] for row in metrics["history"]]
    assert rates[:3] == pytest.approx([0.25, 0.5, 0.5])
    assert rates[-1] == pytest.approx(0.05)
    assert metrics["epochs_run"] == 8


def test_training_stops_when_the_metric_no_longer_improves(train, few_digits):
    """The metric may be one to minimize."""
    flags = {"epochs": 60, "learning_rate": 0.1, "outputs": "metrics", "metric": "loss"}
    metrics = train(few_digits, early_stopping_patience=3, **flags)
    assert metrics["epochs_run"] == metrics["best_epoch"] + 3 < 60
    values = [row["val_loss"] for row in metrics["history"]]
    assert metrics["best_epoch"] == np.argmin(values) + 1


# Everything that has a state of its own: dropout's seeds, augmentation, optimizer moments, both
# patient callbacks, the warm-up.
STATEFUL = {
    "units": 16,
    "dropout": 0.3,
    "augment": True,
    "flip": True,
    "batch_size": 4,
    "learning_rate": 0.02,
    "warmup_epochs": 1.5,
    "plateau_patience": 1,
    "early_stopping_patience": 3,
    "epochs": 12,
    # Of those tried, one that lowers the rate several times and stops early.
    "seed": 12,
    "outputs": "metrics",
}


@pytest.fixture(scope="module")
def undisturbed(few_digits, tmp_path_factory):
    argv = arguments(few_digits, output=tmp_path_factory.mktemp("undisturbed"), **STATEFUL)
    settings = parse_flags(argv, "")
    run.train(settings, checked_dataset(settings))
    metrics = json.loads(settings.places.metrics.read_text())
    assert len({row["learning_rate"] for row in metrics["history"]}) > 3
    assert metrics["epochs_run"] < 12
    return without_seconds(metrics)


# 7 and 22: as 1, the first in their epochs, but with something that callbacks have to remember.
_SAVES = [3, *(pytest.param(saves, marks=pytest.mark.slow) for saves in (1, 7, 22))]


@pytest.mark.parametrize("saves", _SAVES)
def test_interrupted_trainings_end_as_undisturbed_ones(
    train, few_digits, undisturbed, saves, monkeypatch, tmp_path
):
    """Interrupted after so many checkpoints: there are three in each epoch of 40 steps here."""
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        interrupt(patch, checkpoints, "save", after=saves)
        with pytest.raises(Interruption):
            train(few_digits, **STATEFUL)
    newest = tmp_path / "out/checkpoints" / checkpoints.latest(tmp_path / "out/checkpoints")
    state = json.loads((newest / "state.json").read_text())["callbacks"]
    # Else it would not be tested that their state is restored.
    if saves == 7:
        assert state["ReduceLROnPlateau"]["best"] < undisturbed["history"][2]["val_loss"]
    if saves == 22:
        assert state["BestEpoch"]["wait"] > 0
    assert without_seconds(train(few_digits, **STATEFUL)) == undisturbed


@pytest.mark.slow
def test_an_interruption_between_evaluation_and_checkpoint_loses_nothing(
    train, few_digits, undisturbed, monkeypatch
):
    with monkeypatch.context() as patch:
        interrupt(patch, callbacks.ProgressLine, "on_epoch_end", after=3)
        with pytest.raises(Interruption):
            train(few_digits, **STATEFUL)
    assert without_seconds(train(few_digits, **STATEFUL)) == undisturbed


@pytest.mark.slow
def test_a_half_written_checkpoint_is_passed_over(
    train, few_digits, undisturbed, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        interrupt(patch, shutil, "copyfile", after=3 * 3 + 1)  # three files each
        with pytest.raises(Interruption):
            train(few_digits, **STATEFUL)
    *_, complete, half = sorted((tmp_path / "out/checkpoints").iterdir())
    assert checkpoints.latest(tmp_path / "out/checkpoints") == complete.name
    assert not (half / "state.json").exists()
    assert without_seconds(train(few_digits, **STATEFUL)) == undisturbed


@pytest.mark.slow
def test_a_finished_training_is_only_written_out_again(train, few_digits, tmp_path, monkeypatch):
    first = train(few_digits)
    shutil.rmtree(tmp_path / "out/model")
    (tmp_path / "out/predictions.parquet").unlink()
    (tmp_path / "out/metrics.json").unlink()
    monkeypatch.setattr(Synchronous, "make", None)  # no step is made again
    assert train(few_digits) == first
    assert (tmp_path / "out/model/saved_model.pb").exists()


def test_a_finished_training_goes_on_when_more_epochs_are_asked_for(
    train, few_digits, trials, shorter, tmp_path
):
    shutil.copytree(shorter[0], tmp_path / "out")
    flags = {"outputs": "metrics", "learning_rate": 0.1}
    longer = train(few_digits, epochs=6, **flags)
    assert without_seconds(longer) == without_seconds(trials[1][0.1])
    # But not as another training.
    with pytest.raises(TrainingError, match=r"with learning_rate=0.1; this one has .*=0.01"):
        train(few_digits, epochs=8, **flags | {"learning_rate": 0.01})


def test_divergence_stops_with_step_rate_and_examples(
    few_digits, train, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(optimizer, "peak_rate", lambda h, replicas: 1e30)
    with pytest.raises(TrainingError) as error:
        train(few_digits, optimizer="sgd", warmup_epochs=0)
    assert "not a number at step 2 (epoch 1), learning rate 1e+30" in str(error.value)
    assert "there is no checkpoint" in str(error.value)
    assert not (tmp_path / "out/metrics.json").exists()
    told = capsys.readouterr().err
    assert "images/" not in told
    (keys,) = (tmp_path / "out/examples").glob("step-2-*.txt")
    assert str(keys) in told
    assert keys.read_text().count("images/") == 32


def test_a_model_that_does_not_fit_the_images_is_refused(train, few_digits):
    with pytest.raises(TrainingError, match="blocks=4 would halve 8x8 images to nothing"):
        train(few_digits, model="convolutional", blocks=4)


def interrupt(patch, owner, name, after):
    """Make `owner.name` work `after` times and raise Interruption from then on."""
    original, calls = getattr(owner, name), []

    def interrupted(*arguments, **options):
        if len(calls) == after:
            raise Interruption
        calls.append(name)
        return original(*arguments, **options)

    patch.setattr(owner, name, interrupted)


def best_of(folder):
    """The file of the best epoch's weights of a training."""
    return max((folder / "checkpoints").glob("step-*/best.npz"))


@pytest.fixture(scope="module")
def first(trials):
    """(start, best): the best weights of a training, and that epoch's row of its history."""
    folder, metrics = trials[0] / "0.01", trials[1][0.01]
    return str(best_of(folder)), metrics["history"][metrics["best_epoch"] - 1]


def test_a_training_that_starts_with_anothers_weights_goes_on_from_its_best_epoch(
    train, few_digits, first
):
    """A step that is too small to be one shows where the training began, the mean of its weights
    as well.
    """
    start, best = first
    small = {"epochs": 1, "learning_rate": 1e-10, "optimizer": "sgd", "outputs": "metrics"}
    warm = train(few_digits, start=start, weight_averaging=0.99, **small)
    assert warm["history"][0]["val_loss"] == pytest.approx(best["val_loss"], rel=1e-4)
    assert best["val_loss"] < 1.8  # of ten classes; a guess has ln 10, 2.3
    assert warm["start"] == start


def test_weights_of_other_layers_are_refused_by_their_names(train, few_digits, first, tmp_path):
    start, _ = first
    with pytest.raises(
        TrainingError, match=r"of other layers \(.*kernel: \(64, 128\) there, \(64, 16"
    ):
        train(few_digits, output="warm", epochs=1, units=16, start=start)
    with pytest.raises(TrainingError, match="has no weights"):
        train(few_digits, output="none", epochs=1, start=str(tmp_path / "none.npz"))
