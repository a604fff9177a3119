"""Rows of a table through a model of tables: in batches, from Parquet, CSV or JSON lines."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from local_gcp.vertex.automl.features import DataError
from local_gcp.vertex.automl.inputs import CLASSIFICATION
from local_gcp.vertex.automl.model import TabularModel
from local_gcp.vertex.batch_prediction import files
from local_gcp.vertex.csv_rows import BATCH, csv_rows

PREDICTIONS, ERRORS = "predictions.parquet", "errors.parquet"
_STATUS = pa.struct({"code": pa.int64(), "message": pa.string()})


def predict(model: TabularModel, config: dict[str, Any], work: Path) -> files.Counts:
    """Write the predictions of all rows into `work`; DataError when the table does not fit."""
    counts = files.Counts()
    sink: Any = None
    with contextlib.ExitStack() as stack:
        for table in _tables(config["input"], model, counts):
            missing = [name for name in model.features.columns if name not in table.column_names]
            if missing:
                raise DataError(f"The instances have no column {', '.join(missing)}.")
            sink = sink or stack.enter_context(
                _SINKS[config["output"]["format"]](work, table, model)
            )
            predictions, problems = model.predict(table)
            counts.successful += problems.count(None)
            sink.write(table, predictions, problems, counts)
    if sink is None:
        raise DataError("There are no instances.")
    return counts


class _Lines:
    """Rows as JSON lines."""

    def __init__(self, work: Path, _table: pa.Table, _model: TabularModel):
        self._file = files.JsonLines(work, "jsonl")

    def write(self, table: pa.Table, predictions: Any, problems: Any, counts: Any) -> None:
        rows = (files.jsonable(row) for row in table.to_pylist())
        for row, prediction, problem in zip(rows, predictions, problems, strict=True):
            who = {"instance": row}
            if problem is None:
                self._file.add(who, prediction)
            else:
                self._file.fail(who, counts.fail(files.INVALID_ARGUMENT, problem))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()


class _Csv(_Lines):
    """Rows as CSV, in another order than the input's, as from Vertex AI: TARGET_CLASS_score
    columns, or predicted_TARGET.
    """

    def __init__(self, work: Path, table: pa.Table, model: TabularModel):
        self._scores = model.kind == CLASSIFICATION
        columns = [f"predicted_{model.target}"]
        if self._scores:
            columns = [f"{model.target}_{name}_score" for name in model.classes]
        self._file = files.Csv(work, table.column_names, columns)

    def write(self, table: pa.Table, predictions: Any, problems: Any, counts: Any) -> None:
        rows = list(zip(table.to_pylist(), predictions, problems, strict=True))
        random.Random(len(rows)).shuffle(rows)
        for row, prediction, problem in rows:
            if problem is not None:
                self._file.fail(row, counts.fail(files.INVALID_ARGUMENT, problem))
            elif self._scores:
                self._file.add(row, prediction["scores"])
            else:
                self._file.add(row, [prediction["value"]])


class _Parquet:
    """Rows as Parquet files, which the server makes tables of: a column predicted_TARGET, or
    errors_TARGET.
    """

    def __init__(self, work: Path, table: pa.Table, model: TabularModel):
        self._model = model
        field, _ = model.column([])
        if field.name in table.column_names:
            raise DataError(f"The instances have a column {field.name} already.")
        self._error = pa.field(f"errors_{model.target}", _STATUS)
        self._good = pq.ParquetWriter(work / PREDICTIONS, table.schema.append(field))
        self._bad = pq.ParquetWriter(work / ERRORS, table.schema.append(self._error))

    def write(self, table: pa.Table, predictions: Any, problems: Any, counts: Any) -> None:
        fine = pa.array([problem is None for problem in problems], pa.bool_())
        kept = [p for p, problem in zip(predictions, problems, strict=True) if problem is None]
        self._good.write_table(table.filter(fine).append_column(*self._model.column(kept)))
        failed = [counts.fail(files.INVALID_ARGUMENT, p) for p in problems if p is not None]
        bad = [problem is not None for problem in problems]
        rest = table.filter(pa.array(bad, pa.bool_()))
        self._bad.write_table(rest.append_column(self._error, pa.array(failed, _STATUS)))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self._good.close()
        self._bad.close()


_SINKS = {"jsonl": _Lines, "csv": _Csv, "bigquery": _Parquet}


def _tables(source: dict[str, Any], model: TabularModel, counts: Any) -> Iterator[pa.Table]:
    paths = [Path(path) for path in source["files"]]
    if source["format"] == "bigquery":
        (path,) = paths
        with pq.ParquetFile(path) as rows:
            # Not iter_batches: it keeps what it has read of the file.
            yield from map(rows.read_row_group, range(rows.num_row_groups))
            if not rows.metadata.num_rows:
                yield rows.schema_arrow.empty_table()
    elif source["format"] == "csv":
        schema, batches = csv_rows(paths, "instances")
        yield schema.empty_table()  # so that there is a header for no rows, too
        for batch in batches:
            yield pa.Table.from_batches([batch])
    else:
        yield from _json_tables(paths, model)


def _json_tables(paths: list[Path], model: TabularModel) -> Iterator[pa.Table]:
    """JSON lines; the columns are those of the first batch, and the model's."""
    schema: pa.Schema | None = None
    lines = (line for path in paths for line in path.open(encoding="utf-8") if line.strip())
    while chunk := list(itertools.islice(lines, BATCH)):
        try:
            rows = [json.loads(line) for line in chunk]
            table = pa.Table.from_pylist(rows, schema)
        except (ValueError, AttributeError, TypeError, pa.ArrowException) as error:
            raise DataError(f"The instances are not JSON objects of one kind: {error}") from None
        if schema is None:
            # A column that is null throughout has no type yet.
            kinds = [
                (f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in table.schema
            ]
            schema = pa.schema(kinds)
            table = table.cast(schema)
        yield table
