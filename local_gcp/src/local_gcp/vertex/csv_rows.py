"""Rows of CSV files, a batch at a time.

A CSV has no types: all its columns are text, as Vertex AI reads them; an empty field is NULL.
Programs of jobs use this too, so it imports nothing that takes long.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from local_gcp.wire import failed_precondition

BATCH = 10_000
"""Rows that are in memory at a time, about."""


def csv_rows(files: Sequence[Path], field: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """(columns, rows) of CSV files. The first line of the first file is the header; the other
    files have the same or none.
    """
    header = _first_line(files[0])
    if not header or len(set(header)) < len(header) or not all(header):
        raise failed_precondition(
            f"{field}: the header of {files[0].name} has empty or repeated names: {header}."
        )
    schema = pa.schema([(name, pa.string()) for name in header])
    return schema, _csv_batches(files, header, schema, field)


def _csv_batches(
    files: Sequence[Path], header: list[str], schema: pa.Schema, field: str
) -> Iterator[pa.RecordBatch]:
    for file in files:
        skip = 1 if _first_line(file) == header else 0
        if file.stat().st_size == 0:
            continue
        try:
            yield from pyarrow.csv.open_csv(
                file,
                pyarrow.csv.ReadOptions(column_names=header, skip_rows=skip),
                pyarrow.csv.ParseOptions(newlines_in_values=True),
                pyarrow.csv.ConvertOptions(
                    column_types=schema, strings_can_be_null=True, null_values=[""]
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):  # a header alone
                raise failed_precondition(f"{field}: {file.name}: {error}") from None


def _first_line(file: Path) -> list[str]:
    with file.open(newline="", encoding="utf-8-sig") as lines:
        return next(csv.reader(lines), [])
