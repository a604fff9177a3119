"""What a group's own `fit` is given beside its data: `report`, and `run`."""

import json
import math
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorboard.compat import tensorflow_stub
from tensorboard.summary import Writer
from tensorboard.summary.writer import event_file_writer

from trainer import storage
from trainer.models import ModelError
from trainer.training.progress import ProgressFile
from trainer.training.settings import Settings
from trellis_contracts.workers import ALONE, Workers

# For its files alone, it would import TensorFlow where this is installed: 4 s of a processor.
event_file_writer.tf = tensorflow_stub

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_RESERVED = ("epoch", "seconds")


@dataclass(frozen=True)
class Run:
    """epochs: passes over the train split, of the experiment's `epochs`. seed: of all that is drawn
    at random. metric: the one that decides, on the validation split. checkpoints: a folder that is
    there again when a lost machine's work starts anew; empty at first, and the same for all
    workers. workers: more than one only where the file says SEVERAL_WORKERS = True.
    """

    epochs: int
    seed: int
    metric: str
    checkpoints: Path
    workers: Workers = ALONE


class Report:
    """Takes the figures of each epoch: `report(metric=0.93, epoch=3, loss=0.21)`.

    metric: the one that decides, on the validation split. epoch: from 1, increasing; left out: the
    next one. Others are Keras' names: loss is of the train split, val_loss of the validation split.
    Each is a line of the log and a row of metrics.json, and goes to the tuner and to TensorBoard.
    To report nothing is fine: what counts is measured at the end, on the predictor that fit
    returns. Epochs that were reported before a lost machine's work started anew, and are not
    reported again, stay in the history, if `fit` has left anything in run.checkpoints.

    writes: whether this process's figures count: of several workers, only the first's do.
    """

    def __init__(self, settings: Settings, *, writes: bool = True):
        self._metric, self._epochs = settings.metric, settings.epochs
        self.checkpoints = settings.places.checkpoints / "fit"
        """The folder of `fit`."""
        self._kept, self._writes = settings.places.checkpoints / "report.json", writes
        self._logs = settings.places.logs
        self._boards: dict[str, Writer] = {}
        self._progress = ProgressFile(settings)
        self._rows = self._before()
        self._resumed = bool(self._rows)
        self._begun = time.monotonic()
        self._tuner: Any = None
        # Vertex AI sets the trial's id; local runs have no tuner to report to.
        if writes and os.environ.get("CLOUD_ML_TRIAL_ID"):
            import hypertune

            self._tuner = hypertune.HyperTune()

    def __call__(
        self, metric: float | None = None, epoch: int | None = None, **figures: float
    ) -> None:
        """Raises ModelError for what is no figure, or no later epoch."""
        if self._resumed and epoch is not None:
            # It goes on from an epoch of its choice.
            self._rows = [row for row in self._rows if row["epoch"] < epoch]
        self._resumed = False
        last = int(self._rows[-1]["epoch"]) if self._rows else 0
        epoch = last + 1 if epoch is None else epoch
        if isinstance(epoch, bool) or epoch != int(epoch) or epoch <= last:
            raise ModelError(
                f"report: got epoch {epoch!r} after epoch {last}; expected a later one"
            )
        for name in figures:
            if not _NAME.fullmatch(name) or name in _RESERVED:
                raise ModelError(f"report: {name!r} is no name of a figure: a to z, digits and _")
        given = {} if metric is None else {f"val_{self._metric}": metric}
        values = {name: _number(name, value) for name, value in {**figures, **given}.items()}
        self._flush()
        self._add({"epoch": int(epoch), **values})

    def end(self, validation: dict[str, float]) -> list[dict[str, float]]:
        """The rows of all epochs. validation: the predictor's figures, which become the last
        epoch's.
        """
        if not self._rows:
            self._add({"epoch": 1})
        self._rows[-1] |= {f"val_{name}": value for name, value in validation.items()}
        self._flush()
        for board in self._boards.values():
            board.close()
        return self._rows

    def _before(self) -> list[dict[str, float]]:
        """The rows of an earlier start, if it has left something to go on from."""
        if not (self.checkpoints.is_dir() and any(self.checkpoints.iterdir())):
            return []
        try:
            found: list[dict[str, float]] = json.loads(self._kept.read_text())
        except FileNotFoundError:  # it was killed before it reported anything
            return []
        return found

    def _add(self, row: dict[str, float]) -> None:
        now = time.monotonic()
        self._rows.append({**row, "seconds": round(now - self._begun, 3)})
        self._begun = now
        if self._writes:
            storage.write_text(self._kept, json.dumps(self._rows))
            self._progress.show(self._rows)
        figures = [f"{name} {value:.4g}" for name, value in row.items() if name != "epoch"]
        print(f"epoch {row['epoch']}/{self._epochs}", *figures, flush=True)

    def _flush(self) -> None:
        """Report the last row to the tuner and to TensorBoard: once it is known whether it is the
        last of all, whose metrics are those of the predictor.
        """
        if not self._rows or not self._writes:
            return
        name, row = f"val_{self._metric}", self._rows[-1]
        if self._tuner is not None and name in row:
            self._tuner.report_hyperparameter_tuning_metric(
                hyperparameter_metric_tag=self._metric,
                metric_value=row[name],
                global_step=int(row["epoch"]),
            )
        # Folders, names and steps are those of Keras' callback, so that curves can be compared.
        for name, value in row.items():
            if name not in _RESERVED:
                split = "validation" if name.startswith("val_") else "train"
                if split not in self._boards:
                    self._boards[split] = Writer(str(self._logs / split))
                tag = f"epoch_{name.removeprefix('val_')}"
                self._boards[split].add_scalar(tag, value, int(row["epoch"]) - 1)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(f"report: {name} is {value!r}; expected a finite number")
    return number
