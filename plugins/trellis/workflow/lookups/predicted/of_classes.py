"""What columns of predicted classes share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from trellis.workflow.lookups.predicted.lists import lists
from trellis_contracts.predictions import PredictionsHeader


def shares_of(table: pa.Table, header: PredictionsHeader) -> np.ndarray:
    """(n, classes) probabilities."""
    return lists(table, "probabilities", len(header.classes))


def probabilities(shares: np.ndarray, header: PredictionsHeader) -> dict[str, Any]:
    """A column for each class."""
    return {f"p.{name}": shares[:, i] for i, name in enumerate(header.classes)}


def names_of(members: np.ndarray, classes: Sequence[str]) -> list[tuple[str, ...]]:
    """The classes of each example. members: (n, classes) bool."""
    return [tuple(name for name, one in zip(classes, row, strict=True) if one) for row in members]
