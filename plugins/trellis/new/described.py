"""Facts about data before there is an experiment."""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trellis_contracts.dataset_features import BUCKET

IMAGE_SUFFIXES = (
    ".png",
    ".jpg",
    ".jpeg",
    ".bmp",
    ".gif",
    ".webp",
    ".tif",
    ".tiff",
    ".dcm",
    ".dicom",
)

IMAGE_ADDRESS = rf"^{BUCKET}.+(?i:{'|'.join(map(re.escape, IMAGE_SUFFIXES))})$"
"""Regular expression, for Arrow and BigQuery alike, of an address that names an image."""

SAMPLED = 40
"""Images that are looked at."""


def sampled(values: Any) -> list[Any]:
    """Some of a sequence's values, in its order: SAMPLED at most. They are drawn at random (of as
    many values the same ones again), since files often alternate, as two views of each case do.
    """
    drawn = random.Random(0).sample(range(len(values)), min(SAMPLED, len(values)))
    return [values[place] for place in sorted(drawn)]


def and_more(values: Sequence[object]) -> str:
    """The first value, and how many more there are."""
    return str(values[0]) + (f" and {len(values) - 1:,} more" if len(values) > 1 else "")


def listed(parts: Sequence[str]) -> str:
    """The parts with semicolons between them, 40 at most: a table may have thousands of columns."""
    more = f"; and {len(parts) - _SHOWN:,} more" if len(parts) > _SHOWN else ""
    return "; ".join(parts[:_SHOWN]) + more


_SHOWN = 40


class DataError(ValueError):
    """The data cannot be used as they are; the message says what to do."""


@dataclass(frozen=True)
class Reading:
    """Options of the author for a file that does not describe itself.

    encoding: Python's name of it. decimal: the decimal mark, "." or ",". dates: the order of day
    and month, "day-first" or "month-first". missing: texts that stand for a missing value in every
    column. features: of TFRecords, those to read; () for all. types: BigQuery's, by the names of
    columns in lower case, of the table that the rows are appended to: codes like 17 are texts
    where the table has texts.
    """

    encoding: str | None = None
    decimal: str | None = None
    dates: str | None = None
    missing: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    def options(self) -> list[str]:
        """The command's options that say the same."""
        named = {
            "--encoding": self.encoding,
            "--decimal": self.decimal,
            "--dates": self.dates,
        }
        found = [word for option, value in named.items() if value for word in (option, value)]
        repeated = {"--missing": self.missing, "--feature": self.features}
        found += [
            word for option, texts in repeated.items() for text in texts for word in (option, text)
        ]
        return found


@dataclass(frozen=True)
class Note:
    """Something that reading changed, left out or could not know. what: the kind, as a line of the
    screen begins. of: which column or files, and how.
    """

    what: str
    of: str


def lines(notes: Sequence[Note]) -> Iterator[str]:
    """The notes for the screen, a line for each kind."""
    kinds: dict[str, list[str]] = {}
    for note in notes:
        kinds.setdefault(note.what, []).append(note.of)
    for what, of in kinds.items():
        yield f"{what}: {listed(of)}" if any(of) else what


@dataclass(frozen=True)
class Pictures:
    """Images on this machine that go to Cloud Storage, and whose addresses a table has.

    folder: gs://... of all. each: begins anew at every call, and has each address once, with a
    function that reads the image.
    """

    folder: str
    each: Callable[[], Iterator[tuple[str, Callable[[], bytes]]]]


@dataclass(frozen=True)
class File:
    """A file's table. table: a pyarrow.Table with BigQuery's names and types. form: what the file
    is. own_names: of each column, how the file spells it. pictures: images that its columns of
    addresses name, and that are not in Cloud Storage yet.
    """

    table: Any
    form: str
    notes: tuple[Note, ...] = ()
    own_names: Mapping[str, str] = field(default_factory=dict)
    pictures: Pictures | None = None


@dataclass(frozen=True)
class Column:
    """A column and its values. type: as GoogleSQL writes it. distinct: 0 where values are not
    counted (arrays, and types that no model reads). whole: FLOAT64, and every value a whole number.
    counting: whole numbers that number the rows, from `first` on without a gap. own_name: the
    file's spelling. values: the texts, if they are few. addresses: some of the values, if each is
    the address of an image (`IMAGE_ADDRESS`). nines: of numbers, one that may stand for a missing
    value, and its rows: -999 or 9999, far from all others. infinite: rows, as float32. words: of
    texts, how many one has on average.
    """

    name: str
    type: str
    nulls: int = 0
    distinct: int = 0
    whole: bool = False
    counting: bool = False
    own_name: str | None = None
    values: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    nines: tuple[str, int] | None = None
    infinite: int = 0
    words: float = 0.0


@dataclass(frozen=True)
class Rows:
    """A table. address: DATASET.TABLE. bytes: what reading all of it is billed for, 0 if unknown.
    partition: the column that it is partitioned by. distinct: rows that differ in any column; None
    if they were not counted. of_files: whether the address is that of files in Cloud Storage.
    """

    address: str
    rows: int
    columns: tuple[Column, ...]
    bytes: int = 0
    partition: str | None = None
    distinct: int | None = None
    of_files: bool = False

    @property
    def copies(self) -> int:
        """Rows that equal an earlier one; 0 if they were not counted."""
        return 0 if self.distinct is None else self.rows - self.distinct

    def column(self, name: str) -> Column | None:
        """The column of a name, in any case, as BigQuery takes names; or as the file spells it."""
        same = (c for c in self.columns if c.name.lower() == name.lower())
        own = (c for c in self.columns if (c.own_name or c.name).strip() == name.strip())
        return next(same, None) or next(own, None)


@dataclass(frozen=True)
class Images:
    """A manifest's images. classes: number of images by class. size: of one side, in pixels, the
    median of those looked at. resize: letterbox if those have several shapes, else stretch.
    count: of images. grouped: every line names a group after the label. frozen: every line names
    its split. several: lines have any number of labels. bits: of one channel, and pages: of a
    file, the most of those looked at. masks: names of the values that their masks' pixels have, the
    background first, if masks are their labels.
    """

    address: str
    classes: Mapping[str, int] = field(default_factory=dict)
    size: int = 64
    channels: int = 3
    resize: str = "stretch"
    bits: int = 8
    pages: int = 1
    grouped: bool = False
    frozen: bool = False
    several: bool = False
    count: int = 0
    notes: tuple[Note, ...] = ()
    masks: tuple[tuple[str, int | str], ...] = ()
