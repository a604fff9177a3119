"""Columns of predicted numbers."""

from typing import Any

import pyarrow as pa

from trellis_contracts.predictions import PredictionsHeader


def columns(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    """See the package."""
    label, value = table["label"].to_numpy(), table["value"].to_numpy()
    return {"label": label, "predicted": value, "error": value - label}
