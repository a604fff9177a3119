"""Reads the test split of a dataset, whose examples every contender must have predicted.

trainer.stored reads the records, without TensorFlow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trainer import families, storage
from trainer.families import FAMILIES
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import AnyOutcome
from trainer.prediction_checks import RuleError
from trainer.prediction_forms import AnyPredictions
from trainer.stored import labels_of
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE, Feature, Label
from trellis_contracts.records import parse, payloads
from trellis_contracts.tasks import CLASSIFICATION, MULTILABEL
from trellis_contracts.withheld import quoted, some_of

_NAMED = 10  # keys that an error message lists


class HeldOutSplitError(RuleError):
    """The test split cannot be read, or a contender's predictions are not for it."""


@dataclass(frozen=True)
class Record:
    """One example. label: class index, value, or time and event (2,). place: as in
    HeldOutSplit.records.

    features: of the tf.train.Example, by name.
    """

    key: str
    label: Any
    place: tuple[Path, int, int]
    features: Mapping[str, Any]

    def bytes_of(self, name: str) -> bytes:
        """The bytes of one feature: the encoded image, for instance."""
        return self.features[name].bytes_list.value[0]

    def address_of(self, image: Feature) -> str:
        """Address of the file that an image was made of."""
        return self.bytes_of(image.beside("uri")).decode()


@dataclass(frozen=True)
class HeldOutSplit:
    """Keys and labels of the test split, ordered by key.

    keys: (n,) object array of str. labels: as trainer.families has them. classes: class names;
    empty of numbers. family: of the task, one of trellis_contracts.tasks.FAMILIES. label: of the
    dataset. records: where each example lies, (file, offset of its payload, length in bytes).
    groups: None unless groups decide the dataset's split; group_names: (n,) int64, the same in all
    datasets of these rows. addresses: of the examples' images, if each has one. rows: of the test
    splits of several folds, (n,) keys of the frozen rows, one more than once if it was predicted
    more often.
    """

    keys: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    records: tuple[tuple[Path, int, int], ...]
    groups: Groups | None = None
    family: str = CLASSIFICATION
    addresses: tuple[str, ...] = ()
    group_names: np.ndarray | None = None
    rows: np.ndarray | None = None
    label: Label = field(default_factory=Label)

    @property
    def row_keys(self) -> np.ndarray:
        """(n,) keys of the frozen rows."""
        return self.keys if self.rows is None else self.rows

    @property
    def multilabel(self) -> bool:
        """Whether an example has any number of the classes."""
        return self.family == MULTILABEL

    def __len__(self) -> int:
        return len(self.keys)

    def feature(self, index: int, name: str) -> bytes:
        """The bytes of one feature of the example at `index`: its encoded image, for instance."""
        payload = _payload(self.records[index])
        return parse(payload).features.feature[name].bytes_list.value[0]

    def outcome(self, predictions: AnyPredictions) -> AnyOutcome:
        """A contender's predictions in this split's order.

        Raises HeldOutSplitError unless their keys, labels and classes are those of the split.
        """
        family, found = FAMILIES[self.family], families.of(predictions)
        if found is not family:
            raise HeldOutSplitError(
                f"predicts {found.labels}; the dataset's label has {family.labels}"
            )
        if (classes := getattr(predictions, "classes", self.classes)) != self.classes:
            raise HeldOutSplitError(
                f"predicts {listed_classes(classes)}; the dataset has "
                f"{listed_classes(self.classes)}"
            )
        times = self.label.times
        if (found_times := getattr(predictions, "times", ())) != times:
            raise HeldOutSplitError(
                f"predicts for the times {_times(found_times)}; the dataset has {_times(times)}"
            )
        order = self.order(predictions.keys)
        self._check_labels(predictions.labels[order])
        threshold = getattr(predictions, "threshold", None)
        answers = family.answers(predictions)[order]
        return family.outcome(self.labels, answers, self.groups, threshold, self.label)

    def order(self, keys: np.ndarray) -> np.ndarray:
        """(n,) indices that sort an array with these keys into this split's order.

        keys: (n,) object array of unique str. Raises HeldOutSplitError, naming missing and unknown
        keys, unless they are those of the split.
        """
        order = np.argsort(keys)
        if not np.array_equal(keys[order], self.keys):
            raise HeldOutSplitError(_key_difference(keys, self.keys), "keys")
        return order

    def _check_labels(self, labels: np.ndarray) -> None:
        """labels: a contender's, in this split's order. Raises HeldOutSplitError."""
        # Records hold float32; a baseline may have read the label in double precision.
        kind = FAMILIES[self.family].kind
        differs = labels.astype(kind) != self.labels.astype(kind)
        wrong = np.flatnonzero(differs.reshape(len(labels), -1).any(axis=1))
        if len(wrong):
            first = wrong[0]
            one, other = self._named(self.labels[first]), self._named(labels[first])
            example = (
                f"; {self.keys[first]!r} is {one} in the dataset and {other} in the predictions"
            )
            raise HeldOutSplitError(
                f"has wrong labels for {len(wrong):,} of {len(self):,} keys of the test split: "
                f"{listed(self.keys[wrong])}{quoted(example, '')}",
                "labels",
            )

    def _named(self, label: Any) -> str:
        return FAMILIES[self.family].named(label, self.classes)


def _times(times: Sequence[float]) -> str:
    return ", ".join(f"{time:g}" for time in times)


def _key_difference(keys: np.ndarray, expected: np.ndarray) -> str:
    missing = np.setdiff1d(expected, keys)
    foreign = np.setdiff1d(keys, expected)
    parts = [f"scored {len(keys):,} keys; the test split has {len(expected):,}"]
    if len(missing):
        parts.append(f"{len(missing):,} missing: {listed(missing)}")
    if len(foreign):
        parts.append(f"{len(foreign):,} not in the test split: {listed(foreign)}")
    return "; ".join(parts)


def listed(names: Sequence[str] | np.ndarray, one: str = "key", many: str = "") -> str:
    """The first keys or classes of a list for a message; elsewhere their number."""
    return some_of(map(str, names), one, many, _NAMED)


def listed_classes(names: Sequence[str]) -> str:
    """`listed` for classes."""
    return listed(names, "class", "classes")


def read_held_out_split(
    directory: str, dataset: DatasetDescription, split: str = "test"
) -> HeldOutSplit:
    """Read the test split, or another one, of the dataset in `directory` (gs:// address or path).

    Raises HeldOutSplitError if a file is missing or corrupt, or if the number of examples is not
    that in dataset.json.
    """
    keys, labels, places, groups, addresses = [], [], [], [], []
    images, family = dataset.features_of(IMAGE), FAMILIES[dataset.family]
    grouped = dataset.split.by is not None
    for record in records(directory, dataset, split):
        if grouped:
            groups.append(record.features["group"].int64_list.value[0])
        keys.append(record.key)
        labels.append(family.truth(dataset, record.label[None])[0])
        places.append(record.place)
        if len(images) == 1:
            addresses.append(record.address_of(images[0]))
    expected = dataset.examples(split)
    if len(keys) != expected:
        raise HeldOutSplitError(
            f"the {split} files of {directory} have {len(keys):,} examples, but dataset.json says "
            f"{expected:,}; export the dataset again"
        )
    order = np.argsort(np.array(keys, dtype=object))
    return HeldOutSplit(
        keys=np.array(keys, dtype=object)[order],
        labels=np.array(labels)[order],
        classes=dataset.classes,
        records=tuple(places[i] for i in order),
        groups=Groups.named(np.array(groups)[order]) if grouped else None,
        group_names=np.array(groups)[order] if grouped else None,
        family=dataset.family,
        addresses=tuple(addresses[i] for i in order) if addresses else (),
        label=dataset.label,
    )


def records(directory: str, dataset: DatasetDescription, split: str = "test") -> Iterator[Record]:
    """The examples of a split, in the files' order. Raises HeldOutSplitError."""
    number = 0
    for uri in dataset.uris(directory, split):
        path = storage.local_path(uri)
        try:
            with open(path, "rb") as file:
                for offset, payload in payloads(file):
                    yield _record(payload, (path, offset, len(payload)), dataset)
                    number += 1
        except FileNotFoundError as error:
            raise HeldOutSplitError(f"{uri} is named in dataset.json but does not exist") from error
        except (ValueError, IndexError) as error:
            raise HeldOutSplitError(f"{uri}, record {number}: {error}") from error


def record_at(place: tuple[Path, int, int], dataset: DatasetDescription) -> Record:
    """The example at a place that `records` has told."""
    return _record(_payload(place), place, dataset)


def _record(payload: bytes, place: tuple[Path, int, int], dataset: DatasetDescription) -> Record:
    features = parse(payload).features.feature
    return Record(
        features["key"].bytes_list.value[0].decode("utf-8"),
        labels_of(dataset.label, [features])[0],
        place,
        features,
    )


def _payload(place: tuple[Path, int, int]) -> bytes:
    path, offset, length = place
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(length)
