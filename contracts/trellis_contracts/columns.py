"""columns.json: describes the Parquet files of a table. The task `check` writes it beside them,
the export reads it.

columns.schema.json describes every field:

    {"schema": 1,
     "task": "binary_classification",            one of trellis_contracts.tasks
     "split": {"train": [0, 80], "validation": [80, 90], "test": [90, 100],   half-open, of 0..99
               "by": "patient_id"},              only where groups, not keys, decide the split
              or {"rule": "column fold"}         where no hash does: as the column `split` says
              or {"rule": "...", "folds": {"count": 5, "repeats": 2}, "by": "patient_id"},
                                                 of folds.py; `by` only where groups have the folds
     "key": {"name": "sample_id"}, "label": {"name": "malignant"},   names in the source
     "event": {"name": "died", "horizons": [365, 1825]},   only of a time to an event
     "masks": [{"name": "background", "value": 0},         only of a segmentation: the value of
               {"name": "cell", "value": "#ff0000"}, ...], each class, or its colour
     "positive": "ill",             only where the experiment names the positive class
     "weight": {"name": "sampling_weight"},      only where rows have weights
     "features": [{"name": "radius mean", "column": "radius_mean", "type": "FLOAT64",
                   "kind": "numeric"},
                  {"name": "photo", "column": "photo", "type": "STRING", "kind": "image",
                   "image": {"size": [64, 64], "channels": 3, "encoding": "jpeg",
                             "resize": "stretch", "scale": null,
                             "pages": "first"}}, ...],    only where files may have several
     "max_rejected": 0.05,          only with images: share of rows whose images may be unusable
     "vocabulary": 1000,            maximum number of terms per categorical feature
     "source": {"table", "query", "files", "partition", "snapshot", "rows": 569},  as dataset.json's
     "findings": [{"check": "group", "feature": "ward", "text": "..."}]}      its `warnings` too

The files rows-*.parquet beside it have the columns `key` (STRING), `split` (STRING: train,
validation or test), `label` (STRING, of a multi-label task as tasks.classes_in reads it; FLOAT64
for a number), one column per feature, and `split_by` (STRING), the group of each row, if groups
decide the split, `example_weight` (FLOAT64), if rows have weights, and `label_event` (INT64), 1 or
0, of a time to an event. The column of an image feature holds the images' addresses,
gs://BUCKET/OBJECT, and `label` of a segmentation those of the masks. The lines of a manifest of
images are such rows, with one feature, and have the column `rejected` (STRING): why a line is no
example.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from trellis_contracts.dataset import GROUP_RULE, HASH_RULE, SPLITS, Split, bucket_range
from trellis_contracts.dataset_features import IMAGE, Feature, Pages, Resize
from trellis_contracts.files import Part, optional
from trellis_contracts.finding import Finding
from trellis_contracts.folds import EVERYTHING, Folds, column
from trellis_contracts.tasks import NAMED, NUMBERS, TASKS, classes_in

SCHEMA = 1

SPLIT_BY = "split_by"
"""Column of each row's group, where groups decide the split."""

WEIGHT = "example_weight"
"""Column of each row's weight, where rows have weights."""

EVENT = "label_event"
"""Column of whether the event happened at the row's time, 1, or was not seen until then, 0."""

REJECTED = "rejected"
"""Column of why a manifest's line is no example; NULL of all others."""


@dataclass(frozen=True)
class ImageForm(Part):
    """Form of the images of a column in the dataset.

    size: height and width in pixels. encoding: of the train split; the others are png. scale: how
    values become 16 bits, as trainer.images.scale writes it; None: files have 8. pages: as
    Feature's.
    """

    size: tuple[int, int]
    channels: int
    encoding: str
    resize: Resize
    scale: str | None = None
    pages: Pages | None = optional()


@dataclass(frozen=True)
class TableFeature(Part):
    """A feature. name: in the experiment file; column, type: in the Parquet files. image: of kind
    image only.
    """

    name: str
    column: str
    type: str
    kind: str
    image: ImageForm | None = optional()

    @property
    def title(self) -> str:
        """Name in messages."""
        of = "" if self.column == self.name else f" (column {self.column})"
        return f"feature {self.name!r}{of}"

    def described(self) -> Feature:
        """An image feature as dataset.json describes it. Raises TypeError for another kind."""
        if self.image is None:
            raise TypeError(f"{self.title} is {self.kind}, not an image")
        form = self.image
        return Feature(
            name=self.name,
            kind=IMAGE,
            dtype="uint8" if form.scale is None else "uint16",
            encoding=form.encoding,
            shape=(*form.size, form.channels),
            column=self.column,
            resize=form.resize,
            scale=form.scale,
            pages=form.pages,
        )


@dataclass(frozen=True)
class EventColumn(Part):
    """The event of a time to one. name: in the source. horizons: rising times; (): the export
    chooses them.
    """

    name: str
    horizons: tuple[float, ...] = optional(())


@dataclass(frozen=True)
class MaskClass(Part):
    """A class of the pixels of masks. value: in the files, of a grey one or the index of one with a
    palette, 0 to 255; or its colour, as in #ff0000.
    """

    name: str
    value: int | str


@dataclass(frozen=True, kw_only=True)
class Columns:
    """columns.json; the module's docstring explains the fields. weight: None where all rows count
    the same. findings: of the data checks, none of which refused the rows. positive: the positive
    class; None: the second in natural order. max_rejected: share of rows, 0 to 1, whose images may
    be unusable. folds: of cross-validation. part: the one to make a dataset of (folds.py); no part
    of the file. event: only of a time to an event. masks: only of a segmentation, the background
    first.
    """

    task: str
    split: Split
    key: str
    label: str
    features: tuple[TableFeature, ...]
    vocabulary: int
    source: Mapping[str, object]
    weight: str | None = None
    findings: tuple[Finding, ...] = ()
    positive: str | None = None
    max_rejected: float = 0.0
    folds: Folds | None = None
    part: str | None = None
    event: EventColumn | None = None
    masks: tuple[MaskClass, ...] = ()

    def of(self, *kinds: str) -> list[TableFeature]:
        """The features of these kinds, in order."""
        return [feature for feature in self.features if feature.kind in kinds]

    def images(self) -> dict[TableFeature, Feature]:
        """The images, and how dataset.json describes them."""
        return {feature: feature.described() for feature in self.of(IMAGE)}

    @property
    def of_manifest(self) -> bool:
        """True if the rows are the lines of a manifest: the column REJECTED has the reasons why
        some of them are no examples.
        """
        return "manifest" in self.source

    @property
    def has_names(self) -> bool:
        """True if the label is text, the names of a row's classes."""
        return self.task in NAMED

    def classes_in(self, label: str) -> list[str]:
        """The names of a row's classes."""
        return classes_in(label, self.task)

    @property
    def is_grouped(self) -> bool:
        """True if groups decide the split: the column SPLIT_BY has each row's."""
        return self.split.by is not None

    @property
    def needed(self) -> tuple[str, ...]:
        """The splits that must have rows."""
        return SPLITS[:2] if self.part == EVERYTHING else SPLITS

    @property
    def names(self) -> list[str]:
        """The columns to read from the Parquet files."""
        return [*self.roles, *(feature.column for feature in self.features)]

    @property
    def roles(self) -> dict[str, str]:
        """The columns other than features: BigQuery's type of each."""
        return {
            "key": "STRING",
            "split": "STRING",
            "label": "FLOAT64" if self.task in NUMBERS else "STRING",
            **TASKS[self.task].rows,
            **({SPLIT_BY: "STRING"} if self.is_grouped else {}),
            **({WEIGHT: "FLOAT64"} if self.weight is not None else {}),
            **({REJECTED: "STRING"} if self.of_manifest else {}),
            **({column(self.part): "INT64"} if self.part is not None else {}),
        }

    def to_document(self) -> dict[str, Any]:
        """The content of the file."""
        return {
            "schema": SCHEMA,
            "task": self.task,
            "split": _rule(self.split, self.folds),
            "key": {"name": self.key},
            "label": {"name": self.label},
            **({} if self.event is None else {"event": self.event.to_document()}),
            **({"masks": [one.to_document() for one in self.masks]} if self.masks else {}),
            **({} if self.positive is None else {"positive": self.positive}),
            **({"weight": {"name": self.weight}} if self.weight is not None else {}),
            "features": [feature.to_document() for feature in self.features],
            **({"max_rejected": self.max_rejected} if self.of(IMAGE) else {}),
            "vocabulary": self.vocabulary,
            "source": dict(self.source),
            "findings": [finding.to_document() for finding in self.findings],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any], **others: Any) -> Self:
        """From content that fits the schema. others: fields of a subclass."""
        return cls(
            task=document["task"],
            split=_split(document["split"]),
            key=document["key"]["name"],
            label=document["label"]["name"],
            features=tuple(map(TableFeature.from_document, document["features"])),
            vocabulary=document["vocabulary"],
            source=document["source"],
            weight=document["weight"]["name"] if "weight" in document else None,
            positive=document.get("positive"),
            event=EventColumn.from_document(document["event"]) if "event" in document else None,
            masks=tuple(map(MaskClass.from_document, document.get("masks", ()))),
            max_rejected=document.get("max_rejected", 0.0),
            folds=Folds.from_document(document["split"]["folds"])
            if "folds" in document["split"]
            else None,
            findings=tuple(map(Finding.from_document, document.get("findings", ()))),
            **others,
        )


def _rule(split: Split, folds: Folds | None) -> dict[str, Any]:
    """The ranges of a rule by hashes, whose words follow from them; of another one, the words."""
    by = {} if split.by is None else {"by": split.by}
    if not split.ranges:
        return {"rule": split.rule, **({"folds": folds.to_document()} if folds else {}), **by}
    return {**{name: list(split.ranges[name]) for name in SPLITS}, **by}


def _split(document: Mapping[str, Any]) -> Split:
    by = document.get("by")
    if "rule" in document:
        return Split(document["rule"], by=by)
    ranges = {name: bucket_range(document[name]) for name in SPLITS}
    return Split(HASH_RULE if by is None else GROUP_RULE, ranges, by)
