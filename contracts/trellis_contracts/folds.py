"""Folds of cross-validation: which part of a dataset tests, validates or trains where.

In each repeat, every unit (a row, or all rows of a group) has one fold, 1 to `count`, in the column
`fold_REPEAT` of the frozen rows. Part `REPEAT-FOLD` is tested on that fold and validated on the
next one, and trained on all others. Its dataset is DATASET/folds/REPEAT-FOLD/, the files of its
jobs are in RUN/folds/REPEAT-FOLD/; the dataset itself is divided as FIRST. EVERYTHING has the
test split of FIRST for its validation and all else for its train split: no test split is left.
"""

from dataclasses import dataclass

from trellis_contracts.dataset import SPLITS
from trellis_contracts.files import Part

FIRST = "1-1"
"""The part that the dataset itself is."""

EVERYTHING = "all"
"""The part that the model to deploy is trained on."""

LEAST = 3
"""Folds without which there are none to train on."""


@dataclass(frozen=True)
class Folds(Part):
    """count: folds of a repeat. repeats: each divides the units anew."""

    count: int
    repeats: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        """REPEAT-FOLD of all, in order."""
        repeats, folds = range(1, self.repeats + 1), range(1, self.count + 1)
        return tuple(f"{repeat}-{fold}" for repeat in repeats for fold in folds)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the frozen rows."""
        return tuple(f"fold_{repeat}" for repeat in range(1, self.repeats + 1))

    def rule(self, part: str) -> str:
        """How a part is divided, for people."""
        if part == EVERYTHING:
            return f"fold 1 of {self.count} validates, the others train"
        repeat, fold = numbers(part)
        again = f", division {repeat} of {self.repeats}" if self.repeats > 1 else ""
        test, validation = fold, fold % self.count + 1
        return f"fold {test} of {self.count} tests, fold {validation} validates{again}"

    def splits(self, part: str) -> tuple[int, ...]:
        """The index in SPLITS of each fold of a part, from fold 1 on."""
        train, validation, test = range(len(SPLITS))
        found = [train] * self.count
        if part == EVERYTHING:
            found[0] = validation
            return tuple(found)
        _, fold = numbers(part)
        found[fold - 1], found[fold % self.count] = test, validation
        return tuple(found)


def numbers(part: str) -> tuple[int, int]:
    """Repeat and fold of a part other than EVERYTHING, from 1."""
    repeat, _, fold = part.partition("-")
    return int(repeat), int(fold)


def column(part: str) -> str:
    """The column of the frozen rows that decides a part."""
    return f"fold_{1 if part == EVERYTHING else numbers(part)[0]}"


def dataset(whole: str, part: str) -> str:
    """The folder of a part's dataset. whole: that of the dataset."""
    return whole if part == FIRST else f"{whole.rstrip('/')}/folds/{part}/"


def fingerprint(whole: str, part: str) -> str:
    """The fingerprint of a part's dataset. whole: that of the dataset."""
    return whole if part == FIRST else f"{whole}-{part}"


def derived(folds: Folds) -> tuple[str, ...]:
    """The parts with a dataset of their own; the last one is made last."""
    return (*folds.parts[1:], EVERYTHING)
