"""A predictions.parquet as a frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from trellis_contracts.predictions import DECIDED_ABOVE, PredictionsHeader
from trellis_contracts.tasks import MULTILABEL, REGRESSION, SURVIVAL


def frame(data: bytes) -> pd.DataFrame:
    """The rows by the example's key; LoadedRun.predictions explains the columns. data: the file.

    Raises ContractError if it is not as its schema says.
    """
    table = pq.read_table(pa.BufferReader(data))
    key = pd.Index(table["key"].to_pylist(), name="key")
    label = table["label"].to_numpy()
    columns = {field.name: _type_name(field.type) for field in table.schema}
    header = PredictionsHeader.parse(table.schema.metadata or {}, columns)
    if header.task == REGRESSION:
        value = table["value"].to_numpy()
        errors = {"label": label, "predicted": value, "error": value - label}
        return pd.DataFrame(errors, index=key)
    answers: dict[str, Any]
    if header.task == SURVIVAL:
        curves = table["survival"].combine_chunks().flatten().to_numpy()
        curves = curves.reshape(len(key), len(header.times))
        answers = {
            "time": label,
            "event": table["event"].to_numpy(),
            "risk": table["risk"].to_numpy(),
        }
        shown = {f"survival.{time:.12g}": curves[:, i] for i, time in enumerate(header.times)}
        return pd.DataFrame({**answers, **shown}, index=key)
    classes = header.classes
    lists = table["probabilities"].combine_chunks()
    shares = lists.flatten().to_numpy().reshape(len(key), len(classes))
    names = pd.Index(classes)
    if header.task == MULTILABEL:
        true = (label[:, None] >> np.arange(len(classes))) & 1 == 1
        decided = _names(shares > DECIDED_ABOVE, classes)
        answers = {"label": _names(true, classes), "predicted": decided}
    else:
        answers = {
            "label": names[label],
            "predicted": names[_decided(shares, header)],
        }
    found = pd.DataFrame(
        {
            **answers,
            **{f"p.{name}": shares[:, i] for i, name in enumerate(classes)},
        },
        index=key,
    )
    if header.threshold:
        found.attrs["threshold"] = header.threshold.to_document()
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
