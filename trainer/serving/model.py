"""Calls a model, whatever the library: reads what it is asked, and forms its answers.

keras_model.py loads a SavedModel, file_model.py what a group's own file has saved, and
ensemble_model.py several of them.
"""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trainer import postprocessing
from trainer.metrics.decision import Threshold
from trainer.serving.answers import Answered
from trainer.serving.columns import column
from trainer.serving.explanations import Signature
from trainer.serving.row_explanations import RowExplainer
from trainer.serving.rows import Row, RowReader
from trellis_contracts import ensemble, saved_model
from trellis_contracts.documents import ContractError
from trellis_contracts.postprocessing import PLAIN

_LOADERS = {
    saved_model.KERAS: "trainer.serving.keras_model",
    saved_model.FILE_NAME: "trainer.serving.file_model",
    ensemble.FILE_NAME: "trainer.serving.ensemble_model",
}
"""Modules with a function `load`, by the file without which a folder is no model of theirs."""
MARKS = " or ".join(_LOADERS)


class ModelError(Exception):
    """The folder has no model that this server can serve; the message says what it contains."""


def is_model(folder: Path) -> bool:
    """Return whether a folder holds a whole model."""
    return any((folder / name).is_file() for name in _LOADERS)


class Model:
    """A model of any task; its examples are Rows, with images decoded.

    rows: reads requests. serve: from the inputs, (n, ...) each, to "value" (n,) of a regression,
    "risk" (n,) and "survival" (n, times) of a time to an event, "mask" (n, height, width) uint8 and
    "shares" (n, classes) of a segmentation, or "probabilities" (n, classes) with "label" (n,)
    bytes, of a multi-label task "decided" (n, classes) bool. classes: names.
    family: of its task, one of trellis_contracts.tasks.FAMILIES. threshold: by which it labels
    (trainer.metrics.decision); None: with the most probable class. explainer: None of a task that
    has no score to explain. times, horizons: of a time to an event.
    postprocessing: what an answer has beside that (trainer.postprocessing).
    example: one that it must be able to answer; None: a row of missing values.
    """

    def __init__(
        self,
        rows: RowReader,
        serve: Signature,
        classes: Sequence[str],
        family: str,
        threshold: dict[str, Any] | None,
        explainer: RowExplainer | None,
        example: Row | None = None,
        times: Sequence[float] = (),
        horizons: Sequence[float] = (),
    ):
        self.rows, self._serve = rows, serve
        self.classes, self.family, self.threshold = list(classes), family, threshold
        self.times, self.horizons = tuple(times), tuple(horizons)
        decided = Threshold.of(threshold, self.classes) if threshold else None
        self.about = Answered(family, self.classes, decided, self.times, self.horizons)
        most = self.about.form.at_once
        self._at_once = max(1, most // rows.pixels) if most else None
        self.explainer = explainer
        self.postprocessing = PLAIN
        self.example = rows.nulls() if example is None else example

    @classmethod
    def load(cls, directory: Path) -> "Model":
        """The model in a folder, whatever has saved it. Raises ModelError."""
        for name, module in _LOADERS.items():
            if (directory / name).is_file():
                found: Model = importlib.import_module(module).load(directory)
                try:
                    found.postprocessing = postprocessing.read(directory)
                except ContractError as error:
                    raise ModelError(str(error)) from error
                return found
        raise ModelError(f"{directory} holds no model: expected {MARKS} in it")

    def warm_up(self, batch: int) -> None:
        """Predict one example and one batch, since the first call of each shape is slow.

        Raises ModelError if the model fails.
        """
        for size in (1, batch):
            for outcome in self.predict([self.example] * size):
                if isinstance(outcome, Exception):
                    raise ModelError(f"the model fails on a blank example: {outcome}") from outcome

    def predict(self, rows: Sequence[Row]) -> list[dict[str, Any] | Exception]:
        """One prediction or exception per row; trainer.serve describes a prediction."""
        return self.about.responses(self.answers(self.columns(rows)), self.postprocessing)

    def columns(self, rows: Sequence[Row]) -> dict[str, np.ndarray]:
        """The inputs of the model's signature, (n, ...) each, of n rows."""
        columns = zip(*(row.values for row in rows), strict=True)
        return {
            field.input: column(field.kind, values)
            for field, values in zip(self.rows.fields, columns, strict=True)
        }

    def answers(self, columns: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Run the model on the inputs; returns what its signature does."""
        count = len(next(iter(columns.values())))
        size = self._at_once or count
        if count <= size:
            return self._serve(**columns)
        parts = [
            self._serve(**{name: column[n : n + size] for name, column in columns.items()})
            for n in range(0, count, size)
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
