"""Columns of predicted sets of classes."""

from typing import Any

import numpy as np
import pyarrow as pa

from trellis.workflow.lookups.predicted.of_classes import names_of, probabilities, shares_of
from trellis_contracts.predictions import DECIDED_ABOVE, PredictionsHeader


def columns(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    """See the package."""
    shares, label = shares_of(table, header), table["label"].to_numpy()
    true = (label[:, None] >> np.arange(len(header.classes))) & 1 == 1
    decided = names_of(shares > DECIDED_ABOVE, header.classes)
    answers = {"label": names_of(true, header.classes), "predicted": decided}
    return answers | probabilities(shares, header)
