"""Turns a manifest of images into rows as a run's snapshot has them, for exports without BigQuery.

Plain: sql/manifest.sql is tested elsewhere. Images and masks may be paths relative to the manifest.
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from trainer.exporting.splits import assign, fingerprints
from trellis_contracts.columns import (
    REJECTED,
    SPLIT_BY,
    Columns,
    ImageForm,
    MaskClass,
    TableFeature,
)
from trellis_contracts.dataset import SPLITS, Split, by_hash
from trellis_contracts.dataset_features import Pages, Resize
from trellis_contracts.tasks import MULTILABEL, REGRESSION

_ML_USES = {"training": "train", "train": "train", "validation": "validation", "test": "test"}


@dataclass(frozen=True)
class Form:
    """What an experiment's source says of the images of a manifest, and its task."""

    image_size: int | tuple[int, int]
    channels: int = 3
    encoding: str | None = None
    resize: Resize = "stretch"
    scale: str | None = None
    pages: Pages | None = None
    task: str = "multiclass_classification"
    split_by: str | None = None
    split_days: tuple[date, date] | None = None
    stratify: bool = False
    split_fractions: tuple[int, int, int] = (80, 10, 10)
    max_rejected: float = 0.05
    positive: str | None = None
    masks: tuple[MaskClass, ...] = ()

    @property
    def image(self) -> ImageForm:
        """The form of the images as columns.json has it."""
        size = self.image_size
        encoding = self.encoding or ("jpeg" if self.scale is None else "png")
        pair = (size, size) if isinstance(size, int) else size
        return ImageForm(pair, self.channels, encoding, self.resize, self.scale, self.pages)


def export_flags(
    source: Path, output: Path, fingerprint: str, shards: int = 8, **form: Any
) -> list[str]:
    """Write the rows of the manifest `source` beside the dataset `output`; returns the flags of
    trainer.export. form: of Form.
    """
    wanted = Form(**form)
    rows = [_row(fields, wanted) for fields in _lines(source)]
    split = _stratify(rows, wanted) if wanted.stratify else _assign(rows, wanted)
    for row in rows:
        for name in ("image", "label") if wanted.masks else ("image",):
            if "://" not in row[name]:
                row[name] = str(source.parent / row[name])
    columns = Columns(
        task=wanted.task,
        split=split,
        key="key",
        label="label",
        features=(TableFeature("image", "image", "STRING", "image", wanted.image),),
        vocabulary=1,
        source={
            "table": None,
            "query": None,
            "manifest": str(source),
            "partition": None,
            "snapshot": "p.d.snapshot",
            "rows": len(rows),
        },
        positive=wanted.positive,
        masks=wanted.masks,
        max_rejected=wanted.max_rejected,
    )
    folder = output.parent / f"{output.name}-source"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "columns.json").write_text(json.dumps(columns.to_document()))
    types = {"FLOAT64": pa.float64(), "STRING": pa.string()}
    schema = pa.schema(
        [(name, types[type_]) for name, type_ in columns.roles.items()] + [("image", pa.string())]
    )
    parquet.write_table(pa.Table.from_pylist(rows, schema), folder / "rows-000000000000.parquet")
    flags = {
        "source": folder / "columns.json",
        "output": output,
        "fingerprint": fingerprint,
        "shards": shards,
    }
    return [f"--{name}={value}" for name, value in flags.items()]


def _lines(source: Path) -> list[list[str]]:
    with source.open(encoding="utf-8-sig", newline="") as text:
        return [[field.strip() for field in line] for line in csv.reader(text) if line]


def _row(fields: Sequence[str], form: Form) -> dict[str, Any]:
    use = _ML_USES.get(fields[0].lower())
    image, *after = fields[1:] if use else fields
    group = None
    if form.split_by is not None:
        group = after.pop(-1 if form.task == MULTILABEL else 1)
    labels = sorted({label for label in after if label})
    unlabelled = not labels and form.task != MULTILABEL
    label = float(labels[0]) if form.task == REGRESSION else "|".join(labels)
    return {
        "key": image.removeprefix("gs://").partition("/")[2] if "://" in image else image,
        "image": image,
        "label": label,
        SPLIT_BY: group,
        "split": use,
        REJECTED: "no label" if unlabelled else None,
    }


def _assign(rows: list[dict[str, Any]], form: Form) -> Split:
    """Fill in the splits of rows that name none; returns the rule."""
    if all(row["split"] for row in rows):
        return Split("column ML_USE")
    if form.split_days is not None:
        validation, test = form.split_days
        for row in rows:
            day = date.fromisoformat(row[SPLIT_BY])
            row["split"] = SPLITS[(day >= validation) + (day >= test)]
        return Split(f"{form.split_by}: validation from {validation}, test from {test}")
    rule = by_hash(form.split_fractions, form.split_by)
    hashed = [row["key" if form.split_by is None else SPLIT_BY] for row in rows]
    for row, place in zip(rows, assign(hashed, rule.ranges).tolist(), strict=True):
        row["split"] = SPLITS[place]
    return rule


def _stratify(rows: list[dict[str, Any]], form: Form) -> Split:
    """Divide each label by the fractions, in the order of the keys' hashes."""
    hashes = dict(zip(map(_key, rows), fingerprints(list(map(_key, rows))).tolist(), strict=True))
    _, for_validation, for_test = form.split_fractions
    for label in {row["label"] for row in rows}:
        some = [row for row in rows if row["label"] == label]
        some.sort(key=lambda row: (hashes[_key(row)], _key(row)))
        test = min(max((len(some) * for_test + 50) // 100, 1), len(some) - 1)
        left = len(some) - test
        validation = min(max((len(some) * for_validation + 50) // 100, 1), left - 1)
        for place, row in enumerate(some):
            row["split"] = SPLITS[(place >= left - validation) + (place >= left)]
    shares = "/".join(map(str, form.split_fractions))
    return Split(f"{shares} percent of each label, by rank of FARM_FINGERPRINT(key)")


def _key(row: dict[str, Any]) -> str:
    return str(row["key"])
