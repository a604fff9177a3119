"""Looks at a manifest of images to propose an experiment for it.

What a run makes of its lines is in sql/manifest.sql; here it is enough to know what they look like.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from trellis.new.described import DataError
from trellis.workflow.lookups.manifest_lines import (
    FORMAT,
    LARGEST,
    LEAST_GROUPS,
    ML_USES,
    NUMBER,
    separator,
)
from trellis_contracts.dataset_features import IMAGE_ADDRESS

_IMAGE = re.compile(IMAGE_ADDRESS)
_NUMBER = re.compile(NUMBER, re.ASCII)
# A line after a line break within quotes: without an image of its own, it would be lost unseen.
_SWALLOWED = re.compile(r"[\r\n](?:[^\r\n,]*,)?\s*\"?gs://")
_CONTRADICTS = "contradicts another line of its image"
_SHOWN = 3


class Line(NamedTuple):
    """A line of a manifest. number: in the file, from 1. fields: without spaces around them. place:
    of the image's address among the fields, 1 behind an ML_USE; None if the line names no image.
    """

    number: int
    fields: list[str]
    place: int | None

    @property
    def ml_use(self) -> str | None:
        """The split that the line names, "" if it names none; None for an unknown word."""
        return ML_USES.get(self.fields[0].lower()) if self.place else ""

    @property
    def after(self) -> list[str]:
        """The fields after the image."""
        return self.fields[(self.place or 0) + 1 :]

    def __str__(self) -> str:
        return f"line {self.number} ({','.join(self.fields)[:100]!r})"


@dataclass
class Contents:
    """examples: lines with a label, or of several labels all. classes: their number by label.
    images: labels and group or split by address, without those whose lines contradict one another.
    rejected: numbers of the lines that no run takes, by the reason.
    """

    examples: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    images: dict[str, tuple[frozenset[str], str]] = field(default_factory=dict)
    rejected: dict[str, list[int]] = field(default_factory=dict)

    def reject(self, reason: str, line: int) -> None:
        """Note a line that will be no example."""
        self.rejected.setdefault(reason, []).append(line)


def lines_of(address: str, content: bytes) -> Iterator[Line]:
    """The lines of a manifest, without blank ones. Raises DataError for what is no CSV in UTF-8."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte 0x{content[error.start]:02X} in line {content.count(10, 0, error.start) + 1}"
        raise DataError(f"{address} is no text in UTF-8 ({where}): save it as UTF-8") from None
    reader, number = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True), 1
    try:
        for record in reader:
            fields = [value.strip() for value in record]
            if any(_SWALLOWED.search(value) for value in fields):
                raise DataError(
                    f"{address}: line {number} opens quotes that are not closed before the next "
                    'image: close them, or write a quote inside a field twice ("")'
                )
            if any(fields):
                first = enumerate(fields[:2])
                place = next((n for n, value in first if _IMAGE.fullmatch(value)), None)
                yield Line(number, fields, place)
            number = reader.line_num + 1  # a quoted field may hold line breaks
    except csv.Error as error:
        raise DataError(f"{address} is no CSV file in UTF-8: {error}. {FORMAT}") from None


def check(address: str, found: Sequence[Line]) -> None:
    """Raise DataError unless all lines name an image, and all or none a split by a known word."""
    if not found:
        raise DataError(f"{address} is empty. {FORMAT}")
    if name := separator(line.fields for line in found):
        raise DataError(f"{address}: its fields are separated by {name}. {FORMAT}")
    if without := next((line for line in found if line.place is None), None):
        raise DataError(f"{address}: {without} names no image. {FORMAT}")
    if unknown := [line for line in found if line.ml_use is None]:
        words = ", ".join(word.upper() for word in ML_USES if word)
        raise DataError(
            f"{address}: {len(unknown)} lines have an ML_USE that is none of {words}: "
            f"{', '.join(map(str, unknown[:_SHOWN]))}"
        )
    naming = [line for line in found if line.ml_use]
    silent = [line for line in found if not line.ml_use]
    if naming and silent:
        raise DataError(
            f"{address}: {len(naming)} of {len(found)} lines name a split (ML_USE), as "
            f"{naming[0]} does, and {silent[0]} does not: name it on every line or on none"
        )


def are_grouped(found: Sequence[Line]) -> bool:
    """Return whether a group stands after the label of each line."""
    groups = {line.after[1] if len(line.after) > 1 else "" for line in found}
    split = any(line.place for line in found)
    return "" not in groups and len(groups) >= LEAST_GROUPS and not split


def count(found: Iterable[Line], several: bool, grouped: bool) -> Contents:
    """Count examples and classes. several: a line has any number of labels."""
    contents, contradicted, begun = Contents(), set(), dict[str, int]()
    for line in found:
        labels = [label for n, label in enumerate(line.after) if label and not (grouped and n == 1)]
        if not several and len(labels) != 1:
            contents.reject("several labels" if labels else "no label", line.number)
            continue
        contents.examples += 1
        contents.classes.update(set(labels))
        image = line.fields[line.place or 0]
        answer = frozenset(labels), line.after[1] if grouped else line.ml_use or ""
        begun.setdefault(image, line.number)
        first = contents.images.setdefault(image, answer)
        if first is answer:
            continue
        if first == answer:
            contents.reject("repeats an image", line.number)
            continue
        if image not in contradicted:
            contradicted.add(image)
            contents.reject(_CONTRADICTS, begun[image])
        contents.reject(_CONTRADICTS, line.number)
    for image in contradicted:
        del contents.images[image]
    return contents


def is_address(label: str) -> bool:
    """Return whether the label is the address of an object, as that of a mask is."""
    return bool(_IMAGE.fullmatch(label))


def is_number(label: str) -> bool:
    """Return whether a regression can learn the label: a number that float32 holds."""
    return bool(_NUMBER.fullmatch(label)) and abs(float(label)) <= LARGEST
