"""Columns of predicted masks."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from trellis.workflow.labels.mask import FOREGROUND
from trellis.workflow.lookups.predicted.lists import lists
from trellis_contracts.predictions import PredictionsHeader

ANSWER = FOREGROUND


def columns(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    """See the package."""
    columns = ("truth", "predicted", "both", "distance")
    found = {name: lists(table, name, len(header.classes)) for name in columns}
    truth, predicted, both = (found[name] for name in columns[:3])
    sums = (truth + predicted)[:, 1:]
    # Of the classes that are in either mask, without the background.
    dice = np.divide(2.0 * both[:, 1:], sums, out=np.full(sums.shape, np.nan), where=sums > 0)
    return {
        "dice": pd.DataFrame(dice).mean(axis=1).to_numpy(),
        FOREGROUND: 1 - predicted[:, 0] / predicted.sum(axis=1),
        **{
            f"{name}.{label}": each[:, i]
            for name, each in found.items()
            for i, label in enumerate(header.classes)
        },
    }
