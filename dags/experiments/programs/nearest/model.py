"""The class of a row by those of its nearest neighbours among the rows of the train split."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Neighbours:
    """rows: (n, features) standardized; classes_of: (n,) index of each one's class. mean, scale: of
    the features before. power: weight of a neighbour, by its distance to minus this.
    """

    columns: tuple[str, ...]
    classes: tuple[str, ...]
    rows: np.ndarray
    classes_of: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    neighbours: int
    power: float

    @classmethod
    def fit(
        cls,
        columns: Mapping[str, np.ndarray],
        labels: Sequence[str],
        classes: Sequence[str],
        neighbours: int,
        power: float,
    ) -> "Neighbours":
        values = np.column_stack(list(columns.values())).astype(float)
        mean = np.nanmean(values, axis=0)
        scale = np.nanstd(values, axis=0)
        scale[scale == 0] = 1
        places = {name: place for place, name in enumerate(classes)}
        return cls(
            tuple(columns),
            tuple(classes),
            _filled((values - mean) / scale),
            np.array([places[name] for name in labels]),
            mean,
            scale,
            neighbours,
            power,
        )

    def predict(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """(n, classes) probabilities, each with one more example of every class."""
        values = np.column_stack([columns[name] for name in self.columns]).astype(float)
        rows = _filled((values - self.mean) / self.scale)
        found = np.empty((len(rows), len(self.classes)))
        for place, row in enumerate(rows):
            distances = np.sqrt(((self.rows - row) ** 2).sum(axis=1))
            nearest = np.argsort(distances, kind="stable")[: self.neighbours]
            weights = (distances[nearest] + 1e-6) ** -self.power
            votes = np.bincount(self.classes_of[nearest], weights, minlength=len(self.classes))
            found[place] = (votes + weights.mean()) / (votes + weights.mean()).sum()
        return found

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {name: getattr(self, name) for name in ("rows", "classes_of", "mean", "scale")}
        np.savez(folder / "neighbours.npz", **arrays)
        names = ("columns", "classes", "neighbours", "power")
        (folder / "neighbours.json").write_text(json.dumps({n: getattr(self, n) for n in names}))

    @classmethod
    def load(cls, folder: Path) -> "Neighbours":
        described: dict[str, Any] = json.loads((folder / "neighbours.json").read_text())
        described |= {name: tuple(described[name]) for name in ("columns", "classes")}
        with np.load(folder / "neighbours.npz") as arrays:
            return cls(**described, **arrays)


def _filled(values: np.ndarray) -> np.ndarray:
    """A missing value is that of the mean."""
    return np.nan_to_num(values)
