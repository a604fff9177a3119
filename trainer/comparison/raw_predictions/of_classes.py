"""Probabilities of a table that anybody wrote."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.comparison.held_out_split import HeldOutSplit, listed_classes
from trainer.comparison.raw_predictions import columns
from trainer.prediction_checks import PredictionsError


def answers(table: pa.Table, keys: np.ndarray, split: HeldOutSplit) -> np.ndarray:
    """(n, c) probabilities, in the split's order of the classes."""
    if "probabilities" not in table.column_names:
        if missing := [name for name in split.classes if name not in table.column_names]:
            raise PredictionsError(
                f"there is no column of probabilities, and none for {listed_classes(missing)}: "
                f"expected one for each class; there are {listed_classes(table.column_names)}"
            )
        return np.stack([columns.numbers(table, name) for name in split.classes], axis=1)
    if b"classes" in (table.schema.metadata or {}):
        return _of_training(table, split)
    rows = columns.plain_list(columns.column_of(table, "probabilities"))
    pairs = rows.flatten()
    try:
        names, shares = pc.struct_field(pairs, "label"), pc.struct_field(pairs, "prob")
    except (pa.ArrowException, KeyError) as error:
        raise PredictionsError(
            f"column 'probabilities' is {rows.type}, not a list of (label, prob)"
        ) from error
    row = np.repeat(np.arange(len(rows)), pc.list_value_length(rows).to_numpy(zero_copy_only=False))
    return columns.by_class(
        len(keys),
        row,
        names.cast(pa.string()).to_pylist(),
        shares.cast(pa.float64()).to_numpy(zero_copy_only=False),
        split.classes,
    )


def _of_training(table: pa.Table, split: HeldOutSplit) -> np.ndarray:
    """(n, c) probabilities of a predictions.parquet, in the split's order of the classes."""
    names = [str(name) for name in json.loads(table.schema.metadata[b"classes"])]
    if set(names) != set(split.classes):
        raise PredictionsError(
            f"predicts the classes {listed_classes(names)}; the dataset has "
            f"{listed_classes(split.classes)}"
        )
    lists = columns.column_of(table, "probabilities")
    if (pc.list_value_length(lists).to_numpy(zero_copy_only=False) != len(names)).any():
        raise PredictionsError(f"not exactly {len(names)} probabilities, one per class")
    flat = lists.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
    order = [names.index(name) for name in split.classes]
    found: np.ndarray = flat.reshape(-1, len(names))[:, order]
    return found
