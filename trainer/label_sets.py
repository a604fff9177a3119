"""Sets of classes as one number: the label of an example that may have any number of classes.

Bit i of an int64 says whether the example has class i, so that all that carries labels from records
to the comparison carries one number for each example, as of one class. Bit 63 is the sign.

A table has such a label as one text, the names of the classes with | between them.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from trellis_contracts.tasks import SEPARATOR


def of(indices: Iterable[int]) -> int:
    """The set of these class indices, 0 to 62."""
    return sum(1 << index for index in set(indices))


def members(labels: np.ndarray, classes: int) -> np.ndarray:
    """(n, classes) bool: which classes (n,) sets contain."""
    return (np.asarray(labels, np.int64)[:, None] >> np.arange(classes)) & 1 == 1


def joined(label: int, classes: Sequence[str], separator: str = SEPARATOR) -> str:
    """Join the names in the form of a table's column."""
    return separator.join(name for i, name in enumerate(classes) if int(label) >> i & 1)


def text(label: int, classes: Sequence[str]) -> str:
    """Format the labels for a reader: `effusion, mass`, or `none`."""
    return joined(label, classes, ", ") or "none"
