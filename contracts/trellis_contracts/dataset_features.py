"""Features of a dataset: their kinds, their statistics, and how a record holds them.

Each record is a tf.train.Example with the features

    key          bytes, 1 value       unique name of the example, UTF-8 (of a manifest: the image's
                                      object name)
    numeric      float32, n values    numeric and boolean features, each at its `index`; a boolean
                                      is 0 or 1, NULL (and NaN) is NaN
    categorical  int64, c values      0: NULL, 1: a term that is not in the feature's vocabulary,
                                      i + 2: the vocabulary's term i
    timestamp    int64, t values      microseconds since 1970 UTC; NULL is -2**63
    sequence/COLUMN  float32, any number of values (none for NULL): one per sequence feature; an
                                      element NaN is stored as NaN
    text/COLUMN  bytes, 1 value       UTF-8, one per text feature; NULL is the empty text
    image/COLUMN bytes, 1 value       encoded image, one per image feature: of the train split as
                                      the feature says, else PNG, so that what scores a model is to
                                      the bit what its server sees; with a scale, PNG of 16 bits per
                                      channel. Of the column `image`: image
    uri/COLUMN   bytes, 1 value       of the test split, one per image feature: address of the file
                                      that the image was made of. Of the column `image`: uri
    crc32c/COLUMN  int64, 1 value     likewise: checksum of that file
    label        int64, 1 value       index into `classes`, or a set of them (trainer.label_sets);
                                      regression: float32, 1 value; time to an event: float32, 2
                                      values, the time, and 1 if the event happened then, else 0;
                                      segmentation: bytes, 1 value, a mask: a grey PNG of 8 bits,
                                      whose pixels are indices into `classes`, of the size of the
                                      first image feature, the border of a letterbox 0
    weight       float32, 1 value    if rows have weights: as in the source, 0 or more
    group        int64, 1 value    of validation and test, if groups decide the split:
                                   FARM_FINGERPRINT of the example's group

A vector without values is absent.

Of a feature: name as in the researcher's file (any text); column, a plain identifier, its name in
the snapshot table and in `sequence/COLUMN`, `text/COLUMN` or `image/COLUMN`, the name where it is
left out; dtype that of the record; index its place in the record's vector. An image has no
statistics. Every statistic and vocabulary is of the train split alone:

    count       values that are there; of a sequence feature, elements of all sequences together
    missing     NULL or NaN in their place
    mean, stddev (population: divided by count), min, max
    quantiles   21 values at 0, 5, 10 .. 100 percent: min, ..., max. At most 0.5 percentage points
                of rank away from the exact ones (exporting/quantiles.py)
    lengths     of all rows' sequences, empty ones included
    of a text   all of these are of the texts' lengths in characters
    vocabulary  the most frequent terms, at most as many as columns.json allows: by falling
                frequency, equals by name; `frequencies` are their counts, `other` the rows with
                another term (count = sum of frequencies + other)
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast, get_args

from trellis_contracts.files import Part, optional

# Kinds of features; a manifest's one column has the name of its kind.
IMAGE = "image"
# Kinds of values of a table, and the vectors of the record that hold them; a sequence and a text
# have one of their own.
NUMERIC, BOOLEAN, CATEGORICAL, TIMESTAMP, SEQUENCE, TEXT = TABLE_KINDS = (
    "numeric",
    "boolean",
    "categorical",
    "timestamp",
    "sequence",
    "text",
)
VECTORS = {NUMERIC: (NUMERIC, BOOLEAN), CATEGORICAL: (CATEGORICAL,), TIMESTAMP: (TIMESTAMP,)}

BUCKET = r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]/"
IMAGE_ADDRESS = BUCKET + r"(?P<key>(?s:.*)[^/])"
"""Regular expressions of a bucket's address and of an image's, for Python, Arrow and BigQuery
alike. key: the name of the object.
"""

IMAGE_RULE = 2
"""How image files become records. Raise it when the same file gives another record: after a change
of trainer.images, or an upgrade of OpenCV or Pillow that changes pixels (a test fails then). It is
part of the fingerprint, so that datasets of another rule are exported again.
"""

# How an image of another shape becomes the dataset's: trainer.images has the three ways.
Resize = Literal["stretch", "letterbox", "crop"]
RESIZES: tuple[Resize, ...] = get_args(Resize)

MEAN = "mean"
Pages = str
"""Which page of a TIFF file, or frame of a DICOM file, is the image: its number from 1 on, in
digits, `first`, or `mean`, the mean of all.
"""

# Codes in a record: NULL, a term outside the vocabulary, the vocabulary's first term.
NULL_TERM, UNKNOWN_TERM, FIRST_TERM = 0, 1, 2
NULL_TIMESTAMP = -(2**63)
# NULL of a text or term in a row that is asked for, before it is a record; no UTF-8.
NULL_TEXT = b"\xff"

QUANTILES = 21

SPANS = 20
"""Equal spans of time, up to the longest of the train split, in which events are counted."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Statistics(Part):
    """Statistics of numbers in the train split; the module's docstring defines each. Timestamps in
    seconds.

    min_length, max_length, mean_length: of sequences, else None.
    """

    count: int
    missing: int
    mean: float
    stddev: float
    min: float
    max: float
    quantiles: tuple[float, ...]
    min_length: int | None = optional()
    max_length: int | None = optional()
    mean_length: float | None = optional()

    @property
    def standard(self) -> tuple[float, float]:
        """Mean and divisor that make values standard."""
        if not self.count:
            return 0.0, 1.0
        constant = self.min == self.max
        return self.mean, 1.0 if constant else self.stddev or 1.0


@dataclass(frozen=True)
class TermStatistics(Part):
    """Statistics of a categorical feature in the train split. frequencies[i] belongs to
    vocabulary[i].
    """

    count: int
    missing: int
    other: int
    frequencies: tuple[int, ...]


@dataclass(frozen=True)
class Feature(Part):
    """One input of a model; the module's docstring says which kind has which fields.

    shape is (height, width, channels) for kind "image", (None,) for "sequence", else (). encoding
    is that of an image's train split; resize, how images of another shape became that size (None:
    stretched, as before there was a choice); scale, how values became 16 bits (None: they had 8),
    as trainer.images.scale writes it; pages, which page of a file of several is the image (None:
    such files are refused). The properties are the fields that a kind must have; they raise
    TypeError for another kind.
    """

    name: str
    kind: str
    dtype: str
    encoding: str | None = optional()
    shape: tuple[int | None, ...] = ()
    column: str = ""
    index: int | None = optional()
    vocabulary: tuple[str, ...] | None = optional()
    statistics: Statistics | TermStatistics | None = optional()
    resize: Resize | None = optional()
    scale: str | None = optional()
    pages: Pages | None = optional()

    def __post_init__(self) -> None:
        if not self.column:
            object.__setattr__(self, "column", self.name)

    def to_document(self) -> dict[str, Any]:
        """See Part."""
        rule = {"rule": IMAGE_RULE} if self.kind == IMAGE else {}
        return super().to_document() | rule

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of an image."""
        if self.kind != IMAGE:
            raise TypeError(f"feature {self.name!r} is {self.kind}, not an image")
        return cast(tuple[int, int, int], self.shape)

    @property
    def image_resize(self) -> Resize:
        """The way in which images of another shape became `image_shape`."""
        return self.resize or "stretch"

    @property
    def white(self) -> int:
        """The largest value of an image's pixels."""
        return 65_535 if self.dtype == "uint16" else 255

    def encoding_of(self, split: str) -> str:
        """Encoding of a split's images: png or jpeg."""
        return _present(self.encoding, self, "encoding") if split == "train" else "png"

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
        """The feature of the record that holds this one: a vector, or one of its own."""
        if self.kind == IMAGE:
            return self.beside(IMAGE)
        vector = next((name for name, kinds in VECTORS.items() if self.kind in kinds), None)
        return vector or f"{self.kind}/{self.column}"

    def beside(self, what: str) -> str:
        """The feature of the record that holds this image, its `uri` or its `crc32c`."""
        return what if self.column == IMAGE else f"{what}/{self.column}"


@dataclass(frozen=True)
class Event(Part):
    """The event that a label's time leads to, or until which it was not seen (censored).

    column: of whether it happened, in the source. events, censored: examples with an event, and
    without, by split, in each of SPANS equal spans of the train split's longest time. quantiles: of
    the times of the train split's events, as in Statistics. horizons: rising times, at which the
    probability of survival is served. times: rising, the horizons among them: those at which every
    contender predicts it, so that all are scored at the same. All times are in the unit of the
    label's column.
    """

    column: str
    events: Mapping[str, tuple[int, ...]]
    censored: Mapping[str, tuple[int, ...]]
    quantiles: tuple[float, ...]
    horizons: tuple[float, ...]
    times: tuple[float, ...]

    @classmethod
    def of(
        cls,
        column: str,
        quantiles: tuple[float, ...],
        horizons: tuple[float, ...],
    ) -> "Event":
        """Choose the times: the quantiles but the first and the last, and the horizons, by default
        the quartiles.
        """
        quarter = (QUANTILES - 1) // 4
        chosen = horizons or (*quantiles[quarter:-1:quarter],)
        chosen = tuple(sorted({time for time in chosen if time > 0}))
        inner = (time for time in quantiles[1:-1] if time > 0)
        return cls(column, {}, {}, quantiles, chosen, tuple(sorted({*inner, *chosen})))

    def count(self, split: str) -> int:
        """Examples of a split that have the event."""
        return sum(self.events[split])


@dataclass(frozen=True)
class Label(Part):
    """The feature that holds the class index or the set of classes (int64), the value to predict
    (float32), or a mask (uint8).

    column: its name in a table's source. statistics: of a number's values. event: of a time to an
    event. outputs: of a time to an event, those of a model, which its objective decides; never in
    dataset.json. shape: (height, width, 1) of masks, else (). encoding: of masks, png.
    """

    name: str = "label"
    dtype: str = "int64"
    column: str | None = optional()
    statistics: Statistics | None = optional()
    event: Event | None = optional()
    outputs: int | None = optional()
    shape: tuple[int, ...] = optional(())
    encoding: str | None = optional()

    @property
    def number_statistics(self) -> Statistics:
        """Statistics of a number's values. Raises TypeError for a classification."""
        if self.statistics is None:
            raise TypeError("the label has no statistics: it is a class")
        return self.statistics

    @property
    def of_event(self) -> Event:
        """The event of a time to one. Raises TypeError for another task."""
        if self.event is None:
            raise TypeError("the label is no time to an event")
        return self.event

    @property
    def times(self) -> tuple[float, ...]:
        """The times of an answer's curve; () of an answer without one."""
        return self.event.times if self.event else ()

    @property
    def horizons(self) -> tuple[float, ...]:
        """Those of the times that are served."""
        return self.event.horizons if self.event else ()

    @property
    def values(self) -> int:
        """How many values a record's label has."""
        return 1 if self.event is None else 2

    @classmethod
    def of_masks(cls, images: Feature, column: str | None = None) -> "Label":
        """The label of masks, which have the size of these images."""
        height, width, _ = images.image_shape
        return cls("label", "uint8", column, shape=(height, width, 1), encoding="png")

    @property
    def pixels(self) -> int:
        """Pixels of a mask; 1 of other labels."""
        return math.prod(self.shape)

    @property
    def mask_shape(self) -> tuple[int, int]:
        """(height, width) of masks. Raises TypeError for another label."""
        if self.encoding is None:
            raise TypeError("the label is no mask")
        height, width, _ = self.shape
        return height, width


@dataclass(frozen=True)
class Weight(Part):
    """Weights of a table's rows in the loss of training; never a feature.

    column: its name in the source. statistics: of the train split. classes: the sum of the train
    split's weights by class; {}: regression. name: of the record's feature.
    """

    column: str
    statistics: Statistics
    classes: Mapping[str, float] = field(default_factory=dict)
    name: str = "weight"

    @property
    def effective(self) -> float:
        """Number of equally weighted examples with the same information about a mean: (sum of the
        weights)² / sum of their squares (Kish, Survey Sampling, 1965).
        """
        known = self.statistics
        return known.count * known.mean**2 / (known.mean**2 + known.stddev**2)


def _present(value: Value | None, feature: Feature, field_name: str) -> Value:
    if value is None:
        raise TypeError(f"feature {feature.name!r} is {feature.kind} and has no {field_name}")
    return value
