"""Scripts: several statements, variables, conditions."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from .translated import Translated


class Executor(Protocol):
    """Runs what a script asks for."""

    def execute(self, translated: Translated) -> None:
        """Run a statement of the script (in BigQuery: a child job)."""

    def evaluate(self, translated: Translated) -> pa.Table:
        """The rows of a query that stands in an expression (DECLARE, SET, IF, ASSERT, ...)."""
