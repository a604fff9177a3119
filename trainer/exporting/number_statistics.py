"""Statistics of numbers, which merge to those of more numbers.

Mean and variance are merged by the method of Chan, Golub and LeVeque (1979).
"""

import math
from dataclasses import dataclass, field

import numpy as np

from trainer.exporting.quantiles import Quantiles
from trellis_contracts.dataset_features import QUANTILES, Statistics


@dataclass(frozen=True)
class Numbers:
    """Statistics of numbers. missing: number of NaNs; squares: sum of squared deviations."""

    count: int = 0
    missing: int = 0
    mean: float = 0.0
    squares: float = 0.0
    min: float = math.inf
    max: float = -math.inf
    quantiles: Quantiles = field(default_factory=lambda: Quantiles.of(np.empty(0)))

    @classmethod
    def of(cls, values: np.ndarray) -> "Numbers":
        """Summarise numbers of any type, with NaN."""
        rising = np.sort(values)  # NaN comes last
        count = len(rising) - int(np.count_nonzero(np.isnan(rising)))
        missing, rising = len(rising) - count, rising[:count].astype(np.float64)
        if not count:
            return cls(missing=missing)
        mean = float(rising.mean())
        squares = float(np.square(rising - mean).sum())
        quantiles = Quantiles.of(rising)
        return cls(count, missing, mean, squares, float(rising[0]), float(rising[-1]), quantiles)

    def merge(self, other: "Numbers") -> "Numbers":
        """The statistics of the numbers of both."""
        count = self.count + other.count
        share = other.count / max(count, 1)
        apart = other.mean - self.mean
        return Numbers(
            count,
            self.missing + other.missing,
            self.mean + apart * share,
            self.squares + other.squares + apart * apart * self.count * share,
            min(self.min, other.min),
            max(self.max, other.max),
            self.quantiles.merge(other.quantiles),
        )

    def statistics(self) -> Statistics:
        """The statistics for dataset.json. There must be a number that is not NaN."""
        constant = self.min == self.max  # exactly, where sums round
        quantiles = self.quantiles.at(np.linspace(0, 100, QUANTILES, dtype=int)).tolist()
        return Statistics(
            count=self.count,
            missing=self.missing,
            mean=self.min if constant else self.mean,
            stddev=0.0 if constant else math.sqrt(self.squares / self.count),
            min=self.min,
            max=self.max,
            quantiles=(self.min, *quantiles[1:-1], self.max),
        )
