"""dataset.json: what a dataset on disk holds. trainer.export writes it, training and compare read
it.

A dataset is a folder gs://BUCKET/EXPERIMENT/datasets/FINGERPRINT/ with

    train-00000-of-00004.tfrecord ...   validation-..., test-...: uncompressed TFRecords
    rejected.jsonl    {"line": 12, "uri": "gs://...", "label": "3", "reason": "..."} for each line
                      of the manifest that became no example
    dataset.json      this description; written last, without it there is no dataset

Each record is a tf.train.Example with the features

    key    bytes, 1 value   unique name of the example, UTF-8 (for an image: its object name)
    image  bytes, 1 value   encoded image, as `features[0]` describes it
    label  int64, 1 value   index into `classes`

dataset.json, schema 1 (the values are examples):

    {"schema": 1,
     "fingerprint": "3f2a...",
     "source":   {"manifest": "gs://b/manifest.csv", "sha256": "...", "lines": 1797},
     "split":    {"rule": "FARM_FINGERPRINT(key) mod 100",    or "column ML_USE", without ranges
                  "train": [0, 80], "validation": [80, 90], "test": [90, 100]},       half-open
     "features": [{"name": "image", "kind": "image", "dtype": "uint8", "encoding": "png",
                   "shape": [8, 8, 1]}],                             height, width, channels
     "label":    {"name": "label", "dtype": "int64"},
     "classes":  ["0", "1", ...],                                    class i is the i-th name
     "counts":   {"train": {"examples": 1434, "classes": {"0": 142, ...}}, "validation": ...},
     "files":    {"train": [{"name": "train-00000-of-00004.tfrecord", "examples": 359,
                             "bytes": 60312}, ...], "validation": ...},
     "bytes":    301200,                                             all TFRecord files together
     "rejected": 2,                                                  lines of rejected.jsonl
     "warnings": ["class '7' has no example in the test split, ..."]}

Nothing in it depends on when or where it was written: the same source gives the same bytes.
Only the standard library is imported here, so that any program can read a description at no cost.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from trainer import storage

SCHEMA_VERSION = 1
FILE_NAME = "dataset.json"
REJECTED_FILE_NAME = "rejected.jsonl"

SPLITS = ("train", "validation", "test")

HASH_RULE = "FARM_FINGERPRINT(key) mod 100"
COLUMN_RULE = "column ML_USE"


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
class Feature:
    """One input of a model. shape is (height, width, channels) for kind "image"."""

    name: str
    kind: str
    dtype: str
    encoding: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Label:
    """The feature that holds the class index."""

    name: str = "label"
    dtype: str = "int64"


@dataclass(frozen=True)
class Counts:
    """Examples of one split, in all and by class name (every class is named, 0 included)."""

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
        """The text of dataset.json."""
        document = {
            "schema": SCHEMA_VERSION,
            "fingerprint": self.fingerprint,
            "source": dict(self.source),
            "split": {"rule": self.split.rule, **self.split.ranges},
            "features": [asdict(feature) for feature in self.features],
            "label": asdict(self.label),
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
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str = FILE_NAME) -> "DatasetDescription":
        """Read the text of a dataset.json. Raises DatasetError, naming `where`, if it is none."""
        try:
            document = json.loads(text)
            version = document["schema"]
            if version != SCHEMA_VERSION:
                raise DatasetError(
                    f"{where} has schema {version}; this trainer reads schema {SCHEMA_VERSION}. "
                    "Use the trainer that wrote it, or export the dataset anew"
                )
            return cls(
                fingerprint=document["fingerprint"],
                source=document["source"],
                split=Split(
                    rule=document["split"]["rule"],
                    ranges={
                        split: tuple(document["split"][split])
                        for split in SPLITS
                        if split in document["split"]
                    },
                ),
                features=tuple(
                    Feature(**{**feature, "shape": tuple(feature["shape"])})
                    for feature in document["features"]
                ),
                label=Label(**document["label"]),
                classes=tuple(document["classes"]),
                counts={split: Counts(**document["counts"][split]) for split in SPLITS},
                files={
                    split: tuple(Shard(**shard) for shard in document["files"][split])
                    for split in SPLITS
                },
                rejected=document["rejected"],
                warnings=tuple(document["warnings"]),
            )
        except DatasetError:
            raise
        except KeyError as error:
            raise DatasetError(f"{where} lacks the key {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise DatasetError(f"{where} is not a dataset description: {error}") from error


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
