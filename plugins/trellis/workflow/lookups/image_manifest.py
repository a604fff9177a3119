"""Checks of an image manifest before anything is spent.

The export checks every line again, and every image. These checks only read one text file, and
refuse what would make a run pointless: no lines, no labels, a single class, a regression's labels
that are no numbers, more classes than a multi-label dataset can have.
"""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.split import GroupSplit, TimeSplit, recorded
from trellis_contracts.dataset import IMAGE_RULE
from trellis_contracts.dataset_features import IMAGE_ADDRESS
from trellis_contracts.tasks import MULTILABEL, MULTILABEL_MAX_CLASSES, REGRESSION
from trellis_contracts.withheld import quoted, some_of

# Raise when the same manifest and settings would give another dataset (a new split rule), so that
# older datasets are not reused. What becomes of an image file is the trainer's `image_rule`.
DATASET_VERSION = 1

_LEAST_GROUPS = 6

_IMAGE = re.compile(IMAGE_ADDRESS)
# These two as trainer.exporting.images.manifest has them.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LARGEST = 3.4028234663852886e38  # of float32

ML_USES = {
    "": "",
    "train": "training",
    "training": "training",
    "validation": "validation",
    "test": "test",
    "unassigned": "",
}
"""Words for a line's split, in any case, and Vertex AI's for it; "": none. TRAIN and UNASSIGNED are
AutoML Vision's (https://cloud.google.com/vision/automl/docs/prepare), which public manifests have.
The export has the same (trainer/exporting/images/manifest.py)."""

# A line after a line break within quotes: without an image of its own, it would be lost unseen.
_SWALLOWED = re.compile(r"[\r\n](?:[^\r\n,]*,)?\s*\"?gs://")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}

_SHOWN = 3

_FORMAT = "expected lines of [ML_USE,]gs://BUCKET/OBJECT,label without a header"


class Line(NamedTuple):
    """A line of a manifest. number: in the file, from 1. fields: without spaces around them. place:
    of the image's address among the fields, 1 behind an ML_USE; None if the line names no image.
    """

    number: int
    fields: list[str]
    place: int | None

    @property
    def ml_use(self) -> str | None:
        """Vertex AI's word for the line's split, "" if it names none; None for an unknown word."""
        return ML_USES.get(self.fields[0].lower()) if self.place else ""

    def __str__(self) -> str:
        return f"line {self.number} ({','.join(self.fields)[:100]!r})"


class Image(NamedTuple):
    """An image of a manifest. line: its number. labels: none or several of a multi-label task.
    decides: its ML_USE or, if it has none, the group that does, the split of the day, or the key.
    """

    line: int
    labels: frozenset[str]
    ml_use: str
    decides: str


@dataclass
class Contents:
    """Contents of a manifest. examples: usable lines. classes: their number by label; a line may
    count for several. ungrouped: lines without a group or day, where these decide the split.
    groups: those, or the splits that days are of. first: number of the first line of each label.
    images: by key, but those whose lines contradict one another (`contradicted`). rejected:
    numbers of the lines that the export will reject, by the reason. buckets: that its images are
    in.
    """

    lines: int = 0
    examples: int = 0
    ungrouped: int = 0
    groups: set[str] = field(default_factory=set)
    classes: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    rejected: dict[str, list[int]] = field(default_factory=dict)
    contradicted: set[str] = field(default_factory=set)
    buckets: set[str] = field(default_factory=set)

    def reject(self, reason: str, line: int) -> None:
        """Note a line that will be no example."""
        self.rejected.setdefault(reason, []).append(line)


def lines(address: str, text: Iterable[str]) -> Iterator[Line]:
    """The lines of the manifest at an address, without blank ones.

    text: its lines with the ends that they have (newline=""), without a byte order mark. Raises
    SourceError for a text that is no CSV in UTF-8.
    """
    reader, number = csv.reader(text, skipinitialspace=True), 1
    try:
        for record in reader:
            fields = [value.strip() for value in record]
            if any(_SWALLOWED.search(value) for value in fields):
                raise SourceError(
                    f"{address}: line {number} opens quotes that are not closed before the next "
                    'image: close them, or write a quote inside a field twice ("")'
                )
            if any(fields):
                first = enumerate(fields[:2])
                place = next((n for n, value in first if _IMAGE.fullmatch(value)), None)
                yield Line(number, fields, place)
            number = reader.line_num + 1  # a quoted field may hold line breaks
    except (csv.Error, UnicodeDecodeError) as error:
        raise SourceError(f"{address} is no CSV file in UTF-8: {error}; {_FORMAT}") from None


def lines_of(address: str, content: bytes) -> Iterator[Line]:
    """Parse the lines of the file's content. Raises SourceError."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte 0x{content[error.start]:02X} in line {content.count(10, 0, error.start) + 1}"
        raise SourceError(f"{address} is no text in UTF-8 ({place}): save it as UTF-8") from None
    return lines(address, io.StringIO(text, newline=""))


def keys(addresses: Collection[str]) -> dict[str, str]:
    """The key of each image by its address, as the export finds them: the object's name, with the
    bucket before it where the manifest names several.

    addresses: of all lines, gs://BUCKET/OBJECT.
    """
    several = len({_bucket(address) for address in addresses}) > 1
    parts = 1 if several else 2
    return {
        address: address.removeprefix("gs://").split("/", parts - 1)[-1] for address in addresses
    }


def _bucket(address: str) -> str:
    return address.split("/", 3)[2]


def last_field(split: Any) -> str | None:
    """Meaning of the field after the label, by the file's split: a group, a day, or None."""
    return split.decided_by if isinstance(split, GroupSplit | TimeSplit) else None


def ml_use_of_day(text: str, split: TimeSplit) -> str | None:
    """The ML_USE of a day or moment, as the export finds it; None if the text is neither."""
    try:
        moment = datetime.fromisoformat(text)
        day = (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
    except (ValueError, OverflowError):
        return None
    if day < split.validation:
        return "training"
    return "validation" if day < split.test else "test"


def count(
    address: str, lines: Iterable[Line], split: Any = None, several: bool = False
) -> Contents:
    """Count lines, classes and groups. split: the file's rule. several: whether a line has any
    number of labels; the group, or the day, is the last field then.

    Raises SourceError for a manifest that is empty, no manifest, or without groups or days.
    """
    contents, by = Contents(), last_field(split)
    known = _checked(address, lines)
    keys_ = keys([line.fields[line.place] for line in known if line.place is not None])
    contents.buckets = {_bucket(image) for image in keys_}
    for line in known:
        number, fields, place = line
        contents.lines += 1
        assert place is not None
        decides, after = "", fields[place + 1 :]
        if by is not None:
            if line.ml_use:
                raise SourceError(
                    f"{address}: line {number} names a split (ML_USE), and source.split ({by}) "
                    "decides it too: leave one of the two out"
                )
            place_of_group = len(after) - 1 if several else 1
            decides = after.pop(place_of_group) if len(after) > place_of_group >= 0 else ""
            if isinstance(split, TimeSplit):
                decides = ml_use_of_day(decides, split) or ""
            if not decides:
                contents.ungrouped += 1
                contents.reject(f"no {by} after the label", number)
                continue
            contents.groups.add(decides)
        labels = frozenset(label for label in after if label)
        if several or len([label for label in after if label]) == 1:
            contents.examples += 1
            contents.classes.update(labels)
            for label in labels:
                contents.first.setdefault(label, number)
            key = keys_[fields[place]]
            _take(contents, key, Image(number, labels, line.ml_use or "", decides or key))
        else:
            contents.reject("several labels" if labels else "no label", number)
    for key in contents.contradicted:
        del contents.images[key]
    if not contents.lines:
        raise SourceError(f"{address} is empty; {_FORMAT}")
    if isinstance(split, TimeSplit):
        _check_days(address, contents, split)
    elif by is not None and len(contents.groups) < _LEAST_GROUPS:
        raise SourceError(
            f"{address}: {len(contents.groups)} groups ({by}) after the labels, and "
            f"{contents.ungrouped} lines without one; each split needs 2 of them or more: expected "
            "lines of gs://BUCKET/OBJECT,label,group"
        )
    return contents


def _checked(address: str, lines: Iterable[Line]) -> list[Line]:
    """The lines. Raises SourceError unless all of them name an image, and all or none a split by a
    known word: Vertex AI would divide the others at random, differently each time.
    """
    found = list(lines)
    if without := next((line for line in found if line.place is None), None):
        raise SourceError(f"{address}: {_named([without])} names no image; {_FORMAT}")
    alone = [line.fields[0] for line in found if len(line.fields) == 1]
    for mark, name in _SEPARATORS.items():
        if alone and len(alone) == len(found) and all(mark in text for text in alone):
            raise SourceError(f"{address}: its fields are separated by {name}; {_FORMAT}")
    if unknown := [line for line in found if line.ml_use is None]:
        words = ", ".join(word.upper() for word in ML_USES if word)
        raise SourceError(
            f"{address}: {len(unknown)} lines have an ML_USE that is none of {words}: "
            f"{_named(unknown)}"
        )
    naming = [line for line in found if line.ml_use]
    silent = [line for line in found if not line.ml_use]
    if naming and silent:
        raise SourceError(
            f"{address}: {len(naming)} of {len(found)} lines name a split (ML_USE), as "
            f"{_named(naming[:1])} does, and {_named(silent[:1])} does not: name it on every line "
            "or on none"
        )
    return found


def _named(found: Sequence[Line]) -> str:
    """The first of these lines; elsewhere by their numbers alone."""
    first = found[:_SHOWN]
    numbers = ", ".join(f"line {line.number}" for line in first)
    return quoted(", ".join(map(str, first)), numbers)


def _take(contents: Contents, key: str, image: Image) -> None:
    """Keep an image, or reject a line that repeats or contradicts another one of its key."""
    first = contents.images.setdefault(key, image)
    if first is image:
        return
    if (first.labels, first.decides) == (image.labels, image.decides):
        contents.reject("repeats an image", image.line)
        return
    contents.reject("contradicts another line of its image", image.line)
    if key not in contents.contradicted:
        contents.contradicted.add(key)
        contents.reject("contradicts another line of its image", first.line)


def _check_days(address: str, contents: Contents, split: TimeSplit) -> None:
    absent = [s for s in ("training", "validation", "test") if s not in contents.groups]
    if absent:
        raise SourceError(
            f"{address}: no line of the {' and the '.join(absent)} split ({split.rule}), and "
            f"{contents.ungrouped} lines without a day; expected lines of "
            f"gs://BUCKET/OBJECT,label,DAY, the day such as {split.validation}"
        )


def check_contents(address: str, contents: Contents, experiment: Experiment) -> None:
    """Raises SourceError for a manifest that no model can be trained on."""
    names = sorted(contents.classes)
    if not names:
        raise SourceError(
            f"{address}: no line has a label after its image, the label column is missing; "
            f"{_FORMAT}"
        )
    if experiment.task == REGRESSION:
        _check_numbers(address, contents, experiment.image_source.max_rejected)
    elif len(names) == 1:
        raise SourceError(
            f"{address}: all {contents.examples} labelled lines are of one class"
            f"{quoted(f', {names[0]!r}', '')}; a classifier needs at least two"
        )
    if experiment.task == MULTILABEL and len(names) > MULTILABEL_MAX_CLASSES:
        raise SourceError(
            f"{address}: {len(names)} different labels, and a multi-label dataset has up to "
            f"{MULTILABEL_MAX_CLASSES} classes; leave the rarest out"
        )
    if experiment.task == "binary_classification" and len(names) != 2:
        shown = quoted(f" ({some_of(names, 'class', 'classes')})", "")
        raise SourceError(
            f"{address}: {len(names)} classes{shown}, but the task is binary_classification; write "
            "multiclass_classification"
        )
    most_rejected = experiment.image_source.max_rejected * contents.lines
    if (bad := sum(map(len, contents.rejected.values()))) > most_rejected:
        why = "; ".join(
            f"{reason}: {len(lines_)}, as line {lines_[0]}"
            for reason, lines_ in contents.rejected.items()
        )
        raise SourceError(
            f"{address}: {bad} of {contents.lines} lines would be rejected, more than "
            f"source.max_rejected ({experiment.image_source.max_rejected:g}) allows: {why}"
        )


def is_number(label: str) -> bool:
    """Return whether a regression can learn the label: a number that float32 holds, as in the
    export.
    """
    return bool(_NUMBER.fullmatch(label)) and abs(float(label)) <= _LARGEST


def _check_numbers(address: str, contents: Contents, max_rejected: float) -> None:
    others = [label for label in contents.classes if not is_number(label)]
    count = sum(contents.classes[label] for label in others)
    if count > max_rejected * contents.lines:
        raise SourceError(
            f"{address}: {count} of {contents.lines} lines have a label that is no number, such as "
            f"line {contents.first[others[0]]}{quoted(f' ({others[0]!r})', '')}, but the task is "
            "regression; to learn classes, write multiclass_classification"
        )
    if len({float(label) for label in contents.classes if is_number(label)}) < 2:
        raise SourceError(f"{address}: all labels are one number; there is nothing to learn")


def fingerprint(
    address: str, version: dict[str, Any], experiment: Experiment, buckets: int = 1
) -> str:
    """Name of the dataset that the export makes: 16 hexadecimal digits of SHA-256.

    buckets: how many the manifest's images are in.

    Equal fingerprints mean equal datasets. `version` is the manifest's checksum and generation in
    Cloud Storage; the generation changes with every upload. So images that were replaced under
    their old names count as new as soon as the manifest is uploaded again.
    """
    source = experiment.image_source
    content = {
        "dataset_version": DATASET_VERSION,
        "image_rule": IMAGE_RULE,
        "manifest": address,
        **version,
        "size": list(source.size),
        "channels": source.channels,
        "encoding": source.encoding,
        # The default is left out, so that it never changes a fingerprint.
        **({} if source.resize == "stretch" else {"resize": source.resize}),
        **({} if source.scale is None else {"scale": source.scale}),
        "split": recorded(source.split),
        "shards": source.shards,
        # Keys had no bucket before, and decide the split.
        **({"keys": "BUCKET/OBJECT"} if buckets > 1 else {}),
        # Absent for one class each: fingerprints of such datasets are frozen.
        **({"task": experiment.task} if experiment.task in (REGRESSION, MULTILABEL) else {}),
        # Absent, the classes are in their natural order.
        **({} if experiment.positive is None else {"positive": experiment.positive}),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
