"""A predictions.parquet as a frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from trellis_contracts.predictions import DECIDED_ABOVE, PredictionsHeader
from trellis_contracts.tasks import MULTILABEL, REGRESSION, SEGMENTATION, SURVIVAL


def frame(data: bytes) -> pd.DataFrame:
    """The rows by the example's key; LoadedRun.predictions explains the columns. data: the file.

    Raises ContractError if it is not as its schema says.
    """
    table = pq.read_table(pa.BufferReader(data))
    key = pd.Index(table["key"].to_pylist(), name="key")
    columns = {field.name: _type_name(field.type) for field in table.schema}
    header = PredictionsHeader.parse(table.schema.metadata or {}, columns)
    found = pd.DataFrame(_FORMS.get(header.task or "", _classes)(table, header), index=key)
    if header.threshold:
        found.attrs["threshold"] = header.threshold.to_document()
    return found


def _values(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    label, value = table["label"].to_numpy(), table["value"].to_numpy()
    return {"label": label, "predicted": value, "error": value - label}


def _survivals(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    curves = _lists(table, "survival", len(header.times))
    return {
        "time": table["label"].to_numpy(),
        "event": table["event"].to_numpy(),
        "risk": table["risk"].to_numpy(),
        **{f"survival.{time:.12g}": curves[:, i] for i, time in enumerate(header.times)},
    }


def _masks(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    columns = ("truth", "predicted", "both", "distance")
    found = {name: _lists(table, name, len(header.classes)) for name in columns}
    truth, predicted, both = (found[name] for name in columns[:3])
    sums = (truth + predicted)[:, 1:]
    # Of the classes that are in either mask, without the background.
    dice = np.divide(2.0 * both[:, 1:], sums, out=np.full(sums.shape, np.nan), where=sums > 0)
    return {
        "dice": pd.DataFrame(dice).mean(axis=1).to_numpy(),
        "foreground": 1 - predicted[:, 0] / predicted.sum(axis=1),
        **{
            f"{name}.{label}": each[:, i]
            for name, each in found.items()
            for i, label in enumerate(header.classes)
        },
    }


def _sets(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    shares, label = _shares(table, header), table["label"].to_numpy()
    true = (label[:, None] >> np.arange(len(header.classes))) & 1 == 1
    decided = _names(shares > DECIDED_ABOVE, header.classes)
    answers = {"label": _names(true, header.classes), "predicted": decided}
    return answers | _probabilities(shares, header)


def _classes(table: pa.Table, header: PredictionsHeader) -> dict[str, Any]:
    shares, names = _shares(table, header), pd.Index(header.classes)
    answers = {
        "label": names[table["label"].to_numpy()],
        "predicted": names[_decided(shares, header)],
    }
    return answers | _probabilities(shares, header)


_FORMS = {REGRESSION: _values, SURVIVAL: _survivals, SEGMENTATION: _masks, MULTILABEL: _sets}


def _shares(table: pa.Table, header: PredictionsHeader) -> np.ndarray:
    return _lists(table, "probabilities", len(header.classes))


def _probabilities(shares: np.ndarray, header: PredictionsHeader) -> dict[str, Any]:
    return {f"p.{name}": shares[:, i] for i, name in enumerate(header.classes)}


def _lists(table: pa.Table, name: str, size: int) -> np.ndarray:
    """(n, size) numbers of a column of lists."""
    found: np.ndarray = table[name].combine_chunks().flatten().to_numpy().reshape(-1, size)
    return found


def _type_name(kind: pa.DataType) -> str:
    """An Arrow type; of a list without the name of its elements, which differs between writers."""
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def _decided(shares: np.ndarray, header: PredictionsHeader) -> np.ndarray:
    """(n,) class indices of (n, classes) probabilities, as the trainer decides."""
    if header.threshold is None:
        return shares.argmax(axis=1)
    positive = header.classes.index(header.threshold.name)
    return np.where(shares[:, positive] > header.threshold.above, positive, 1 - positive)


def _names(members: np.ndarray, classes: Sequence[str]) -> list[tuple[str, ...]]:
    """The classes of each example. members: (n, classes) bool."""
    return [tuple(name for name, one in zip(classes, row, strict=True) if one) for row in members]
