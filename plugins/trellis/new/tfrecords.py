"""TFRecords of tf.train.Example as a table: a row for each record, a column for each feature."""

import contextlib
import gzip
import hashlib
import io
import re
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from trellis.new import signs
from trellis.new.described import DataError, Note, Pictures, and_more
from trellis.new.shapes import suffix_of
from trellis.workflow.spec.problems import did_you_mean
from trellis_contracts.records import begins, parse, payloads

SPLIT = "split"
"""The column of the split that the files' names say."""

_KINDS = {"bytes_list": "bytes", "float_list": "floats", "int64_list": "whole numbers"}
_NUMBERS = {"float_list": "f", "int64_list": "q"}
_OTHERS = "leave the feature out by naming the others, --feature NAME for each"


@dataclass
class _Feature:
    """Values of a feature in the records so far, one after the other.

    since: where it was first seen. kind: the field of tf.train.Feature; "" as long as no record has
    one. lengths: number of values in each record. values: numbers, texts, or addresses of images.
    images: whether the values are images; None as long as all are empty.
    """

    name: str
    since: str
    kind: str = ""
    lengths: array = field(default_factory=partial(array, "q"))
    values: Any = field(default_factory=list)
    images: bool | None = None


def read(
    paths: Sequence[Path], wanted: Sequence[str], folder: str
) -> tuple[Any, list[Note], Pictures | None]:
    """The records of files as a pyarrow.Table, notes, and the images that the records hold, whose
    addresses the table has.

    wanted: features to read; () for all that any record has. folder: gs://... where the images will
    be. Raises DataError with file and record, counted from 1.
    """
    features: dict[str, _Feature] = {}
    others: set[str] = set()
    counts = dict.fromkeys(paths, 0)
    rows = 0
    for path in paths:
        for number, found in _records(path):
            for name in sorted(found):  # a map has no order of its own
                if wanted and name not in wanted:
                    others.add(name)
                    continue
                place = f"{path}, record {number:,}"
                feature = features.setdefault(name, _Feature(name, place))
                feature.lengths.extend([0] * (rows - len(feature.lengths)))
                _add(feature, found[name], place, folder)
            rows, counts[path] = rows + 1, number
    if not rows:
        raise DataError(f"{and_more(paths)}: there is no record")
    for name in wanted:
        if name not in features:
            hint = did_you_mean(name, [*features, *others])
            raise DataError(f"no record has a feature '{name}' (--feature); {hint}")
    columns = {name: _column(features[name], rows) for name in sorted(features)}
    notes = [Note("features left out", name) for name in sorted(others)]
    notes += [Note("files without a record", str(path)) for path in paths if not counts[path]]
    if SPLIT not in columns and (splits := _splits(counts)) is not None:
        columns[SPLIT] = splits
        notes.append(Note("the files' splits are kept", f"in the column {SPLIT}"))
    of_images = [feature for feature in features.values() if feature.images]
    for feature in of_images:
        count = len(set(filter(None, feature.values)))
        notes.append(Note("images", f"{feature.name}: {count:,} files for {folder}"))
    import pyarrow

    pictures = Pictures(folder, partial(_images, paths, [f.name for f in of_images], folder))
    return pyarrow.table(columns), notes, pictures if of_images else None


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The number of each record, from 1, and its features by name. Raises DataError."""
    number = 1
    try:
        with _opened(path) as file:
            for _, payload in payloads(file):
                yield number, _features(payload)
                number += 1
    except OSError as error:
        why = error.strerror or f"the file is damaged ({error})"  # gzip's own error has no strerror
        raise DataError(f"{path}, record {number:,}: {why}") from None
    except (ValueError, EOFError, zlib.error) as error:
        raise DataError(f"{path}, record {number:,}: {error}") from None


def _features(payload: bytes) -> Mapping[str, Any]:
    example = parse(payload)
    if example.feature_lists:
        raise ValueError(
            "a tf.train.SequenceExample, which is not read: write its feature lists as features of "
            "a tf.train.Example, each a list of numbers"
        )
    features: Mapping[str, Any] = example.features.feature
    if not features:
        raise ValueError("no tf.train.Example, or one without a feature")
    return features


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file's records, unpacked. A plain file may begin as a packed one does: with the length of
    its first record.
    """
    with path.open("rb") as file:
        start = file.read(12)
        file.seek(0)
        if not begins(start) and start.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc]
        elif not begins(start) and start.startswith(b"\x78"):
            with io.BufferedReader(_Inflated(file)) as unpacked:
                yield unpacked
        else:
            yield file


class _Inflated(io.RawIOBase):
    """A zlib stream, unpacked as it is read."""

    def __init__(self, file: BinaryIO):
        self._file, self._stream, self._place = file, zlib.decompressobj(), 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and not self._stream.eof:
            packed = self._stream.unconsumed_tail or self._file.read(io.DEFAULT_BUFFER_SIZE)
            if not packed:
                raise zlib.error("the file is truncated")
            data = self._stream.decompress(packed, len(buffer))
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


def _add(feature: _Feature, value: Any, place: str, folder: str) -> None:
    """Add a record's values to those of the feature. value: a tf.train.Feature."""
    kind = next((name for name in _KINDS if value.HasField(name)), "")
    if kind and not feature.kind:
        feature.kind, feature.since = kind, place
        feature.values = array(_NUMBERS[kind]) if kind in _NUMBERS else []
    if kind not in ("", feature.kind):
        raise DataError(
            f"{place}: feature '{feature.name}' has {_KINDS[kind]}, and {_KINDS[feature.kind]} in "
            f"{feature.since}; {_OTHERS}"
        )
    values = getattr(value, kind).value if kind else ()
    feature.lengths.append(len(values))
    if kind in _NUMBERS:
        feature.values.extend(values)
        return
    if len(values) > 1:
        raise DataError(
            f"{place}: feature '{feature.name}' has {len(values):,} texts or images, and a row has "
            f"one of each; {_OTHERS}"
        )
    feature.values += (_of_bytes(feature, data, place, folder) for data in values)


def _of_bytes(feature: _Feature, data: bytes, place: str, folder: str) -> str:
    """The text, or the address of the image."""
    if not data:
        return ""
    text = _text(data)
    suffix = suffix_of(data)
    # An image has bytes that no text has: `BM` alone begins many a word.
    image = suffix is not None and (text is None or "\0" in text)
    if not image and text is None:
        raise DataError(
            f"{place}: feature '{feature.name}' has {len(data):,} bytes that are no text in UTF-8 "
            f"and no PNG, JPEG, TIFF, GIF, BMP or WebP image, as of a raw array; {_OTHERS}"
        )
    if feature.images is None:
        feature.images, feature.since = image, place
    if feature.images is not image:
        found, before = ("an image", "a text") if image else ("a text", "an image")
        raise DataError(
            f"{place}: feature '{feature.name}' is {found}, and {before} in {feature.since}; "
            f"{_OTHERS}"
        )
    if not image:
        return str(text)
    # Named by its content: whoever uploads the records again writes the same files.
    return f"{folder}/{_plain(feature.name)}/{hashlib.sha256(data).hexdigest()[:32]}{suffix}"


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _plain(name: str) -> str:
    """The name as a folder in Cloud Storage."""
    return re.sub(r"[^A-Za-z0-9-]+", "_", name).strip("_") or "images"


def _column(feature: _Feature, rows: int) -> Any:
    """The feature's values as a pyarrow array: one in each row, or none; else lists."""
    import pyarrow
    from pyarrow import compute

    feature.lengths.extend([0] * (rows - len(feature.lengths)))
    lengths = _array(feature.lengths)
    ends = compute.cumulative_sum(lengths)
    if not feature.kind:
        return pyarrow.nulls(rows)
    if feature.kind in _NUMBERS:
        values = _array(feature.values)
    else:
        empty = "" if not feature.images else None
        texts = [text or empty for text in feature.values]
        values = pyarrow.array(texts, pyarrow.string())
    there = compute.greater(lengths, 0)
    if max(feature.lengths) <= 1:
        return values.take(compute.if_else(there, compute.subtract(ends, 1), None))
    offsets = pyarrow.concat_arrays([pyarrow.array([0]), ends])
    return pyarrow.LargeListArray.from_arrays(offsets, values, mask=compute.invert(there))


def _array(numbers: array) -> Any:
    """Numbers as a pyarrow array, without a copy."""
    import pyarrow

    type_ = {"q": pyarrow.int64(), "f": pyarrow.float32()}[numbers.typecode]
    return pyarrow.Array.from_buffers(type_, len(numbers), [None, pyarrow.py_buffer(numbers)])


def _splits(counts: Mapping[Path, int]) -> Any:
    """The split of each row, as the files' names say it; None if they do not. counts: rows of each
    file.
    """
    import pyarrow

    found = [(_split(path), count) for path, count in counts.items() if count]
    if len({split for split, _ in found}) < 2 or None in dict(found):
        return None
    return pyarrow.array([split for split, count in found for _ in range(count)])


def _split(path: Path) -> str | None:
    """The one split that a word of the file's name says, as of `cells-train-00000-of-00008`."""
    words = re.split(r"[^A-Za-z]+", path.name)
    said = {split for word in words if (split := signs.split_of(word))}
    return said.pop() if len(said) == 1 else None


def _images(paths: Sequence[Path], names: Sequence[str], folder: str) -> Iterator[tuple[str, Any]]:
    """The address of each image, once, and what reads it. Reads the records again: all images may
    be more than the memory holds.
    """
    seen = set()
    for path in paths:
        for number, found in _records(path):
            for name in names:
                for data in found[name].bytes_list.value if name in found else ():
                    place = f"{path}, record {number:,}"
                    address = _of_bytes(_Feature(name, place), data, place, folder)
                    if data and address not in seen:
                        seen.add(address)
                        yield address, partial(bytes, data)
