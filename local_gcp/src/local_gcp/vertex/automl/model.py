"""A trained model as a file, and its predictions in Google's schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pyarrow as pa

from local_gcp.vertex.automl import search
from local_gcp.vertex.automl.features import DataError, Features
from local_gcp.vertex.automl.images import ImageError, pixels
from local_gcp.vertex.automl.inputs import CLASSIFICATION

FILE = "model.joblib"


@dataclasses.dataclass
class TabularModel:
    """Predicts a column from others.

    `interval`: (lower, upper) to be added to a predicted value: between them lie 95 % of the errors
    on rows that the model had not been fitted to.
    """

    kind: str
    target: str
    features: Features
    estimator: Any
    classes: list[str]
    interval: tuple[float, float] = (0.0, 0.0)

    def raw(self, table: pa.Table) -> np.ndarray:
        """float[rows, classes] or float[rows]."""
        x = self.features(table)
        return search.predict(self.estimator, x, self.kind, len(self.classes))

    def predict(self, table: pa.Table) -> tuple[list[dict[str, Any]], list[str | None]]:
        """(predictions, problems) of the rows: TabularClassificationPredictionResult or
        TabularRegressionPredictionResult; a row with a problem has no prediction to rely on.
        """
        lacking = self.features.incomplete(table)
        problems = [
            "A column that must have a value has none." if lack else None for lack in lacking
        ]
        raw = self.raw(table)
        if self.kind == CLASSIFICATION:
            return [{"classes": self.classes, "scores": row.tolist()} for row in raw], problems
        below, above = self.interval
        return [
            {"value": v, "lower_bound": v + below, "upper_bound": v + above} for v in raw.tolist()
        ], problems

    def column(self, predictions: Sequence[dict[str, Any] | None]) -> tuple[pa.Field, pa.Array]:
        """The predictions as the column predicted_TARGET of a BigQuery table."""
        kind = _CLASSES if self.kind == CLASSIFICATION else _VALUE
        return pa.field(f"predicted_{self.target}", kind), pa.array(predictions, kind)


_CLASSES = pa.struct({"classes": pa.list_(pa.string()), "scores": pa.list_(pa.float64())})
_VALUE = pa.struct({n: pa.float64() for n in ("value", "lower_bound", "upper_bound")})


@dataclasses.dataclass
class ImageModel:
    """Predicts the class of an image."""

    estimator: Any
    classes: list[str]
    ids: list[str]
    """IDs of the classes' AnnotationSpecs."""

    def predict(
        self, paths: Sequence[Path | None], threshold: float = 0.0, most: int = 10
    ) -> tuple[list[dict[str, Any]], list[str | None]]:
        """(predictions, problems) of image files: ClassificationPredictionResult, the likeliest
        class first, at least `threshold` likely, at most `most` of them.
        """
        rows: list[Any] = []
        problems: list[str | None] = []
        for path in paths:
            try:
                if path is None or not path.is_file():
                    raise ImageError("There is no such image.")
                rows.append(pixels(path))
                problems.append(None)
            except ImageError as error:
                rows.append(None)
                problems.append(str(error))
        return [self._result(row, threshold, most) for row in self._raw(rows)], problems

    def _raw(self, rows: list[np.ndarray | None]) -> list[np.ndarray | None]:
        decoded = [row for row in rows if row is not None]
        if not decoded:
            return rows
        answers = iter(
            search.predict(self.estimator, np.stack(decoded), CLASSIFICATION, len(self.classes))
        )
        return [None if row is None else next(answers) for row in rows]

    def _result(self, scores: np.ndarray | None, threshold: float, most: int) -> dict[str, Any]:
        if scores is None:
            return {}
        order = [i for i in np.argsort(-scores, kind="stable") if scores[i] >= threshold][:most]
        return {
            "ids": [self.ids[i] for i in order],
            "displayNames": [self.classes[i] for i in order],
            "confidences": [float(scores[i]) for i in order],
        }


def save(model: TabularModel | ImageModel, folder: Path) -> None:
    """Write the model into `folder`."""
    joblib.dump(model, folder / FILE, compress=1)


def load(folder: Path) -> TabularModel | ImageModel:
    """The model in `folder`; DataError if there is none any more."""
    try:
        return joblib.load(folder / FILE)
    except FileNotFoundError:
        raise DataError(f"The model's file {folder / FILE} does not exist any more.") from None
