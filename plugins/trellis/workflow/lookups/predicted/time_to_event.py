"""Columns of predicted risks and curves of survival."""

from typing import Any

import pyarrow as pa

from trellis.workflow.lookups.predicted.lists import lists
from trellis_contracts.predictions import PredictionsHeader

ANSWER = "risk"


def columns(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    """See the package."""
    curves = lists(table, "survival", len(header.times))
    return {
        "time": table["label"].to_numpy(),
        "event": table["event"].to_numpy(),
        "risk": table["risk"].to_numpy(),
        **{f"survival.{time:.12g}": curves[:, i] for i, time in enumerate(header.times)},
    }
