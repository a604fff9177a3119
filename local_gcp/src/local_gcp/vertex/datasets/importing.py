"""Import files for image classification with one label: the CSV manifest.

    [ML_USE,]gs://bucket/image.png[,LABEL]

https://cloud.google.com/vertex-ai/docs/image-data/classification/prepare-data
An invalid line is skipped and reported; the others are imported.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ML_USE = "aiplatform.googleapis.com/ml_use"
"""The label of a DataItem with its set."""
USES = ("training", "validation", "test")


@dataclasses.dataclass(frozen=True)
class Item:
    """An image and its labels."""

    uri: str
    label: str | None = None
    """Display name of its class; None is an unlabelled image."""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The DataItem's."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """A line that was left out, and why."""

    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


def read(file: Path, uri: str) -> Iterator[Item | Problem]:
    """The items of one import file, a CSV manifest. `uri`: its address."""
    with file.open(newline="", encoding="utf-8-sig") as lines:
        for number, found in _csv(lines):
            if isinstance(found, str):
                yield Problem(f"{uri}:{number}", found)
            elif not found.uri.startswith("gs://") or "/" not in found.uri[5:]:
                yield Problem(f"{uri}:{number}", f"{found.uri!r} is not gs://BUCKET/OBJECT")
            elif found.label is not None and not found.label.strip():
                yield Problem(f"{uri}:{number}", "the label is empty")
            else:
                yield found


def _csv(lines: Iterable[str]) -> Iterator[tuple[int, Item | str]]:
    reader = csv.reader(lines)
    for row in reader:
        if not row:
            continue
        labels = {}
        if not row[0].startswith("gs://"):
            use = row.pop(0).strip().lower()
            if use and use not in USES:
                yield reader.line_num, f"{use!r} is not one of {', '.join(USES)}"
                continue
            labels = {ML_USE: use} if use else {}
        if not row:
            yield reader.line_num, "there is no image"
        elif len(row) > 2:
            yield reader.line_num, f"there are {len(row) - 1} labels; one is allowed"
        else:
            yield reader.line_num, Item(row[0], row[1] if len(row) == 2 else None, labels)


def labelled(item: Item, labels: Mapping[str, str]) -> Item:
    """The item with the labels of the import for all items; its own take precedence."""
    return dataclasses.replace(item, labels={**labels, **item.labels})
