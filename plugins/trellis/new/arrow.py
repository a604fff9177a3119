"""Columns of Parquet and Arrow files as the types that BigQuery and Trellis have."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trellis.new.described import DataError, Note

PANDAS_INDEX = "__index_level_"
"""Prefix of pandas' name for an index without one."""


def read(path: Path) -> tuple[Any, str]:
    """The table in a Parquet, Feather or Arrow file, and what it is. Raises DataError."""
    import pyarrow
    from pyarrow import feather, ipc, parquet

    try:
        start = path.open("rb").read(8)
        if start.startswith(b"PAR1"):
            # One file, whatever stands in its path: `year=2024/part.parquet` has no column `year`.
            return _parquet(path, parquet.ParquetFile(path)), "Parquet"
        if start.startswith((b"ARROW1", b"FEA1")):
            return feather.read_table(path), "Arrow"
        with pyarrow.OSFile(str(path)) as file:
            return ipc.open_stream(file).read_all(), "Arrow stream"
    except DataError:
        raise
    except (OSError, pyarrow.ArrowException, ValueError):
        raise DataError(
            f"{path} is no Parquet or Arrow file, or it is damaged: get or write it again"
        ) from None


def _parquet(path: Path, file: Any) -> Any:
    """All columns. Raises DataError with the one that pyarrow cannot read."""
    import pyarrow

    try:
        return file.read()
    except (OSError, pyarrow.ArrowException):
        for field in file.schema_arrow:
            try:
                file.read(columns=[field.name])
            except (OSError, pyarrow.ArrowException):
                raise DataError(
                    f"{path}: column '{field.name}': {_type(field.type)} that cannot be read, such "
                    "as lists of a fixed length of which some are missing: write lists of any "
                    "length, or leave the column out"
                ) from None
        raise


def plain(path: Path, table: Any) -> tuple[list[Any], list[Note]]:
    """The columns with types that BigQuery has, and notes of what changed.

    Raises DataError that names every column with values that Trellis does not read.
    """
    import pyarrow

    found, notes, problems = [], [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            values, how = _plain(column)
        except _UnreadableError as why:
            problems.append(f"column '{name}': {why}")
        except (pyarrow.ArrowException, OverflowError):
            problems.append(
                f"column '{name}': a value of {_type(column.type)} that BigQuery cannot hold"
            )
        else:
            found.append(values)
            notes += [Note("types", f"{name} ({how})")] if how else []
        if name.startswith(PANDAS_INDEX):
            notes.append(Note("pandas' index, which has no name", name))
    if problems:
        raise DataError("\n  ".join([f"{path} has columns that are no table's:", *problems]))
    return found, notes


class _UnreadableError(ValueError):
    """The message is the cause and the remedy."""


def _plain(column: Any) -> tuple[Any, str]:
    """The column in a type of BigQuery's, and what changed, for people."""
    import pyarrow

    types, type_ = pyarrow.types, column.type
    if isinstance(type_, pyarrow.BaseExtensionType):
        return _extension(column)
    if types.is_dictionary(type_):
        return _plain(column.cast(type_.value_type))
    if types.is_run_end_encoded(type_):
        return _plain(pyarrow.compute.run_end_decode(column))
    for fits, change in _CHANGES:
        if any(getattr(types, f"is_{kind}")(type_) for kind in fits):
            return change(column)
    if any(fits(type_) for fits in (types.is_string, types.is_boolean, types.is_date32)):
        return column, ""
    raise _UnreadableError(f"{_type(type_)}; leave it out of the file")


def _text(column: Any) -> tuple[Any, str]:
    import pyarrow

    return column.cast(pyarrow.string()), ""


def _whole(column: Any) -> tuple[Any, str]:
    import pyarrow

    try:
        return column.cast(pyarrow.int64()), ""
    except pyarrow.ArrowInvalid:
        return column.cast(pyarrow.string()), "whole numbers beyond 64 bits, kept as text"


def _real(column: Any) -> tuple[Any, str]:
    import pyarrow
    from pyarrow import compute

    column = column.cast(pyarrow.float64())
    nan = compute.is_nan(column)
    count = compute.sum(nan).as_py() or 0
    if not count:
        return column, ""
    return compute.if_else(nan, None, column), f"NaN in {count:,} rows is missing"


def _decimal(column: Any) -> tuple[Any, str]:
    import pyarrow

    if column.type.scale <= 0:
        try:
            return column.cast(pyarrow.int64()), ""
        except pyarrow.ArrowInvalid:
            return column.cast(pyarrow.string()), "whole numbers beyond 64 bits, kept as text"
    return column.cast(pyarrow.float64()), f"{column.type} is FLOAT64"


def _moment(column: Any) -> tuple[Any, str]:
    import pyarrow
    from pyarrow import compute

    zone = column.type.tz
    wanted = pyarrow.timestamp("us", "UTC" if zone else None)
    # Nanoseconds may be cut off; nothing else may.
    values = column.cast(wanted, safe=column.type.unit != "ns")
    years = compute.min_max(compute.year(values)).as_py()
    if years["min"] is not None and not 1 <= years["min"] <= years["max"] <= 9999:
        raise _UnreadableError("a moment outside of the years 1 to 9999; make it missing")
    how = [] if not zone or zone in ("UTC", "+00:00", "Etc/UTC") else [f"{zone} is stored as UTC"]
    if column.type.unit == "ns" and not values.cast(column.type).equals(column):
        how.append("nanoseconds are cut off")
    return values, ", ".join(how)


def _time(column: Any) -> tuple[Any, str]:
    import pyarrow

    values = column.cast(pyarrow.time64("us"), safe=False)
    exact = column.type.unit != "ns" or values.cast(column.type).equals(column)
    return values, "" if exact else "nanoseconds are cut off"


def _duration(column: Any) -> tuple[Any, str]:
    import pyarrow
    from pyarrow import compute

    units = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
    ticks = column.cast(pyarrow.int64()).cast(pyarrow.float64(), safe=False)
    return compute.divide(ticks, units), "duration, in seconds"


def _day(column: Any) -> tuple[Any, str]:
    import pyarrow

    return column.cast(pyarrow.date32()), ""


def _bytes(column: Any) -> tuple[Any, str]:
    import pyarrow

    try:
        return column.cast(pyarrow.string()), "binary, which is text in UTF-8"
    except pyarrow.ArrowInvalid:
        raise _UnreadableError(
            "binary; images belong in a folder of classes (`trellis new experiment FOLDER`), other "
            "content is left out of the file"
        ) from None


def _list(column: Any) -> tuple[Any, str]:
    """Numbers, of any length or one for all, as embeddings are."""
    import pyarrow

    types, element = pyarrow.types, column.type.value_type
    if any(getattr(types, f"is_{kind}")(element) for kind in ("list", *_LISTS)):
        raise _UnreadableError(
            "lists of lists; write one column for each inner list (several sequences), or one list "
            "of all numbers"
        )
    if types.is_string(element) or types.is_large_string(element) or types.is_dictionary(element):
        raise _UnreadableError(
            "lists of texts; join each with | between (the label of several classes), or write a "
            "column for each text"
        )
    whole = types.is_integer(element) or types.is_boolean(element)
    real = types.is_floating(element) or types.is_decimal(element)
    if not (whole or real or types.is_null(element)):  # of nulls where all lists are empty
        raise _UnreadableError(f"lists of {_type(element)}; only lists of numbers are read")
    holes = sum(array.flatten().null_count for array in column.chunks)
    number = pyarrow.int64() if whole and not holes else pyarrow.float64()
    if types.is_fixed_size_list(column.type):
        column = column.cast(pyarrow.list_(element))
    chunks = [_elements(array, number, holes > 0) for array in column.chunks]
    wanted = pyarrow.list_(pyarrow.field("item", number))
    how = ["a missing element is NaN"] if holes else []
    if column.null_count:
        how.append(f"no list in {column.null_count:,} rows, which BigQuery stores as an empty one")
    return pyarrow.chunked_array(chunks, wanted), ", ".join(how)


def _elements(array: Any, number: Any, holes: bool) -> Any:
    """The lists with elements of one type, and NaN instead of null among them."""
    import pyarrow
    from pyarrow import compute

    values = array.flatten()
    values = values.cast(pyarrow.uint8()) if pyarrow.types.is_boolean(values.type) else values
    values = values.cast(number)
    values = compute.fill_null(values, float("nan")) if holes else values
    lengths = compute.fill_null(compute.list_value_length(array), 0)
    ends = compute.cumulative_sum(lengths).to_numpy(zero_copy_only=False)
    offsets = pyarrow.array([0, *ends], pyarrow.int32())
    mask = compute.is_null(array)
    wanted = pyarrow.list_(pyarrow.field("item", number))
    return pyarrow.ListArray.from_arrays(offsets, values, mask=mask).cast(wanted)


def _extension(column: Any) -> tuple[Any, str]:
    """The values below a type that a program added to Arrow's."""
    import pyarrow

    name = column.type.extension_name
    if name == "arrow.uuid":
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pyarrow.chunked_array([pyarrow.array(texts, pyarrow.string())]), "UUID, as text"
    stored = [chunk.storage for chunk in column.chunks]
    values, how = _plain(pyarrow.chunked_array(stored, column.type.storage_type))
    return values, ", ".join(filter(None, [f"{name}, as it is stored", how]))


def _refuse(cause: str) -> Callable[[Any], tuple[Any, str]]:
    def refuse(column: Any) -> tuple[Any, str]:
        raise _UnreadableError(cause)

    return refuse


_LISTS = ("large_list", "fixed_size_list", "list_view", "large_list_view")

# Kinds of types, by pyarrow.types.is_KIND, and what becomes of them.
_CHANGES: Sequence[tuple[Sequence[str], Callable[[Any], tuple[Any, str]]]] = (
    (("null", "large_string", "string_view"), _text),
    (("integer",), _whole),
    (("floating",), _real),
    (("decimal",), _decimal),
    (("timestamp",), _moment),
    (("time",), _time),
    (("duration",), _duration),
    (("date64",), _day),
    (("binary", "large_binary", "fixed_size_binary", "binary_view"), _bytes),
    (("list", *_LISTS), _list),
    (
        ("struct",),
        _refuse(
            "a struct of several values; write a column for each, and images (Hugging Face's have "
            "bytes and path) into a folder of classes"
        ),
    ),
    (("map",), _refuse("a map; write a column for each of its keys")),
)


def _type(type_: Any) -> str:
    text = str(type_)
    return text if len(text) <= 60 else f"{text[:57]}..."
