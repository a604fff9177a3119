"""Keras' callbacks around the loop, and the state of them that a resumed training needs.

The loop calls them once per epoch. All replicas see the same reduced metrics, so BestEpoch and
ReduceLROnPlateau decide the same on each of them. Only the chief reports and writes.
"""

import dataclasses
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import hypertune
import keras
import numpy as np
from keras.callbacks import Callback, CallbackList, EarlyStopping, ReduceLROnPlateau
from tensorboard.plugins.hparams import api as hparams

from trainer.training import objectives
from trainer.training.progress import ProgressFile
from trainer.training.settings import Settings
from trainer.training.soundness import FirstEpoch
from trellis_contracts import byte_size, metrics
from trellis_contracts.dataset import DatasetDescription


class BestEpoch(EarlyStopping):
    """EarlyStopping that prefers the lower loss among epochs with an equal metric.

    On a small validation split many epochs have exactly the same accuracy; the first of them is
    often far from trained. min_delta: of the metric; with it, an equal metric is never better. It
    loses no patience before from_epoch (from 0). best: how many epochs
    were the best one when they ended; best_score: (metric, val_loss) of the last such epoch, both
    so that more is better.
    """

    def __init__(
        self, monitor: str, sign: int, patience: int, from_epoch: int, min_delta: float = 0.0
    ):
        super().__init__(monitor=monitor, mode="max", patience=patience, restore_best_weights=True)
        self._sign = sign
        self._from_epoch = from_epoch
        self._least_gain = min_delta
        self.best_score: list[float] | None = None

    def on_epoch_end(self, epoch, logs=None):
        if epoch < self._from_epoch:
            self.wait = -1  # counted up to 0
        super().on_epoch_end(epoch, logs)

    def get_monitor_value(self, logs):
        score = [self._sign * logs[self.monitor], -logs["val_loss"]]
        if (best := self.best_score) is not None:
            gained = score[0] > best[0] + self._least_gain if self._least_gain else score > best
            if not gained:
                return self.best
        self.best_score = score
        return (self.best or 0) + 1


# Attributes that decide about later epochs. Everything else follows from the settings.
_STATE = {
    BestEpoch: ("best", "best_epoch", "best_score", "wait", "stopped_epoch"),
    ReduceLROnPlateau: ("best", "wait", "cooldown_counter"),
    FirstEpoch: ("warnings",),
}


def build(
    settings: Settings,
    dataset: DatasetDescription,
    model: keras.Model,
    last_phase: int,
    *,
    is_chief: bool,
    watched: bool = True,
    losses: Sequence[str] = (),
) -> CallbackList:
    """The callbacks of a training. last_phase: the first epoch, from 0, that may be the last.
    watched: whether the model can be asked for answers in this process, beside the steps. losses:
    names of those of a file's own training step.
    """
    h = settings.common
    callbacks: list[Callback] = [
        # With patience 0 it never stops, but still keeps the best epoch's weights.
        BestEpoch(
            settings.monitor,
            sign=1 if metrics.METRICS[settings.metric].goal == "maximize" else -1,
            patience=h.early_stopping_patience or settings.epochs,
            from_epoch=last_phase,
            min_delta=h.min_delta,
        )
    ]
    if h.plateau_patience and h.schedule == "constant":
        callbacks.append(
            ReduceLROnPlateau(
                monitor="val_loss",
                mode="min",
                factor=h.plateau_factor,
                patience=h.plateau_patience,
                min_lr=h.min_lr,
            )
        )
    if is_chief:
        logs = str(settings.places.logs)
        callbacks.append(keras.callbacks.TensorBoard(logs, write_graph=False))
        # TensorBoard's tab HParams: a row for each folder of logs, so for each trial.
        values = {"model": settings.model, **settings.read_hyperparameters(dataset.inputs)}
        callbacks.append(hparams.KerasCallback(logs, values, trial_id=logs))
        callbacks.append(Shown(ProgressFile(settings)))
        # Vertex AI sets the trial's id; local runs have no tuner to report to.
        if os.environ.get("CLOUD_ML_TRIAL_ID"):
            callbacks.append(TunerReport(settings.metric, settings.monitor))
        if watched:
            aim = objectives.build(dataset, dataclasses.replace(h, class_weights="none"))
            names = [tensor.name for tensor in model.inputs]
            begun = settings.start is not None
            callbacks.append(FirstEpoch(settings.dataset, dataset, aim, names, begun))
    callbacks.append(ProgressLine(settings.epochs, settings.task, settings.metric, losses))
    return CallbackList(callbacks, model=model)


def state(callbacks: CallbackList) -> dict[str, dict[str, Any]]:
    """Return the state that `restore` needs beside the best weights, as JSON values."""
    return {
        type(callback).__name__: {name: getattr(callback, name) for name in names}
        for callback in callbacks.callbacks
        if (names := _STATE.get(type(callback)))
    }


def best_weights(callbacks: CallbackList) -> list[np.ndarray] | None:
    """Weights of the best epoch so far; None before the first epoch's end."""
    return _early_stopping(callbacks).best_weights


def best_epoch(callbacks: CallbackList) -> int:
    """The best epoch so far, from 1."""
    return _early_stopping(callbacks).best_epoch + 1


def warnings(callbacks: CallbackList) -> list[str]:
    """List the problems of the model that the first epoch showed, in sentences."""
    return [text for c in callbacks.callbacks if isinstance(c, FirstEpoch) for text in c.warnings]


def restore(
    callbacks: CallbackList,
    saved: dict,
    weights: list[np.ndarray] | None,
    history: list[dict[str, float]],
) -> None:
    """Restore the state of a checkpoint. Call it after on_train_begin, which resets it."""
    for callback in callbacks.callbacks:
        for name, value in saved.get(type(callback).__name__, {}).items():
            setattr(callback, name, value)
        if isinstance(callback, Shown):
            callback.restore(history)
        if isinstance(callback, TunerReport):
            # Each process starts a new file.
            for row in history:
                callback.on_epoch_end(row["epoch"] - 1, row)
    _early_stopping(callbacks).best_weights = weights


def _early_stopping(callbacks: CallbackList) -> BestEpoch:
    return next(c for c in callbacks.callbacks if isinstance(c, BestEpoch))


class ProgressLine(Callback):
    """One line on stdout per epoch: the loss, the task's first metric, the one that decides, and
    the losses and metrics of a model's own file.
    """

    def __init__(self, epochs: int, task: str, metric: str, losses: Sequence[str] = ()):
        super().__init__()
        self._epochs = epochs
        shown = dict.fromkeys(["loss", metrics.of_task(task)[0], metric])
        names = [f"{split}{metric}" for split in ("", "val_") for metric in shown]
        self._names = [*losses, *names]
        # The metrics of a model's own file.
        self._known = {f"val_{metric}" for metric in metrics.IN_TRAINING}

    def on_epoch_end(self, epoch, logs=None):
        own = [name for name in logs if name.startswith("val_") and name not in self._known]
        parts = [
            f"{name} {_figure(name, logs[name])}" for name in [*self._names, *own] if name in logs
        ]
        parts += [f"lr {logs['learning_rate']:.3g}", f"{logs['seconds']:.1f} s"]
        parts.append(f"{logs['examples_per_second']:,.0f} examples/s")
        if "input_share" in logs:
            parts.append(f"{logs['input_share']:.0%} waiting for input")
        parts += _used(logs)
        print(f"epoch {epoch + 1}/{self._epochs}", *parts, flush=True)


def _used(logs: Mapping[str, float]) -> list[str]:
    """What an epoch used, by the names of trellis_contracts.speed.Speed.figures."""
    parts = [f"{logs['cpu_share']:.0%} of CPU", f"{byte_size.text(logs['memory_bytes'])} of memory"]
    if "read_bytes" in logs:
        parts.append(f"{byte_size.text(logs['read_bytes'])} read")
    for gpu in itertools.takewhile(lambda n: f"gpu_{n}_use" in logs, itertools.count()):
        memory = byte_size.text(logs[f"gpu_{gpu}_memory"])
        parts.append(f"GPU {gpu} {logs[f'gpu_{gpu}_use']:.0%}, {memory}")
    return parts


def _figure(name: str, value: float) -> str:
    """A metric formatted for people. Errors in the label's unit may have any magnitude."""
    of_label = ("rmse", "mae", "median_absolute_error")
    return f"{value:.4g}" if name.removeprefix("val_") in of_label else f"{value:.3f}"


class Shown(Callback):
    """Keeps progress.json up to date."""

    def __init__(self, file: ProgressFile):
        super().__init__()
        self._file = file
        self._history: list[dict[str, float]] = []

    def restore(self, history: list[dict[str, float]]) -> None:
        """Go on after these epochs."""
        self._history = [*history]

    def on_epoch_end(self, epoch, logs=None):
        self._history.append({**logs, "epoch": epoch + 1})
        self._file.show(self._history)


class TunerReport(Callback):
    """One measurement per epoch for Vertex AI's tuner; the epoch, from 1, is its step."""

    def __init__(self, metric: str, monitor: str):
        super().__init__()
        self._tuner = hypertune.HyperTune()
        self._metric, self._monitor = metric, monitor

    def on_epoch_end(self, epoch, logs=None):
        self._tuner.report_hyperparameter_tuning_metric(
            hyperparameter_metric_tag=self._metric,
            metric_value=logs[self._monitor],
            global_step=epoch + 1,
        )
