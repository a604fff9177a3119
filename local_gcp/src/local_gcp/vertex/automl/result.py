"""What a training leaves beside its model; read by the server, which imports no scikit-learn."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

RESULT = "result.json"
EVALUATED = "evaluated.parquet"
"""The rows of a table's test set with their predictions."""


@dataclasses.dataclass
class Result:
    """What result.json says."""

    description: str
    """Of the model: what it is, and what was tried."""
    milli_node_hours: int
    converged: bool
    """Ended before the budget did."""
    metrics: dict[str, Any] | None = None
    """On the test set; None if that is empty."""
    attributions: dict[str, float] = dataclasses.field(default_factory=dict)
    """Of columns: how much worse the objective becomes when the column is shuffled."""

    @classmethod
    def read(cls, folder: Path) -> Result:
        """Of the model in `folder`."""
        return cls(**json.loads((folder / RESULT).read_text()))
