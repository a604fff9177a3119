"""A table in a file on this machine: read, and described as BigQuery will have it."""

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trellis.new import arrow, delimited, kinds, names, tfrecords, values
from trellis.new.bigquery import FEW_VALUES
from trellis.new.described import (
    IMAGE_ADDRESS,
    Column,
    DataError,
    File,
    Note,
    Reading,
    Rows,
    and_more,
    sampled,
)
from trellis.workflow.labels.number import TOO_LARGE


def read(paths: Path | Sequence[Path], reading: Reading | None = None, folder: str = "") -> File:
    """The table in a file, or in several, with BigQuery's names and types.

    reading: options for what the files do not say. folder: gs://... for the images that TFRecords
    hold. Whatever is left out, renamed or of another type than in the file has a note. Raises
    DataError.
    """
    import pyarrow

    paths, reading = [paths] if isinstance(paths, Path) else paths, reading or Reading()
    _check_together(paths)
    path, pictures = paths[0], None
    notes: list[Note] = []
    if kinds.is_records(path):
        form = "TFRecords"
        table, notes, pictures = tfrecords.read(paths, reading.features, folder)
        headers = list(table.column_names)
        columns, more = arrow.plain(path, table)
    elif path.name.lower().endswith(kinds.ARROW):
        table, form = _of_all(paths)
        headers = list(table.column_names)
        columns, more = arrow.plain(path, table)
    else:
        texts = delimited.read(path, reading)
        headers, form, notes = texts.names, texts.form, texts.notes
        called, _ = names.of_columns(headers)
        kept = [n for n, name in enumerate(called) if reading.types.get(name.lower()) == "STRING"]
        columns, more = values.typed(texts, reading, kept)
    found, renamed = names.of_columns(headers)
    own = dict(zip(found, headers, strict=True))
    table = pyarrow.Table.from_arrays(columns, found)
    return File(table, form, (*renamed, *notes, *more), own, pictures)


def _check_together(paths: Sequence[Path]) -> None:
    """Raises DataError unless each file is there, once, and all are one table."""
    seen: dict[Path, Path] = {}
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path} is no file here")
        kinds.check_name(path)
        if (before := seen.setdefault(path.resolve(), path)) is not path:
            raise DataError(f"{path} is named twice, also as {before}: its rows would be doubled")
    if len(paths) == 1:
        return
    forms = {_form(path): path for path in paths}
    if len(forms) > 1:
        named = ", ".join(map(str, forms.values()))
        raise DataError(f"files of several kinds, as {named}: name those of one")
    if "text" in forms:
        raise DataError(
            f"{and_more(paths)} are texts, and types of texts are found file by file: upload "
            "one of them, then each other one with --append"
        )


def _form(path: Path) -> str:
    if kinds.is_records(path):
        return "TFRecords"
    return "Arrow" if path.name.lower().endswith(kinds.ARROW) else "text"


def _of_all(paths: Sequence[Path]) -> tuple[Any, str]:
    """The rows of Parquet or Arrow files in one table, and what the first is. Raises DataError for
    a file without rows, or with other columns.
    """
    import pyarrow

    tables: list[Any] = []
    for path in paths:
        table, form = arrow.read(path)
        if not table.num_rows or not table.num_columns:
            raise DataError(f"{path} has no rows")
        if tables and not table.schema.equals(tables[0].schema):
            own, first = ({f.name: str(f.type) for f in t.schema} for t in (table, tables[0]))
            different = [
                f"'{name}' is {own.get(name, 'not there')}, not {first.get(name, 'there')}"
                for name in {**first, **own}
                if own.get(name) != first.get(name)
            ]
            why = "; ".join(different) or "their order differs"
            raise DataError(f"{path} has other columns than {paths[0]}: {why}")
        tables.append(table)
    return pyarrow.concat_tables(tables), form


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


def arrow_type(type_: str) -> Any:
    """pyarrow's type of the columns of a File's table that BigQuery has as `type_`; None if there
    are no such columns.
    """
    return _types().get(type_)


def type_of(column: Any) -> str:
    """The type that BigQuery gives to a column of a File's table."""
    return next(type_ for type_, arrow_ in _types().items() if arrow_ == column.type)


@functools.cache
def _types() -> dict[str, Any]:
    import pyarrow

    return {
        "INT64": pyarrow.int64(),
        "FLOAT64": pyarrow.float64(),
        "BOOL": pyarrow.bool_(),
        "STRING": pyarrow.string(),
        "DATE": pyarrow.date32(),
        "TIME": pyarrow.time64("us"),
        "DATETIME": pyarrow.timestamp("us"),
        "TIMESTAMP": pyarrow.timestamp("us", "UTC"),
        "ARRAY<INT64>": pyarrow.list_(pyarrow.int64()),
        "ARRAY<FLOAT64>": pyarrow.list_(pyarrow.float64()),
    }


def _described(name: str, values_: Any, own_name: str | None) -> Column:
    import pyarrow
    from pyarrow import compute

    type_ = type_of(values_)
    if type_.startswith("ARRAY"):
        return Column(name, type_, values_.null_count, own_name=own_name)
    distinct = compute.count_distinct(values_).as_py()
    whole = counting = False
    nines, infinite = None, 0
    if type_ in ("INT64", "FLOAT64") and distinct:
        present = values_.drop_null()
        whole = (
            type_ == "INT64" or compute.all(compute.equal(compute.trunc(present), present)).as_py()
        )
        ends = compute.min_max(present).as_py()
        numbered = ends["max"] - ends["min"] == len(values_) - 1 == distinct - 1
        counting = bool(whole and numbered and distinct > 1)
        nines = _nines(present, ends)
        if type_ == "FLOAT64":
            large = compute.greater_equal(compute.abs(present), TOO_LARGE)
            infinite = compute.sum(large).as_py()
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
        infinite,
        _words(values_) if type_ == "STRING" and distinct else 0.0,
    )


def _words(texts: Any) -> float:
    from pyarrow import compute

    return 1.0 + compute.mean(compute.count_substring(texts, " ")).as_py()


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
    return tuple(address.as_py() for address in sampled(present))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
