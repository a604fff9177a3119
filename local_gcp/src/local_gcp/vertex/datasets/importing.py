"""Import files for image classification with one label: the CSV manifest, and JSON lines.

    [ML_USE,]gs://bucket/image.png[,LABEL]
    {"imageGcsUri": "gs://...", "classificationAnnotation": {"displayName": "...",
     "annotationResourceLabels": {...}}, "dataItemResourceLabels": {...}}

https://cloud.google.com/vertex-ai/docs/image-data/classification/prepare-data
An invalid line is skipped and reported; the others are imported.
"""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

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
    annotation_labels: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Problem:
    """A line that was left out, and why."""

    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


def read(file: Path, uri: str) -> Iterator[Item | Problem]:
    """The items of one import file, by its ending: .jsonl, else CSV. `uri`: its address."""
    with file.open(newline="", encoding="utf-8-sig") as lines:
        parse = _json_lines if file.name.endswith((".jsonl", ".json")) else _csv
        for number, found in parse(lines):
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


def _json_lines(lines: Iterable[str]) -> Iterator[tuple[int, Item | str]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield number, _json_item(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            yield number, f"is not an image of the import schema: {error!r}"


def _json_item(record: Any) -> Item:
    unknown = set(record) - {
        "imageGcsUri",
        "classificationAnnotation",
        "dataItemResourceLabels",
    }
    if unknown:
        raise ValueError(f"unknown field {sorted(unknown)[0]!r}")
    annotation = record.get("classificationAnnotation") or {}
    labels = dict(record.get("dataItemResourceLabels") or {})
    if labels.get(ML_USE, USES[0]) not in USES:
        raise ValueError(f"{labels[ML_USE]!r} is not one of {', '.join(USES)}")
    return Item(
        record["imageGcsUri"],
        annotation.get("displayName"),
        labels,
        annotation.get("annotationResourceLabels") or {},
    )


def json_line(item: Item) -> str:
    """The item in the format of `read`, which a custom training gets too."""
    record: dict[str, Any] = {"imageGcsUri": item.uri}
    if item.label is not None:
        record["classificationAnnotation"] = {
            "displayName": item.label,
            "annotationResourceLabels": dict(item.annotation_labels),
        }
    record["dataItemResourceLabels"] = dict(item.labels)
    return json.dumps(record, ensure_ascii=False)


def labelled(item: Item, item_labels: Mapping[str, str], annotation: Mapping[str, str]) -> Item:
    """The item with the labels of the import for all items; its own take precedence."""
    return dataclasses.replace(
        item,
        labels={**item_labels, **item.labels},
        annotation_labels={**annotation, **item.annotation_labels},
    )
