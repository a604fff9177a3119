"""What the leaderboard says of a cross-validation: its folds, choices in each, and spreads."""

from collections.abc import Mapping
from dataclasses import dataclass

from trellis_contracts.files import Part
from trellis_contracts.folds import numbers
from trellis_contracts.hyperparameter_field import Value


@dataclass(frozen=True)
class Spread(Part):
    """A metric over seeds or folds, in their order. sd: with n - 1; None of a single value."""

    mean: float
    sd: float | None
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class FoldChoice(Part):
    """What was chosen in a fold. part: REPEAT-FOLD (folds.py). examples: tested. training: its name
    below the fold's folder. hyperparameters: those that were searched. validation: the metric that
    it was trained for.
    """

    part: str
    examples: int
    training: str
    trial: str | None
    model: str
    hyperparameters: Mapping[str, Value]
    best_epoch: int
    validation: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class CrossValidation(Part):
    """The folds that the scores are of. rows: that were tested, each once in each repeat.
    deployed_on: what the selected training itself was trained on; deployed_examples: how many, by
    split. widening: of every interval (trainer/comparison/fold_intervals.py). spread: by contender
    and metric, over all folds. choices: of the folds that have a training.
    """

    count: int
    repeats: int
    rows: int
    deployed_on: str
    deployed_examples: Mapping[str, int]
    widening: float
    choices: tuple[FoldChoice, ...]
    spread: Mapping[str, Mapping[str, Spread]]

    def place(self, part: str) -> int:
        """The place of a fold among the values of a spread."""
        repeat, fold = numbers(part)
        return (repeat - 1) * self.count + fold - 1
