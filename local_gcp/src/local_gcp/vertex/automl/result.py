"""The result file of a training; the server reads it without importing scikit-learn."""

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
    """The content of result.json."""

    description: str
    """Description of the model and the candidates."""
    milli_node_hours: int
    converged: bool
    """Ended before the budget did."""
    metrics: dict[str, Any] | None = None
    """On the test set; None if that is empty."""
    attributions: dict[str, float] = dataclasses.field(default_factory=dict)
    """By column: growth of the loss if the column is shuffled."""

    @classmethod
    def read(cls, folder: Path) -> Result:
        """Read the result of the model in `folder`."""
        return cls(**json.loads((folder / RESULT).read_text()))
