"""Groups of test examples that are not independent: the visits of a patient, the tiles of a slide.

A hundred examples of one patient say little more about other patients than one does. If groups
decide a dataset's split, its test split is a sample of groups, and every interval counts those: the
bootstrap draws groups with all their examples, and the closed forms count effective examples, n
divided by the design effect. The design effect is the variance of the score between groups, by that
between independent examples (Kish, Survey Sampling, 1965); of a share, Korn & Graubard (Survey
Methodology 24, 1998) put it into Clopper-Pearson's interval, with Student's t for few groups.
Means of errors, the log loss too, have the studentized bootstrap of groups.

Percentage of 150 simulated test splits of groups of 8 whose interval, meant for 95%, covered the
true score; label and score are the group's (in brackets if examples are taken as independent):

                         accuracy   balanced   F1        AUC       log loss   calibration
    20 groups, AUC 0.50  100        93         88        98        96         95
                   0.92  100        99         98        97        95         99
    80 groups, AUC 0.50   95 (49)   93 (47)    92 (46)   96 (57)   95 (57)    93 (49)
                   0.92   97 (49)   95 (55)    93 (52)   97 (60)   94 (55)    99 (4)
                   0.998  99 (57)   99 (39)    99 (40)   98 (92)   93 (48)    100 (28)
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Groups:
    """The group of each of n examples. of: (n,) int64 from 0 to count - 1."""

    of: np.ndarray
    count: int

    @classmethod
    def named(cls, names: Iterable) -> "Groups":
        """Build the groups from a name or number for each example's group."""
        found, of = np.unique(np.asarray(names), return_inverse=True)
        return cls(of, len(found))

    def subset(self, rows: np.ndarray) -> "Groups":
        """The groups of some of the examples. rows: (n,) bool or (m,) indices."""
        return Groups.named(self.of[rows])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(count,) sums of (n,) values."""
        return np.bincount(self.of, values, self.count)

    @cached_property
    def sizes(self) -> np.ndarray:
        """(count,) examples of each group."""
        return np.bincount(self.of, minlength=self.count)

    @property
    def mean_size(self) -> float:
        """Mean size of the group of an example: the largest design effect, of equal examples."""
        return float((self.sizes**2).sum() / len(self.of))

    def design_effect(self, deviations: np.ndarray) -> float:
        """Variance of a score between groups, by that between independent examples; at least 1.

        deviations: (n,) what each example adds to the score's error; their sum is about 0. If all
        are 0, there is no variance to estimate, and examples of a group count as one.
        """
        independent = float((deviations**2).sum())
        if not independent:
            return self.mean_size
        between = float((self.sums(deviations) ** 2).sum()) * self.count / max(self.count - 1, 1)
        return float(np.clip(between / independent, 1, self.mean_size))

    def distance(self, level: float) -> float:
        """Half the width of an interval, in standard errors: Student's t, by the groups."""
        return float(stats.t.ppf((1 + level) / 2, max(self.count - 1, 1)))
