"""The test split's rows as clients send them to trainer.serve. (Images' files: see `originals`.)

They come from the rows that BigQuery wrote, DATASET/source/rows-*.parquet (see
trellis_contracts.columns). An instance has the format of trainer.serve: each feature under
its name in the source, with the values

    numeric      a number; NUMERIC and BIGNUMERIC become doubles, as in the export
    boolean      true or false
    categorical  a string; for an INT64 column, its digits
    timestamp    "2024-02-29T12:00:00Z", with microseconds if there are any; a DATE is its
                 midnight, a DATETIME is read as UTC
    sequence     a list of numbers
    text         a string
    image        the address of its file, "gs://BUCKET/OBJECT"

NULL and NaN, which the export treats alike, are null. Does not import TensorFlow.
"""

import datetime
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trainer import storage
from trellis_contracts import layout
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
)
from trellis_contracts.withheld import RowsError, quoted

# Rows of all splits are read; those of other splits only occupy Arrow's memory.
_ROWS_AT_ONCE = 4096

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class RawExamplesError(RowsError, ValueError):
    """The raw examples of a dataset cannot be read; the message says which file and why."""


@dataclass(frozen=True)
class RawExample:
    """An example. label: the name of its class, the names of its classes as in trainer.label_sets,
    the value of a regression, or a time and the event there, 1 or 0.
    """

    key: str
    label: Any
    instance: Mapping[str, Any]


def of_test_split(
    directory: str,
    dataset: DatasetDescription,
    *,
    names: Mapping[str, str] | None = None,
    keys: Collection[str] | None = None,
) -> Iterator[RawExample]:
    """The rows of the dataset in `directory` (gs:// address or path), in the files' order.

    names: the features of an instance, by column of the dataset the name that it has there
    (default: all, as in the source). keys: only examples with these keys (default: all). Holds a
    few thousand rows in memory. Raises RawExamplesError.
    """
    kinds = {feature.column: feature.kind for feature in dataset.features}
    if names is None:
        names = {feature.column: feature.name for feature in dataset.features}
    wanted = {column: (kinds[column], name) for column, name in names.items()}
    return _rows(directory, wanted, keys, ["label", *dataset.entry.rows])


def time_text(microseconds: int) -> str:
    """Microseconds since 1970 UTC as RFC 3339 text."""
    time = _EPOCH + datetime.timedelta(microseconds=microseconds)
    return time.isoformat().replace("+00:00", "Z")


def _rows(
    directory: str,
    wanted: Mapping[str, tuple[str, str]],
    keys: Collection[str] | None,
    label: Sequence[str],
) -> Iterator[RawExample]:
    """wanted: kind of each requested column, and its name in an instance. label: its columns."""
    for path in files(directory):
        try:
            yield from _rows_of(path, wanted, keys, label)
        except (pa.ArrowException, OSError) as error:
            why = quoted(str(error), type(error).__name__)
            raise RawExamplesError(f"{path} cannot be read: {why}") from error


def files(directory: str) -> list[Path]:
    """The files of the rows of the dataset in `directory`. Raises RawExamplesError if there are
    none.
    """
    folder = storage.local_path(layout.source(directory))
    if found := sorted(folder.glob(layout.ROWS)):
        return found
    raise RawExamplesError(
        f"there is no {layout.ROWS} in {layout.source(directory)}: the dataset's raw rows have "
        "been deleted; export the snapshot again"
    )


def _rows_of(
    path: Path,
    wanted: Mapping[str, tuple[str, str]],
    keys: Collection[str] | None,
    label: Sequence[str],
) -> Iterator[RawExample]:
    file = pq.ParquetFile(path)
    columns = ["key", "split", *label, *wanted]
    if missing := sorted(set(columns) - set(file.schema_arrow.names)):
        raise RawExamplesError(f"{path} has no column {', '.join(missing)}")
    names = [name for _, name in wanted.values()]
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
        among = pc.equal(batch.column("split").cast(pa.string()), "test")
        if keys is not None:
            known = pc.is_in(batch.column("key").cast(pa.string()), pa.array(keys, pa.string()))
            among = pc.and_(among, known)
        rows = batch.filter(among)
        values = [_READERS[kind](rows.column(column)) for column, (kind, _) in wanted.items()]
        found = [rows.column(name).to_pylist() for name in label]
        labels = found[0] if len(found) == 1 else zip(*found, strict=True)
        keys_of = rows.column("key").to_pylist()
        for key, of_row, *row in zip(keys_of, labels, *values, strict=True):
            yield RawExample(key, of_row, dict(zip(names, row, strict=True)))


def _numbers(array: pa.Array) -> list[float | None]:
    return [_known(number) for number in array.cast(pa.float64(), safe=False).to_pylist()]


def _times(array: pa.Array) -> list[str | None]:
    # As in the export: text (of a DATETIME) is parsed, nanoseconds are truncated.
    micros = array.cast(pa.timestamp("us", tz=getattr(array.type, "tz", None)), safe=False)
    return [
        None if time is None else time_text(time) for time in micros.cast(pa.int64()).to_pylist()
    ]


def _texts(array: pa.Array) -> list[str | None]:
    return array.cast(pa.large_string()).to_pylist()


def _sequences(array: pa.Array) -> list[list[float | None] | None]:
    return [
        None if elements is None else [_known(element) for element in elements]
        for elements in array.to_pylist()
    ]


def _known(number: float | None) -> float | None:
    return None if number is None or math.isnan(number) else number


_READERS: Mapping[str, Callable[[pa.Array], list]] = {
    NUMERIC: _numbers,
    BOOLEAN: pa.Array.to_pylist,
    CATEGORICAL: _texts,
    TIMESTAMP: _times,
    SEQUENCE: _sequences,
    TEXT: _texts,
    IMAGE: _texts,
}
