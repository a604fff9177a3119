"""Scores of a split, whatever the model: a Predictor's answers, with keys, labels and figures."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trainer.metrics.decision import Threshold
from trainer.stored import StoredBatch, batches
from trainer.training import TrainingError
from trainer.training.protocol import Predictor
from trellis_contracts.dataset import DatasetDescription

# Examples in one call of the model; of masks, whose models have features for each pixel, pixels.
_BATCH = 256
_PIXELS = 1 << 22


@dataclass(frozen=True)
class Scores:
    """A predictor's answers for all examples of a split.

    keys: (n,) str. labels, answers: (n, ...) as trainer.families has them. groups: (n,) of examples
    that are not independent; None if all are.
    """

    dataset: DatasetDescription
    keys: np.ndarray
    labels: np.ndarray
    answers: np.ndarray
    groups: np.ndarray | None = None

    def subset(self, rows: np.ndarray) -> "Scores":
        """Some of the examples. rows: (n,) bool."""
        groups = None if self.groups is None else self.groups[rows]
        columns = self.keys[rows], self.labels[rows], self.answers[rows]
        return Scores(self.dataset, *columns, groups)

    def figures(self, threshold: Threshold | None) -> dict[str, float]:
        """The task's metrics. threshold: by which it labels; None: with the most probable class."""
        # Imports Parquet, which takes a second and which a tuning trial does not need.
        from trainer.families import FAMILIES

        family = FAMILIES[self.dataset.family]
        return family.figures(self.dataset, self.labels, self.answers, threshold)


def at_once(dataset: DatasetDescription, most: int = _BATCH) -> int:
    """How many examples a model should be given in one call: `most`, or fewer large masks."""
    return max(1, min(most, _PIXELS // dataset.label.pixels))


def of_split(
    predictor: Predictor,
    address: str,
    dataset: DatasetDescription,
    split: str,
    keep: Callable[[StoredBatch, np.ndarray], None] | None = None,
) -> Scores:
    """Predict every example of a split once. address: of the dataset's folder. keep: called with
    each batch and the predictor's answers.

    Raises TrainingError if those are not as many as dataset.json says; StoredError.
    """
    parts = []
    for batch in batches(address, dataset, split, at_once(dataset)):
        answers = predictor.predict(batch)
        if keep:
            keep(batch, answers)
        parts.append(of_batch(batch, answers))
    found, expected = sum(len(part.keys) for part in parts), dataset.examples(split)
    if found != expected:
        raise TrainingError(
            f"the {split} split has {expected} examples by its dataset.json, but {found} in its "
            "files: export the dataset again"
        )
    keys, labels, scored = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("keys", "labels", "answers")
    )
    groups = [part.groups for part in parts if part.groups is not None]
    return Scores(dataset, keys, labels, scored, np.concatenate(groups) if groups else None)


def of_batch(batch: StoredBatch, answers: np.ndarray) -> Scores:
    """A predictor's answers to a batch."""
    # Imports Parquet, which takes a second and which a tuning trial does not need.
    from trainer.families import FAMILIES

    dataset, family = batch.dataset, FAMILIES[batch.dataset.family]
    labels = batch.labels
    truth, found = family.truth(dataset, labels), family.found(dataset, labels, answers)
    return Scores(dataset, batch.keys, truth, found, batch.groups)
