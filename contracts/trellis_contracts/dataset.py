"""dataset.json: what a dataset on disk holds. trainer.export writes it, training and compare read
it.

A dataset is a folder gs://BUCKET/EXPERIMENT/datasets/FINGERPRINT/ with

    train-00000-of-00004.tfrecord ...   validation-..., test-...: uncompressed TFRecords
    rejected.jsonl    {"key", "feature", "uri", "label", "reason", "split"} for each row with an
                      unusable image, and each line of a manifest that is no example (split "")
    dataset.json      this description; written last, without it there is no dataset

dataset_features.py describes the records. dataset.json, schema 2 (the values are examples):

    {"schema": 2,
     "fingerprint": "3f2a...",
     "task":     null,                      of images of one class each; else one of TASKS
     "source":   {"columns": "gs://b/columns.json", "sha256": "...",  the rest stands
                  "table": "p.d.t", "query": null, "partition": ...,  in columns.json as the
                  "snapshot": "p.d.snapshot_3f2a", "rows": 569},      dataset's `source`
     "split":    {"rule": "FARM_FINGERPRINT(key) mod 100",    or "column ML_USE", without ranges
                  "train": [0, 80], "validation": [80, 90], "test": [90, 100]},       half-open
                 {"rule": "FARM_FINGERPRINT(group) mod 100", "by": "patient_id", ...}     of groups
     "features": [{"name": "image", "kind": "image", "dtype": "uint8", "encoding": "png",
                   "shape": [8, 8, 1], "column": "image",            height, width, channels
                   "resize": "stretch",                              or letterbox, crop
                   "scale": "range:200,3900",                        absent: 8 bits; then uint16
                   "pages": "first",                                 absent: of one page each
                   "rule": 2}],                                      IMAGE_RULE
                 or, of a table, in the order of the researcher's file:
                 [{"name": "radius mean", "kind": "numeric",         or "boolean"
                   "dtype": "float32", "shape": [], "column": "radius_mean", "index": 0,
                   "statistics": {"count": 450, "missing": 5, "mean": 14.1, "stddev": 3.5,
                                  "min": 6.9, "max": 28.1, "quantiles": [6.9, 9.5, ..., 28.1]}},
                  {"name": "site", "kind": "categorical", "dtype": "int64", "shape": [],
                   "column": "site", "index": 0, "vocabulary": ["left", "right"],
                   "statistics": {"count": 455, "missing": 0, "other": 3,
                                  "frequencies": [300, 152]}},
                  {"name": "taken", "kind": "timestamp", "dtype": "int64", "shape": [],
                   "column": "taken", "index": 0, "statistics": {...}},  numeric's, in seconds
                  {"name": "pulse", "kind": "sequence", "dtype": "float32", "shape": [null],
                   "column": "pulse",
                   "statistics": {..., "min_length": 0, "max_length": 80, "mean_length": 42.5}}],
     "label":    {"name": "label", "dtype": "int64",                 or "float32": a number
                  "shape": [64, 64, 1], "encoding": "png",    of masks, with the dtype uint8
                  "column": "malignant",      the name in the source; absent: images
                  "statistics": {...},        numeric's; absent: classification
                  "event": {"column": "died", "events": {"train": [9, ...], ...},
                            "censored": {...}, "quantiles": [...], "horizons": [365, 1825],
                            "times": [...]}},        of a time to an event
     "weight":   {"name": "weight",                           absent: all rows count the same
                  "column": "sampling_weight",                the name in the source
                  "statistics": {...},                        numeric's
                  "classes": {"0": 160.5, ...}},              train's sums; {} of a regression
     "classes":  ["0", "1", ...],             class i is the i-th name; [] for regression
                                              (of a multi-label task, see trainer.label_sets)
     "counts":   {"train": {"examples": 1434, "classes": {"0": 142, ...}}, "validation": ...},
                                              of masks: images in which each class occurs
     "files":    {"train": [{"name": "train-00000-of-00004.tfrecord", "examples": 359,
                             "bytes": 60312}, ...], "validation": ...},
     "bytes":    301200,                                             all TFRecord files together
     "rejected": 2,                                                  lines of rejected.jsonl
     "warnings": ["class '7' has no example in the test split, ..."]}

Nothing in it depends on when or where it was written: the same source gives the same bytes.
TensorFlow is not imported here, so that any program can read a description at little cost.
"""

import itertools
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from trellis_contracts import documents
from trellis_contracts.dataset_features import IMAGE, IMAGE_RULE, Feature, Label, Weight
from trellis_contracts.documents import ContractError
from trellis_contracts.files import File, Part, optional
from trellis_contracts.tasks import (
    CLASSIFICATION,
    MULTICLASS,
    MULTILABEL,
    REGRESSION,
    TASKS,
    Task,
    family_of,
)

FILE_NAME = "dataset.json"
REJECTED_FILE_NAME = "rejected.jsonl"

SPLITS = ("train", "validation", "test")

HASH_RULE = "FARM_FINGERPRINT(key) mod 100"
GROUP_RULE = "FARM_FINGERPRINT(group) mod 100"


class DatasetError(ValueError):
    """There is no dataset at the address, or its description cannot be understood."""


@dataclass(frozen=True)
class Split(Part):
    """The rule that assigns examples to splits.

    rule: HASH_RULE, GROUP_RULE or another one, in words. ranges: with the first two,
    half-open ranges of the key's or the group's bucket 0..99 by split name; else empty. by: with
    GROUP_RULE, the column of the source whose values are the groups.
    """

    rule: str
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    by: str | None = None

    def to_document(self) -> dict[str, Any]:
        """See Part."""
        return {"rule": self.rule, **({} if self.by is None else {"by": self.by}), **self.ranges}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """See Part."""
        ranges = {name: bucket_range(document[name]) for name in SPLITS if name in document}
        return cls(document["rule"], ranges, document.get("by"))

    @property
    def described(self) -> str:
        """The rule, for people."""
        return self.rule if self.by is None else f"{self.rule}, by {self.by}"


def by_hash(shares: Iterable[int], by: str | None = None) -> Split:
    """The rule by the hash of the key, or of the group in the column `by`.

    shares: of SPLITS in percent, together 100: 80, 10, 10 are [0, 80), [80, 90), [90, 100).
    """
    edges = list(itertools.accumulate(shares, initial=0))
    ranges = dict(zip(SPLITS, itertools.pairwise(edges), strict=True))
    return Split(HASH_RULE if by is None else GROUP_RULE, ranges, by)


@dataclass(frozen=True)
class Counts(Part):
    """Examples of one split, in all and by class name (every class, 0 included; {}: regression).

    Of a multi-label task an example counts for each of its classes, of a segmentation for each that
    its mask has.
    """

    examples: int
    classes: Mapping[str, int]


@dataclass(frozen=True)
class Shard(Part):
    """One TFRecord file: name within the dataset's folder, records, size in bytes."""

    name: str
    examples: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class DatasetDescription(File):
    """dataset.json; the module's docstring explains the fields."""

    CONTRACT: ClassVar[str] = "dataset"
    SCHEMA: ClassVar[int] = 2

    fingerprint: str
    task: str | None = None
    source: Mapping[str, object]
    split: Split
    features: tuple[Feature, ...]
    label: Label = field(default_factory=Label)
    weight: Weight | None = optional()
    classes: tuple[str, ...]
    counts: Mapping[str, Counts]
    files: Mapping[str, tuple[Shard, ...]]
    rejected: int
    warnings: tuple[str, ...] = ()

    @property
    def inputs(self) -> frozenset[str]:
        """What the examples hold: image, table (columns), or both."""
        return frozenset(map(_input_of, self.features))

    def only(self, inputs: Collection[str]) -> "DatasetDescription":
        """The description as a model sees it that reads these of the inputs alone."""
        kept = tuple(feature for feature in self.features if _input_of(feature) in inputs)
        return self if kept == self.features else replace(self, features=kept)

    @property
    def family(self) -> str:
        """One of FAMILIES."""
        return family_of(self.task)

    @property
    def entry(self) -> Task:
        """The task's entry."""
        return TASKS[self.task or MULTICLASS]

    @property
    def positive(self) -> str | None:
        """The positive class of two classes, the second: the one that the experiment names, or else
        the second in natural order. None for other tasks.
        """
        return self.classes[1] if self.family == CLASSIFICATION and len(self.classes) == 2 else None

    @property
    def is_regression(self) -> bool:
        """True if the label is a number to predict, not a class."""
        return self.task == REGRESSION

    @property
    def is_multilabel(self) -> bool:
        """True if an example has any number of the classes (trainer.label_sets)."""
        return self.task == MULTILABEL

    @property
    def outputs(self) -> int:
        """Number of a model's outputs: a logit for each class (of a segmentation at each pixel),
        the one value of a regression, or those of a time to an event, as `trained_by` has set them.

        Of a multi-label task each is the logit of one class, whatever the others are.
        """
        return self.label.outputs or len(self.classes) or 1

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of a network's outputs for one example: (outputs,), of masks (height, width,
        outputs).
        """
        return (*self.label.shape[:-1], self.outputs)

    def trained_by(self, objective: str, intervals: int) -> "DatasetDescription":
        """The description as a network sees it that learns by an objective, of those of
        hyperparameters.py: of a time to an event it has a logit for each interval (hazards), or one
        log-risk (cox).
        """
        if not self.label.times:
            return self
        outputs = 1 if objective == "cox" else intervals
        return replace(self, label=replace(self.label, outputs=outputs))

    def features_of(self, *kinds: str) -> tuple[Feature, ...]:
        """The features of these kinds; of one vector's kinds (VECTORS) in the vector's order."""
        return tuple(feature for feature in self.features if feature.kind in kinds)

    @property
    def bytes(self) -> int:
        """Size of all TFRecord files together."""
        return sum(shard.bytes for shards in self.files.values() for shard in shards)

    def examples(self, split: str) -> int:
        """Number of examples of a split."""
        return self.counts[split].examples

    def uris(self, directory: str, split: str) -> list[str]:
        """Addresses of a split's shards, in order, when the dataset lies in `directory`."""
        return [f"{directory.rstrip('/')}/{shard.name}" for shard in self.files[split]]

    def to_json(self, where: str = FILE_NAME) -> str:
        """See File."""
        return super().to_json(where)

    def to_document(self) -> dict[str, Any]:
        """See File."""
        document = super().to_document()
        last = {name: document.pop(name) for name in ("rejected", "warnings")}
        return document | {"bytes": self.bytes} | last

    @classmethod
    def from_json(cls, text: str, where: str = FILE_NAME) -> Self:
        """Read the text of a dataset.json whose images are of this program's rule. Raises
        DatasetError, naming `where`, if it is none.
        """
        try:
            document = documents.parse(cls.CONTRACT, text, where)
        except ContractError as error:
            raise DatasetError(str(error)) from error
        _check_rule(document, where)
        return cls.from_document(document)


def _input_of(feature: Feature) -> str:
    return IMAGE if feature.kind == IMAGE else "table"


def bucket_range(edges: list[int]) -> tuple[int, int]:
    """A range of buckets as a file has it: [low, high), a list of two."""
    low, high = edges
    return low, high


def _check_rule(document: Mapping[str, Any], where: str) -> None:
    for feature in document["features"]:
        rule = feature.get("rule", 1)
        if feature["kind"] == IMAGE and rule != IMAGE_RULE:
            raise DatasetError(
                f"{where} has images by rule {rule}; this trainer and its server make "
                f"them by rule {IMAGE_RULE}. Export the dataset again (a new run does), or use the "
                "trainer that wrote it"
            )


def rejected_keys(text: str) -> list[str]:
    """Keys of a rejected.jsonl whose rows are no examples. A manifest's line without a split is
    left out, as an example may have its key; the frozen rows' column `rejected` tells it.
    """
    lines = [json.loads(line) for line in text.splitlines() if line]
    return [str(line["key"]) for line in lines if line["split"]]


def shard_name(split: str, index: int, count: int) -> str:
    """File name of shard `index` (from 0) of `count`, e.g. train-00000-of-00004.tfrecord."""
    return f"{split}-{index:05d}-of-{count:05d}.tfrecord"
