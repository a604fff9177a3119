"""Columns of predicted classes."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from trellis.workflow.lookups.predicted.of_classes import probabilities, shares_of
from trellis_contracts.predictions import PredictionsHeader


def columns(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    """See the package."""
    shares, names = shares_of(table, header), pd.Index(header.classes)
    answers = {
        "label": names[table["label"].to_numpy()],
        "predicted": names[_decided(shares, header)],
    }
    return answers | probabilities(shares, header)


def _decided(shares: np.ndarray, header: PredictionsHeader) -> np.ndarray:
    """(n,) class indices of (n, classes) probabilities, as the trainer decides."""
    if header.threshold is None:
        return shares.argmax(axis=1)
    positive = header.classes.index(header.threshold.name)
    return np.where(shares[:, positive] > header.threshold.above, positive, 1 - positive)
