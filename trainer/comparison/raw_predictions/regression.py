"""Numbers of a table that anybody wrote."""

import numpy as np
import pyarrow as pa

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.comparison.raw_predictions import columns


def answers(table: pa.Table, keys: np.ndarray, split: HeldOutSplit) -> np.ndarray:
    """(n,) values."""
    return columns.numbers(table, "prediction" if "prediction" in table.column_names else "value")
