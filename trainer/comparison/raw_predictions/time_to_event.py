"""Risks and curves of survival of a table that anybody wrote."""

import itertools
import json

import numpy as np
import pyarrow as pa

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.comparison.raw_predictions import columns
from trainer.metrics import survival_estimates as estimates
from trainer.prediction_checks import PredictionsError, lists


def answers(table: pa.Table, keys: np.ndarray, split: HeldOutSplit) -> np.ndarray:
    """(n, 1 + t) risk and survival of a predictions.parquet of a time to an event, with survival at
    the dataset's times: those of the file must cover them.
    """
    metadata = table.schema.metadata or {}
    if b"times" not in metadata:
        raise PredictionsError(
            "the metadata of the Parquet file have no `times`, a JSON list, which the lists of the "
            "column survival are of (trellis_contracts/predictions.py)"
        )
    times = tuple(map(float, json.loads(metadata[b"times"])))
    if not times or any(low >= high for low, high in itertools.pairwise((0.0, *times))):
        raise PredictionsError(f"times {list(times)} do not rise from above 0")
    if times[-1] < split.label.times[-1]:
        raise PredictionsError(
            f"survival is predicted until the time {times[-1]:g}; the dataset has it until "
            f"{split.label.times[-1]:g}"
        )
    curves = lists(
        columns.plain_list(columns.column_of(table, "survival")), keys, len(times), "time"
    )
    at = estimates.interpolated(curves.astype(np.float64), times, split.label.times)
    return np.concatenate([columns.numbers(table, "risk")[:, None], at], axis=1)
