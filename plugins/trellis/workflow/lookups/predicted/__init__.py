"""A predictions.parquet as a frame: the columns of each family of tasks are in the module of its
name.
"""

import importlib
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.tasks import family_of


def frame(data: bytes) -> pd.DataFrame:
    """The rows by the example's key; LoadedRun.predictions explains the columns. data: the file.

    Raises ContractError if it is not as its schema says.
    """
    return _read(data)[0]


def answers(data: bytes) -> pd.Series:
    """The column of `frame` with the answer that is watched: classes, or a number."""
    found, form = _read(data)
    return found[getattr(form, "ANSWER", "predicted")]


def _read(data: bytes) -> tuple[pd.DataFrame, Any]:
    """The frame, and the module that knows its family's columns."""
    table = pq.read_table(pa.BufferReader(data))
    columns = {field.name: _type_name(field.type) for field in table.schema}
    header = PredictionsHeader.parse(table.schema.metadata or {}, columns)
    form = importlib.import_module(f"{__name__}.{family_of(header.task)}")
    key = pd.Index(table["key"].to_pylist(), name="key")
    found = pd.DataFrame(form.columns(table, header), index=key)
    if header.threshold:
        found.attrs["threshold"] = header.threshold.to_document()
    return found, form


def _type_name(kind: pa.DataType) -> str:
    """An Arrow type; of a list without the name of its elements, which differs between writers."""
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)
