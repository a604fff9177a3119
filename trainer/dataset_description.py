"""dataset.json: what a dataset on disk holds. trainer.export writes it, training and compare read
it.

A dataset is a folder gs://BUCKET/EXPERIMENT/datasets/FINGERPRINT/ with

    train-00000-of-00004.tfrecord ...   validation-..., test-...: uncompressed TFRecords
    rejected.jsonl    {"line": 12, "uri": "gs://...", "label": "3", "reason": "..."} for each line
                      of an image manifest that became no example; of a table every row becomes one
    dataset.json      this description; written last, without it there is no dataset

Each record is a tf.train.Example. Of images it has the features

    key    bytes, 1 value     unique name of the example, UTF-8 (for an image: its object name)
    image  bytes, 1 value     encoded image: of the train split as `features[0]` says, else PNG, so
                              that what scores a model is to the bit what its server sees
    label  int64, 1 value     index into `classes`
    uri    bytes, 1 value     of the test split: address of the file that the image was made of
    crc32c int64, 1 value     of the test split: checksum of that file

and of a table's rows

    key          bytes, 1 value
    numeric      float32, n values    numeric and boolean features, each at its `index`; a boolean
                                      is 0 or 1, NULL (and NaN) is NaN
    categorical  int64, c values      0: NULL, 1: a term that is not in the feature's vocabulary,
                                      i + 2: the vocabulary's term i
    timestamp    int64, t values      microseconds since 1970 UTC; NULL is -2**63
    sequence/COLUMN  float32, any number of values (none for NULL): one per sequence feature; an
                                      element NaN is stored as NaN
    label        int64, 1 value: index into `classes`; regression: float32, 1 value

where a vector without values is absent. dataset.json, schema 2 (the values are examples):

    {"schema": 2,
     "fingerprint": "3f2a...",
     "task":     null,                      of images; of a table: "binary_classification",
                                            "multiclass_classification" or "regression"
     "source":   {"manifest": "gs://b/manifest.csv", "sha256": "...", "lines": 1797},   of images
                 {"columns": "gs://b/columns.json", "sha256": "...",  of a table; the rest stands
                  "table": "p.d.t", "query": null, "partition": ...,  in columns.json as the
                  "snapshot": "p.d.snapshot_3f2a", "rows": 569},      dataset's `source`
     "split":    {"rule": "FARM_FINGERPRINT(key) mod 100",    or "column ML_USE", without ranges
                  "train": [0, 80], "validation": [80, 90], "test": [90, 100]},       half-open
     "features": [{"name": "image", "kind": "image", "dtype": "uint8", "encoding": "png",
                   "shape": [8, 8, 1],                               height, width, channels
                   "rule": 2}],                                      IMAGE_RULE, see below
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
     "label":    {"name": "label", "dtype": "int64",                 or "float32": regression
                  "column": "malignant",      the name in the source; absent: images
                  "statistics": {...}},       numeric's; absent: classification
     "classes":  ["0", "1", ...],             class i is the i-th name; [] for regression
     "counts":   {"train": {"examples": 1434, "classes": {"0": 142, ...}}, "validation": ...},
     "files":    {"train": [{"name": "train-00000-of-00004.tfrecord", "examples": 359,
                             "bytes": 60312}, ...], "validation": ...},
     "bytes":    301200,                                             all TFRecord files together
     "rejected": 2,                                                  lines of rejected.jsonl
     "warnings": ["class '7' has no example in the test split, ..."]}

Of a feature: name as in the researcher's file (any text); column, a plain identifier, its name in
the snapshot table and in `sequence/COLUMN`; dtype that of the record; index its place in the
record's vector. Every statistic and vocabulary is of the train split alone:

    count       values that are there; of a sequence feature, elements of all sequences together
    missing     NULL or NaN in their place
    mean, stddev (population: divided by count), min, max
    quantiles   21 values at 0, 5, 10 .. 100 percent: min, ..., max. At most 0.5 percentage points
                of rank away from the exact ones (exporting/quantiles.py)
    lengths     of all rows' sequences, empty ones included
    vocabulary  the most frequent terms, at most as many as columns.json allows: by falling
                frequency, equals by name; `frequencies` are their counts, `other` the rows with
                another term (count = sum of frequencies + other)

Nothing in it depends on when or where it was written: the same source gives the same bytes.
TensorFlow is not imported here, so that any program can read a description at little cost.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar, cast

from trainer import contracts, storage
from trainer.contracts import ContractError

SCHEMA_VERSION = 2

# How image files become records. Raise it when the same file gives another record: after a change
# of trainer.images, or an upgrade of OpenCV or Pillow that changes pixels (a test tells). Part of
# the fingerprint, so that datasets of another rule are exported anew.
IMAGE_RULE = 2

FILE_NAME = "dataset.json"
REJECTED_FILE_NAME = "rejected.jsonl"

SPLITS = ("train", "validation", "test")

HASH_RULE = "FARM_FINGERPRINT(key) mod 100"
COLUMN_RULE = "column ML_USE"

REGRESSION = "regression"
TASKS = ("binary_classification", "multiclass_classification", REGRESSION)

# Kinds of features. An image is the only feature of its dataset.
IMAGE = "image"
# Kinds of table features, and the vectors of the record that hold them. A sequence is its own.
NUMERIC, BOOLEAN, CATEGORICAL, TIMESTAMP, SEQUENCE = TABLE_KINDS = (
    "numeric",
    "boolean",
    "categorical",
    "timestamp",
    "sequence",
)
VECTORS = {NUMERIC: (NUMERIC, BOOLEAN), CATEGORICAL: (CATEGORICAL,), TIMESTAMP: (TIMESTAMP,)}
SEQUENCE_PREFIX = "sequence/"

# What stands in a record for NULL, for a term outside the vocabulary, and for its first term.
NULL_TERM, UNKNOWN_TERM, FIRST_TERM = 0, 1, 2
NULL_TIMESTAMP = -(2**63)

QUANTILES = 21


Value = TypeVar("Value")


class DatasetError(ValueError):
    """There is no dataset at the address, or its description cannot be understood."""


@dataclass(frozen=True)
class Split:
    """How an example's split follows from its source.

    rule: HASH_RULE or COLUMN_RULE. ranges: with HASH_RULE, half-open ranges of the key's bucket
    0..99 by split name; with COLUMN_RULE empty.
    """

    rule: str
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Statistics:
    """Of numbers in the train split; the module's docstring defines each. Timestamps in seconds.

    min_length, max_length, mean_length: of sequences, else None.
    """

    count: int
    missing: int
    mean: float
    stddev: float
    min: float
    max: float
    quantiles: tuple[float, ...]
    min_length: int | None = None
    max_length: int | None = None
    mean_length: float | None = None


@dataclass(frozen=True)
class TermStatistics:
    """Of a categorical feature in the train split. frequencies[i] belongs to vocabulary[i]."""

    count: int
    missing: int
    other: int
    frequencies: tuple[int, ...]


@dataclass(frozen=True)
class Feature:
    """One input of a model; the module's docstring says which kind has which fields.

    shape is (height, width, channels) for kind "image", (None,) for "sequence", else (). encoding
    is that of an image's train split. The properties are the fields that a kind must have; they
    raise TypeError for another kind.
    """

    name: str
    kind: str
    dtype: str
    encoding: str | None = None
    shape: tuple[int | None, ...] = ()
    column: str | None = None
    index: int | None = None
    vocabulary: tuple[str, ...] | None = None
    statistics: Statistics | TermStatistics | None = None

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of an image."""
        if self.kind != IMAGE:
            raise TypeError(f"feature {self.name!r} is {self.kind}, not an image")
        return cast(tuple[int, int, int], self.shape)

    def encoding_of(self, split: str) -> str:
        """How a split's images are stored: png or jpeg."""
        return _present(self.encoding, self, "encoding") if split == "train" else "png"

    @property
    def table_column(self) -> str:
        """Column of a table's feature."""
        return _present(self.column, self, "column")

    @property
    def terms(self) -> tuple[str, ...]:
        """Vocabulary of a categorical feature."""
        return _present(self.vocabulary, self, "vocabulary")

    @property
    def number_statistics(self) -> Statistics:
        """Statistics of a table's feature that is not categorical."""
        if not isinstance(self.statistics, Statistics):
            raise TypeError(f"feature {self.name!r} has no statistics of numbers")
        return self.statistics

    @property
    def longest(self) -> int:
        """Elements of the train split's longest sequence."""
        return _present(self.number_statistics.max_length, self, "lengths")

    @property
    def term_statistics(self) -> TermStatistics:
        """Statistics of a categorical feature."""
        if not isinstance(self.statistics, TermStatistics):
            raise TypeError(f"feature {self.name!r} has no statistics of terms")
        return self.statistics

    @property
    def record_name(self) -> str:
        """The feature of the record that holds this one: itself, a vector, or a sequence."""
        if self.kind == SEQUENCE:
            return SEQUENCE_PREFIX + self.table_column
        return next((name for name, kinds in VECTORS.items() if self.kind in kinds), self.name)


@dataclass(frozen=True)
class Label:
    """The feature that holds the class index (int64), or the value to predict (float32).

    column: its name in a table's source. statistics: of a regression's values.
    """

    name: str = "label"
    dtype: str = "int64"
    column: str | None = None
    statistics: Statistics | None = None

    @property
    def number_statistics(self) -> Statistics:
        """Statistics of a regression's values. Raises TypeError for a classification."""
        if self.statistics is None:
            raise TypeError("the label has no statistics: it is a class")
        return self.statistics


@dataclass(frozen=True)
class Counts:
    """Examples of one split, in all and by class name (every class, 0 included; {}: regression)."""

    examples: int
    classes: Mapping[str, int]


@dataclass(frozen=True)
class Shard:
    """One TFRecord file: name within the dataset's folder, records, size in bytes."""

    name: str
    examples: int
    bytes: int


@dataclass(frozen=True)
class DatasetDescription:
    """dataset.json in memory; the module's docstring explains the fields."""

    fingerprint: str
    source: Mapping[str, object]
    split: Split
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    counts: Mapping[str, Counts]
    files: Mapping[str, tuple[Shard, ...]]
    rejected: int
    warnings: tuple[str, ...] = ()
    label: Label = field(default_factory=Label)
    task: str | None = None

    @property
    def kind(self) -> str:
        """What the examples are: image or table."""
        return "image" if any(feature.kind == IMAGE for feature in self.features) else "table"

    @property
    def is_regression(self) -> bool:
        """Whether the label is a number to predict, not a class."""
        return self.task == REGRESSION

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
        return [storage.join(directory, shard.name) for shard in self.files[split]]

    def to_json(self) -> str:
        """The text of dataset.json. Raises ContractError if it would not match its schema."""
        document = {
            "schema": SCHEMA_VERSION,
            "fingerprint": self.fingerprint,
            "task": self.task,
            "source": dict(self.source),
            "split": {"rule": self.split.rule, **self.split.ranges},
            "features": [
                _without_none(asdict(feature))
                | ({"rule": IMAGE_RULE} if feature.kind == IMAGE else {})
                for feature in self.features
            ],
            "label": _without_none(asdict(self.label)),
            "classes": self.classes,
            "counts": {
                split: {"examples": counts.examples, "classes": dict(counts.classes)}
                for split, counts in self.counts.items()
            },
            "files": {
                split: [asdict(shard) for shard in shards] for split, shards in self.files.items()
            },
            "bytes": self.bytes,
            "rejected": self.rejected,
            "warnings": self.warnings,
        }
        return contracts.to_json("dataset", document, FILE_NAME)

    @classmethod
    def from_json(cls, text: str, where: str = FILE_NAME) -> "DatasetDescription":
        """Read the text of a dataset.json. Raises DatasetError, naming `where`, if it is none."""
        try:
            document = json.loads(text)
        except ValueError as error:
            raise DatasetError(f"{where} is not JSON: {error}") from error
        version = document.get("schema") if isinstance(document, dict) else None
        if version not in (None, SCHEMA_VERSION):
            raise DatasetError(
                f"{where} has schema {version}; this trainer reads schema {SCHEMA_VERSION}. "
                "Use the trainer that wrote it, or export the dataset again"
            )
        try:
            contracts.check("dataset", document, where)
        except ContractError as error:
            raise DatasetError(str(error)) from error
        return cls(
            fingerprint=document["fingerprint"],
            source=document["source"],
            split=Split(
                rule=document["split"]["rule"],
                ranges={
                    split: _range(document["split"][split])
                    for split in SPLITS
                    if split in document["split"]
                },
            ),
            features=tuple(_feature(feature, where) for feature in document["features"]),
            label=Label(**_with_statistics(document["label"])),
            classes=tuple(document["classes"]),
            counts={split: Counts(**document["counts"][split]) for split in SPLITS},
            files={
                split: tuple(Shard(**shard) for shard in document["files"][split])
                for split in SPLITS
            },
            rejected=document["rejected"],
            warnings=tuple(document["warnings"]),
            task=document["task"],
        )


def _present(value: Value | None, feature: Feature, field_name: str) -> Value:
    if value is None:
        raise TypeError(f"feature {feature.name!r} is {feature.kind} and has no {field_name}")
    return value


def _range(edges: list[int]) -> tuple[int, int]:
    low, high = edges
    return low, high


def _without_none(fields: dict) -> dict:
    """Without the fields that do not apply. (None inside a shape is a value: any length.)"""
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in fields.items()
        if value is not None
    }


def _feature(document: dict, where: str) -> Feature:
    fields = {**_with_statistics(document), "shape": tuple(document["shape"])}
    rule = fields.pop("rule", None)
    if document["kind"] == IMAGE and rule != IMAGE_RULE:
        raise DatasetError(
            f"{where} has images by rule {rule or 1}; this trainer and its server make them by "
            f"rule {IMAGE_RULE}. Export the dataset again (a new run does), or use the trainer "
            "that wrote it"
        )
    if "vocabulary" in fields:
        fields["vocabulary"] = tuple(fields["vocabulary"])
    return Feature(**fields)


def _with_statistics(document: dict) -> dict:
    """A feature's or label's fields, its statistics as the class that they are of."""
    if "statistics" not in document:
        return document
    # Their only lists are quantiles and frequencies.
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in document["statistics"].items()
    }
    kind: type[TermStatistics | Statistics]
    kind = TermStatistics if "frequencies" in values else Statistics
    return {**document, "statistics": kind(**values)}


def shard_name(split: str, index: int, count: int) -> str:
    """File name of shard `index` (from 0) of `count`, e.g. train-00000-of-00004.tfrecord."""
    return f"{split}-{index:05d}-of-{count:05d}.tfrecord"


def load(directory: str) -> DatasetDescription:
    """Read the description of the dataset in `directory` (gs:// address or path), through the
    mount.

    Raises DatasetError if there is no committed dataset.
    """
    where = storage.join(directory, FILE_NAME)
    try:
        text = storage.local_path(where).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DatasetError(
            f"there is no {where}: no dataset has been committed here. Is the address right, "
            "and did the export end in success?"
        ) from error
    return DatasetDescription.from_json(text, where)
