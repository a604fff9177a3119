"""Parses the manifest of images, Vertex AI's import CSV, without opening an image.

    [ML_USE,]gs://BUCKET/OBJECT,label        UTF-8, no header line, quotes around fields with commas
    gs://BUCKET/OBJECT,label,group           where groups of images, as a patient's, stay together
    gs://BUCKET/OBJECT,label,2024-03-01      where days decide the split, or moments; UTC if no
                                             offset says otherwise
    gs://BUCKET/OBJECT,label,label           of a multi-label task: any number of labels, also none

A label is the name of a class or, of a regression, a number with a decimal point.

ML_USE is the example's split: training (or train), validation or test, in upper or lower case;
unassigned is as none. It is given on every line or on none: if only some lines had it, Vertex AI
would split the rest at random, differently each time. An image's key is its object name (the
address without gs://BUCKET/), with its bucket before it (BUCKET/OBJECT) where the lines name
several buckets: sites of a study number their files alike.

A problem with the whole file raises ExportError. A problem with one line (no label, several labels,
a label that is no number, a field that is no day, a repeated image) makes it a Rejection.

A manifest on the local disk may name images by paths relative to its folder; such a path is the
key.
"""

import csv
import hashlib
import io
import json
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import NamedTuple

import numpy as np

from trainer.exporting import ExportError
from trellis_contracts.dataset import CLASSIFICATION
from trellis_contracts.dataset_features import IMAGE_ADDRESS
from trellis_contracts.tasks import MULTILABEL, REGRESSION
from trellis_contracts.withheld import quoted

# Vertex AI's words, and those of AutoML Vision, which public manifests have. UNASSIGNED is none.
# The Airflow side has the same (plugins/trellis/workflow/lookups/image_manifest.py).
_ML_USES = {
    "training": "train",
    "train": "train",
    "validation": "validation",
    "test": "test",
    "unassigned": "",
}

_GS_IMAGE = re.compile(IMAGE_ADDRESS)
_RELATIVE_IMAGE = re.compile(r"(?!/)(?!.*://).*\.\w{2,5}", re.DOTALL)
_LARGEST = float(np.finfo(np.float32).max)
# Not all that Python takes: 1_000 and nan are no values to learn.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Row(NamedTuple):
    """One line that may become an example. label: as one text. split, group: None unless the
    manifest names them. value: the label as the number that it is, None of a class. labels: the
    names in `label`, sorted.
    """

    line: int
    uri: str
    key: str
    label: str
    split: str | None
    group: str | None = None
    value: float | None = None
    labels: tuple[str, ...] = ()


class Rejection(NamedTuple):
    """One manifest line without an example: a line of rejected.jsonl. label may be ""."""

    line: int
    uri: str
    label: str
    reason: str

    def to_json(self) -> str:
        """One line of JSON, without the line break."""
        return json.dumps(self._asdict(), ensure_ascii=False)


@dataclass(frozen=True)
class Manifest:
    """A valid manifest.

    rows: one for each distinct key, in the order of the lines. rejected: the other lines. lines:
    number of lines that are not blank. names_splits: whether the rows have splits, by ML_USE or by
    days. sha256: of the file's bytes, in hexadecimal.
    """

    rows: tuple[Row, ...]
    rejected: tuple[Rejection, ...]
    lines: int
    names_splits: bool
    sha256: str


def parse(
    content: bytes,
    address: str,
    split_by: str | None = None,
    task: str = CLASSIFICATION,
    days: tuple[date, date] | None = None,
) -> Manifest:
    """Parse the manifest read from `address`. Raises ExportError if the whole file is wrong.

    split_by: what the last field is, a group that stays together, or a day; None: there is none.
    task: one of trellis_contracts.dataset.FAMILIES. days: the first ones of validation and test.
    """
    try:
        lines = _split_fields(content)
        _refuse_lines_without_image(lines, _resolver(address))
        _tell_buckets_apart(lines)
        names_splits = _check_ml_use(lines)
        if split_by is not None:
            _take_last(lines, split_by, names_splits, task)
        _refuse_missing_labels(lines)
    except ExportError as error:
        raise ExportError(f"{address}: {error.text}") from error
    rows, rejected = _reject_unusable_labels(lines, names_splits, split_by, task)
    if days is not None:
        rows, others = _take_days(rows, split_by or "", days)
        rejected += others
    if task == REGRESSION:
        rows, others = _take_values(rows)
        rejected += others
    rows, repeated = _reject_repeated_keys(rows)
    return Manifest(
        rows=tuple(rows),
        rejected=tuple(sorted(rejected + repeated)),
        lines=len(lines),
        names_splits=names_splits or days is not None,
        sha256=hashlib.sha256(content).hexdigest(),
    )


@dataclass(slots=True)
class _Line:
    """A line taken apart: its fields, and the image once it is found among them."""

    number: int
    fields: list[str]
    ml_use: str = ""  # as it stands, then the split that it names
    uri: str = ""
    key: str = ""
    after: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    group: str | None = None


def _split_fields(content: bytes) -> list[_Line]:
    """The lines that are not blank. Raises ExportError if there are none, or the text is no CSV."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExportError(f"not UTF-8 at byte {error.start}; save the file as UTF-8") from error
    if text.startswith("{"):
        raise ExportError(
            "this looks like JSON Lines; the manifest is CSV: gs://BUCKET/OBJECT,label"
        )
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    lines, number = [], 1
    try:
        for record in reader:
            fields = [field.strip() for field in record]
            if any(fields):
                lines.append(_Line(number, fields))
            number = reader.line_num + 1  # a quoted field may hold line breaks
    except csv.Error as error:
        raise ExportError(f"line {number} is not CSV: {error}") from error
    if not lines:
        raise ExportError("the manifest is empty; expected lines of gs://BUCKET/OBJECT,label")
    return lines


def _resolver(address: str) -> Callable[[str], tuple[str, str] | None]:
    """A function from an image's field to its (address, key), or None if it names no image."""
    folder = None if "://" in address else posixpath.dirname(address)

    def resolve(field: str) -> tuple[str, str] | None:
        if match := _GS_IMAGE.fullmatch(field):
            return field, match["key"]
        if folder is not None and _RELATIVE_IMAGE.fullmatch(field) and ".." not in field.split("/"):
            return posixpath.join(folder, field), field
        return None

    return resolve


def _refuse_lines_without_image(
    lines: list[_Line], resolve: Callable[[str], tuple[str, str] | None]
) -> None:
    """Find each line's image, in its first field or, after ML_USE, in its second."""
    without = []
    for line in lines:
        for position, field in enumerate(line.fields[:2]):
            if found := resolve(field):
                line.uri, line.key = found
                line.ml_use = line.fields[0] if position else ""
                line.after = tuple(line.fields[position + 1 :])
                line.labels = tuple(filter(None, line.after))
                break
        else:
            without.append(line)
    if not without:
        return
    if without == lines[:1] and len(lines) > 1:
        header = quoted(f" ({','.join(lines[0].fields)!r})", "")
        raise ExportError(
            f"line {lines[0].number} looks like a header{header}; the format has none: remove that "
            "line"
        )
    raise ExportError(
        f"{len(without)} of {len(lines)} lines name no image as gs://BUCKET/OBJECT: "
        f"{_quote(without)}"
    )


def _tell_buckets_apart(lines: list[_Line]) -> None:
    """Put the bucket before each key if there are several: object names are unique in one only.

    Files beside the manifest count as another bucket. Raises ExportError if a key is still that of
    two images.
    """
    remote = [line for line in lines if "://" in line.uri]
    places = {line.uri.split("/", 3)[2] for line in remote}
    if len(places) + (len(remote) < len(lines)) < 2:
        return
    for line in remote:
        line.key = line.uri.removeprefix("gs://")
    first: dict[str, _Line] = {}
    for line in lines:
        other = first.setdefault(line.key, line)
        if other.uri != line.uri:
            raise ExportError(
                f"{quoted(f'{other.uri} and {line.uri}', 'two images')} (lines {other.number} and "
                f"{line.number}) have one key{quoted(f', {line.key!r}', '')}; rename one of the two"
            )


def _check_ml_use(lines: list[_Line]) -> bool:
    """Return whether the lines have ML_USE, each then as the split that it names.

    Raises ExportError if a value is unknown or only some lines have one.
    """
    unknown = [line for line in lines if line.ml_use and line.ml_use.lower() not in _ML_USES]
    if unknown:
        raise ExportError(
            f"unknown ML_USE on {len(unknown)} lines: {_quote(unknown)}; "
            f"it is one of {', '.join(_ML_USES)}"
        )
    for line in lines:
        line.ml_use = _ML_USES.get(line.ml_use.lower(), "")
    naming = [line for line in lines if line.ml_use]
    silent = [line for line in lines if not line.ml_use]
    if naming and silent:
        raise ExportError(
            f"ML_USE is given on {len(naming)} of {len(lines)} lines (on line {naming[0].number}, "
            f"not on line {silent[0].number}); give it on every line or on none"
        )
    return bool(naming)


def _take_last(lines: list[_Line], split_by: str, names_splits: bool, task: str) -> None:
    """Take the second field after each image, of a multi-label task the last, as what decides.

    Raises ExportError if none has one.
    """
    if names_splits:
        raise ExportError(
            f"the lines name splits (ML_USE), and the file's split ({split_by}) decides them too: "
            "leave one of the two out"
        )
    for line in lines:
        if task == MULTILABEL:
            *others, group = line.after or ("",)
            label = ""
        else:
            label, group, *others = (*line.after, "", "")
        line.labels = tuple(filter(None, (label, *others)))
        line.group = group or None
    if not any(line.group for line in lines):
        raise ExportError(
            f"none of {len(lines)} lines has a field ({split_by}) after its label; expected "
            f"gs://BUCKET/OBJECT,label,{split_by}"
        )


def _refuse_missing_labels(lines: list[_Line]) -> None:
    if not any(line.labels for line in lines):
        raise ExportError(
            f"the label column is missing: none of {len(lines)} lines has a field after the image; "
            "expected gs://BUCKET/OBJECT,label"
        )


def _quote(lines: list[_Line]) -> str:
    """The first of these lines, for a message: line 3 'a.png,cat', line 7 ..."""
    first, more = lines[:3], ", ..." * (len(lines) > 3)
    whole = ", ".join(f"line {line.number} {','.join(line.fields)[:120]!r}" for line in first)
    return quoted(whole + more, ", ".join(f"line {line.number}" for line in first) + more)


def _reject_unusable_labels(
    lines: list[_Line], names_splits: bool, split_by: str | None, task: str
) -> tuple[list[Row], list[Rejection]]:
    rows, rejected = [], []
    for line in lines:
        labels = tuple(sorted(set(line.labels)))
        label = ",".join(line.labels if task != MULTILABEL else labels)
        if task != MULTILABEL and len(line.labels) != 1:
            reason = "several labels; an image has one" if labels else "no label"
            rejected.append(Rejection(line.number, line.uri, label, reason))
        elif split_by is not None and line.group is None:
            reason = f"no {split_by} after the label"
            rejected.append(Rejection(line.number, line.uri, label, reason))
        else:
            split = line.ml_use if names_splits else None
            rows.append(
                Row(line.number, line.uri, line.key, label, split, line.group, labels=labels)
            )
    return rows, rejected


def _take_days(
    rows: list[Row], split_by: str, days: tuple[date, date]
) -> tuple[list[Row], list[Rejection]]:
    """Give each row the split of its day; reject those whose field is none."""
    kept, rejected = [], []
    for row in rows:
        try:
            moment = datetime.fromisoformat(row.group or "")
            day = (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
        except (ValueError, OverflowError):
            reason = f"{split_by} {row.group!r} is no day or moment, such as 2024-03-01"
            rejected.append(Rejection(row.line, row.uri, row.label, reason))
            continue
        split = "train" if day < days[0] else "validation" if day < days[1] else "test"
        kept.append(row._replace(split=split, group=None))
    return kept, rejected


def _take_values(rows: list[Row]) -> tuple[list[Row], list[Rejection]]:
    """Read labels as numbers; reject those that are none, or infinite as the dataset's float32."""
    kept, rejected = [], []
    for row in rows:
        value = float(row.label) if _NUMBER.fullmatch(row.label) else np.nan
        if abs(value) <= _LARGEST:
            kept.append(row._replace(value=value))
        else:
            reason = f"label {row.label!r} is no number that float32 holds"
            rejected.append(Rejection(row.line, row.uri, row.label, reason))
    return kept, rejected


def _reject_repeated_keys(rows: list[Row]) -> tuple[list[Row], list[Rejection]]:
    """Keep the first line of each key, or none if its lines have different labels."""
    by_key: dict[str, list[Row]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    kept, rejected = [], []
    for group in by_key.values():
        first = group[0]
        other = next((row for row in group if _answer(row) != _answer(first)), None)
        if other:
            reason = (
                f"contradictory labels for one key: {first.label!r} on line {first.line}, "
                f"{other.label!r} on line {other.line}"
            )
            rejected += [Rejection(row.line, row.uri, row.label, reason) for row in group]
            continue
        if other := next((row for row in group if row.group != first.group), None):
            reason = (
                f"contradictory groups for one key: {first.group!r} on line {first.line}, "
                f"{other.group!r} on line {other.line}"
            )
            rejected += [Rejection(row.line, row.uri, row.label, reason) for row in group]
            continue
        kept.append(first)
        reason = f"same key as line {first.line}"
        rejected += [Rejection(row.line, row.uri, row.label, reason) for row in group[1:]]
    return kept, rejected


def _answer(row: Row) -> str | float:
    """Parse the answer that a model should predict: 3 and 3.0 are one number, and two classes."""
    return row.label if row.value is None else row.value
