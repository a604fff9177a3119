"""Boosted trees of XGBoost's in an image that knows nothing of Trellis, with their own server."""

import json
from pathlib import Path

import numpy as np
import xgboost


class Trees:
    """columns: names of the features. classes: names of the two."""

    def __init__(self, booster: xgboost.Booster, columns: list[str], classes: list[str]):
        self.booster, self.columns, self.classes = booster, columns, classes

    def predict(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """(n, 2) probabilities."""
        rows = np.column_stack([columns[name] for name in self.columns]).astype(float)
        positive = self.booster.predict(xgboost.DMatrix(rows)).astype(float)
        return np.stack([1 - positive, positive], axis=1)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.booster.set_attr(
            columns=json.dumps(self.columns), classes=json.dumps(list(self.classes))
        )
        self.booster.save_model(folder / "trees.ubj")

    @classmethod
    def load(cls, folder: Path) -> "Trees":
        booster = xgboost.Booster(model_file=folder / "trees.ubj")
        return cls(
            booster, json.loads(booster.attr("columns")), json.loads(booster.attr("classes"))
        )
