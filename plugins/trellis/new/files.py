"""A table in a file on this machine: read, and described as BigQuery will have it."""

import re
from pathlib import Path
from typing import Any

from trellis.new import arrow, delimited, kinds, names, values
from trellis.new.bigquery import FEW_VALUES
from trellis.new.described import (
    IMAGE_ADDRESS,
    Column,
    DataError,
    File,
    Reading,
    Rows,
    sampled,
)

_TYPES = {
    "int64": "INT64",
    "double": "FLOAT64",
    "bool": "BOOL",
    "string": "STRING",
    "date32[day]": "DATE",
    "time64[us]": "TIME",
    "timestamp[us]": "DATETIME",
    "timestamp[us, tz=UTC]": "TIMESTAMP",
    "list<item: int64>": "ARRAY<INT64>",
    "list<item: double>": "ARRAY<FLOAT64>",
}


def read(path: Path, reading: Reading | None = None) -> File:
    """The table in a file, with BigQuery's names and types. reading: options for what the file does
    not say.

    Whatever is left out, renamed or of another type than in the file has a note. Raises DataError.
    """
    import pyarrow

    kinds.check_name(path)
    if path.name.lower().endswith(kinds.ARROW):
        table, form = arrow.read(path)
        if not table.num_rows or not table.num_columns:
            raise DataError(f"{path} has no rows")
        headers, notes = list(table.column_names), []
        columns, more = arrow.plain(path, table)
    else:
        texts = delimited.read(path, reading or Reading())
        headers, form, notes = texts.names, texts.form, texts.notes
        columns, more = values.typed(texts, reading or Reading())
    found, renamed = names.of_columns(headers)
    own = dict(zip(found, headers, strict=True))
    return File(pyarrow.Table.from_arrays(columns, found), form, (*renamed, *notes, *more), own)


def describe(file: File, address: str) -> Rows:
    """The description of a file's table. address: what it is called in BigQuery."""
    table = file.table
    columns = tuple(
        _described(name, table.column(name), file.own_names.get(name))
        for name in table.column_names
    )
    flat = not any(column.type.startswith("ARRAY") for column in columns)
    differing = table.group_by(table.column_names).aggregate([]).num_rows if flat else None
    return Rows(address, table.num_rows, columns, table.nbytes, distinct=differing)


def classes(file: File, label: str, whole: bool = False) -> dict[str, int]:
    """Count the rows of each value of the label, the rarest first; without NULL. whole: the values
    are whole numbers stored as FLOAT64.
    """
    values_ = file.table.column(label).drop_null()
    values_ = values_.cast("int64") if whole else values_
    counts = values_.value_counts().to_pylist()
    found = sorted((each["counts"], _text(each["values"])) for each in counts)
    return {value: count for count, value in found}


def _described(name: str, values_: Any, own_name: str | None) -> Column:
    import pyarrow
    from pyarrow import compute

    type_ = _TYPES[str(values_.type)]
    if type_.startswith("ARRAY"):
        return Column(name, type_, values_.null_count, own_name=own_name)
    distinct = compute.count_distinct(values_).as_py()
    whole = counting = False
    nines = None
    if type_ in ("INT64", "FLOAT64") and distinct:
        present = values_.drop_null()
        whole = (
            type_ == "INT64" or compute.all(compute.equal(compute.trunc(present), present)).as_py()
        )
        ends = compute.min_max(present).as_py()
        numbered = ends["max"] - ends["min"] == len(values_) - 1 == distinct - 1
        counting = bool(whole and numbered and distinct > 1)
        nines = _nines(present, ends)
    texts: tuple[str, ...] = ()
    if type_ in ("STRING", "INT64", "BOOL") and distinct <= FEW_VALUES:
        unique = compute.cast(values_.unique().drop_null(), pyarrow.string())
        texts = tuple(sorted(unique.to_pylist()))
    return Column(
        name,
        type_,
        values_.null_count,
        distinct,
        whole and type_ == "FLOAT64",
        counting,
        own_name,
        texts,
        _addresses(values_) if type_ == "STRING" else (),
        nines,
    )


def _nines(numbers: Any, ends: dict[str, Any]) -> tuple[str, int] | None:
    """The least or greatest number, if nines alone write it, several rows have it, and it is
    further from the next than all others are from one another.
    """
    from pyarrow import compute

    for end in ends.values():
        if not re.fullmatch(r"-?9+(\.0)?", str(end)):
            continue
        others = numbers.filter(compute.not_equal(numbers, end))
        rows = len(numbers) - len(others)
        if rows < 2 or compute.count_distinct(others).as_py() < 3:
            continue
        low, high = compute.min_max(others).as_py().values()
        if min(abs(end - low), abs(end - high)) > high - low:
            return f"{end:g}", rows
    return None


def _addresses(texts: Any) -> tuple[str, ...]:
    """Some of the texts, if each is the address of an image."""
    from pyarrow import compute

    present = texts.drop_null().unique()
    found = compute.match_substring_regex(present, IMAGE_ADDRESS)
    if not len(present) or not compute.all(found).as_py():
        return ()
    return tuple(sampled(present).to_pylist())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
