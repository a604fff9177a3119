"""A request's body -> rows, or an error that names every wrong field.

    {"instances": [{"radius_mean": 17.9, "smoker": false, "site": "left", "stage": null,
                    "taken": "2024-02-29T12:00:00Z", "pulse": [61.0, 63.5]}]}

An instance has every feature of the model, under its name in the source, in upper or lower case
as in BigQuery. null means that the value is not known. The dataset's column of a feature (`column`
in dataset.json, Groe_cm for Größe-cm) is accepted as well: batch prediction sends it, and so do
clients that were written when nothing else was accepted. How a value is written depends on the
feature's kind:

    numeric      a number; or a string of one, as BigQuery writes NUMERIC and large INT64 in JSON
    boolean      true or false
    categorical  a string, or a whole number, which is read as its digits. A term outside the
                 vocabulary is allowed: the model treats all such terms alike
    timestamp    a string as RFC 3339 or BigQuery write it: "2024-02-29T12:00:00.5+01:00",
                 "2024-02-29 12:00:00 UTC", "2024-02-29". Without an offset it is UTC
    sequence     a list of numbers; null is an element that is not known
    text         a string
    image        {"b64": "..."} or "gs://BUCKET/OBJECT", as trainer.serving.image_values reads it.
                 Never null: there is no example without its images

Where the only feature is an image, {"b64": "..."} is an instance, too: so batch prediction sends
the files of a `file-list`.
"""

import datetime
import difflib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainer.images import ImageError
from trainer.serving import image_values, parameters
from trainer.serving.errors import (
    MAX_VIOLATIONS,
    InvalidFieldError,
    InvalidInstanceError,
    InvalidRequestError,
    Violation,
    short,
)
from trainer.serving.images import EncodedImage, ImageInput
from trainer.serving.instances import kind_of, unwrap
from trainer.serving.parameters import Request
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NULL_TEXT,
    NULL_TIMESTAMP,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
)

# Numbers that round to infinity in float32, which the model uses; the export refuses the same.
_INFINITE = 2.0**128 - 2.0**103
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)

# BIGNUMERIC has 39 digits before the point and 38 behind. Not NaN, not infinity.
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 80
# Length of a name in BigQuery: https://cloud.google.com/bigquery/docs/schemas#column_names
_LONGEST_COLUMN = 300

# NULL among raw columns.
NULLS = {
    NUMERIC: math.nan,
    BOOLEAN: math.nan,
    CATEGORICAL: NULL_TEXT,
    TIMESTAMP: NULL_TIMESTAMP,
    SEQUENCE: [],
    TEXT: NULL_TEXT,
}


@dataclass(frozen=True)
class Field:
    """A feature. column: its name in the dataset; input: its name in the model's signature.

    limit: how many elements of a sequence the model reads. name: in the source, and in requests,
    answers and messages. image: of an image alone, what the model takes of its file.
    """

    column: str
    kind: str
    input: str
    limit: int
    name: str
    image: ImageInput | None = None

    def read(self, value: Any) -> Any:
        """A value of an instance as the model's signature takes it; of an image, its file or
        address. Raises InvalidFieldError.
        """
        if self.kind == IMAGE:
            return image_values.read(value, self.name)
        if value is None:
            return NULLS[self.kind]
        if self.kind == SEQUENCE:
            return _sequence(value, self.limit)
        return _READERS[self.kind](value)

    @property
    def missing(self) -> Any:
        """NULL in the model's signature; of an image, black pixels."""
        if self.image is not None:
            return np.zeros(self.image.shape, self.image.type)
        return NULLS[self.kind]


@dataclass(frozen=True)
class Row:
    """An instance: a value for each of the model's fields, in their order."""

    values: tuple[Any, ...]

    @property
    def cost(self) -> int:
        """Size in a batch, in values, and of images in pixels; see trainer.serving.limits."""
        total = len(self.values)
        for value in self.values:
            if isinstance(value, list):
                total += len(value) - 1
            elif isinstance(value, EncodedImage):
                total += value.cost - 1
        return total


class RowReader:
    """Reads requests for one model. fields: its features, in order; images: places of the images
    among them.
    """

    def __init__(self, fields: Sequence[Field]):
        self.fields = list(fields)
        self._fields = {field.name: field for field in fields}
        self.images = [place for place, field in enumerate(fields) if field.kind == IMAGE]
        self.options = parameters.options(
            columns=len(fields) > 1 or not self.images, images=bool(self.images)
        )
        self._takes_files = len(fields) == len(self.images) == 1
        # No column is another feature's name: contracts.table of Airflow's side sees to it.
        self._known = {field.column.lower(): field for field in fields}
        self._known |= {field.name.lower(): field for field in fields}
        few = ", ".join(f'"{name}": ...' for name in list(self._fields)[:3])
        self._expected = "{" + few + (", ..." if len(fields) > 3 else "") + "}"

    @property
    def pixels(self) -> int:
        """Pixels of all images of one example, as the model takes them."""
        return sum(field.image.size for field in self.fields if field.image is not None)

    def nulls(self) -> Row:
        """A row of missing values, its images decoded."""
        return Row(tuple(field.missing for field in self._fields.values()))

    def decoded(self, row: Row) -> Row:
        """The row with its images' pixels in the place of their files.

        Raises InvalidInstanceError.
        """
        if not self.images:
            return row
        values = list(row.values)
        wrong = []
        for place in self.images:
            image = self.fields[place].image
            assert image is not None
            try:
                values[place] = image.pixels(values[place].data)
            except ImageError as error:
                wrong.append(InvalidFieldError(values[place].path, str(error)))
        if wrong:
            raise InvalidInstanceError(wrong)
        return Row(tuple(values))

    def read(self, body: bytes) -> Request[Row]:
        """The request, its instances in order. Raises InvalidRequestError."""
        rows: list[Row] = []
        violations: list[Violation] = []
        request = unwrap(body, self._expected, self.options)
        for index, instance in enumerate(request.instances):
            wrong: list[InvalidFieldError] = []
            row = self._row(instance, wrong, hints=len(violations) < MAX_VIOLATIONS)
            violations += [error.of_instance(index) for error in wrong]
            if row:
                rows.append(row)
        if violations:
            raise InvalidRequestError(violations)
        return Request(rows, request.explain)

    def _row(self, instance: Any, wrong: list[InvalidFieldError], hints: bool) -> Row | None:
        if not isinstance(instance, dict):
            reason = f"expected {self._expected}, got {kind_of(instance)}"
            wrong.append(InvalidFieldError("", reason))
            return None
        if self._takes_files and "b64" not in self._known and image_values.is_file(instance):
            instance = {self.fields[0].name: instance}
        given, unknown = self._given(instance, wrong)
        missing = [name for name in self._fields if name not in given]
        for names, what in ((unknown, "are not features of this model"), (missing, "are missing")):
            if len(names) > MAX_VIOLATIONS:
                reason = f"{len(names)} fields {what}, such as {short(names[0])}"
                wrong.append(InvalidFieldError("", f"{reason}; expected {self._expected}"))
        if wrong:
            return None
        for name in unknown:
            hint = self._hint(name) if hints else ""
            wrong.append(InvalidFieldError(short(name), f"not a feature of this model{hint}"))
        values = []
        for name, field in self._fields.items():
            if name not in given:
                hint = "" if field.kind == IMAGE else "; use null if the value is not known"
                wrong.append(InvalidFieldError(name, f"missing{hint}"))
                continue
            try:
                values.append(field.read(given[name]))
            except InvalidFieldError as error:
                wrong.append(InvalidFieldError(name + error.path, str(error)))
        return Row(tuple(values))

    def _given(
        self, instance: dict[str, Any], wrong: list[InvalidFieldError]
    ) -> tuple[dict[str, Any], list[str]]:
        """The values by the features' names, and the names that are none."""
        if instance.keys() == self._fields.keys():
            return instance, []
        given: dict[str, Any] = {}
        written: dict[str, str] = {}
        unknown = []
        for name, value in instance.items():
            field = self._known.get(name.lower())
            if field is None:
                unknown.append(name)
            elif field.name in given:
                twice = f"given twice, as {written[field.name]} and as {name}"
                wrong.append(InvalidFieldError(field.name, twice))
            else:
                given[field.name], written[field.name] = value, name
        return given, unknown

    def _hint(self, name: str) -> str:
        """A similar name. The search takes milliseconds, so only names that are shown get one."""
        if len(name) > _LONGEST_COLUMN:
            return ""
        near = difflib.get_close_matches(name.lower(), self._known, 1)
        return f"; did you mean {self._known[near[0]].name}?" if near else ""


def _number(value: Any) -> float:
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and _DECIMAL.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        found = repr(value) if isinstance(value, str) and len(value) <= 30 else kind_of(value)
        raise InvalidFieldError("", f"expected a number or null, got {found}")
    if abs(value) >= _INFINITE:
        raise InvalidFieldError("", f"{value:.3g} is out of the range of float32")
    return float(value)


def _boolean(value: Any) -> float:
    if not isinstance(value, bool):
        raise InvalidFieldError("", f"expected true, false or null, got {kind_of(value)}")
    return float(value)


def _term(value: Any) -> bytes:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise InvalidFieldError(
            "", f"expected a string, a whole number or null, got {kind_of(value)}"
        )
    return value.encode()


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise InvalidFieldError("", f"expected a string or null, got {kind_of(value)}")
    return value.encode()


def _time(value: Any) -> int:
    if not isinstance(value, str):
        raise InvalidFieldError(
            "", f'expected a time like "2024-02-29T12:00:00Z" or null, got {kind_of(value)}'
        )
    try:
        time = datetime.datetime.fromisoformat(value.removesuffix(" UTC"))
    except ValueError as error:
        raise InvalidFieldError(
            "", f'not a time like "2024-02-29T12:00:00Z": {short(value)!r}'
        ) from error
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.UTC)
    return (time - _EPOCH) // _MICROSECOND


def _sequence(value: Any, limit: int) -> list[float]:
    if not isinstance(value, list):
        raise InvalidFieldError("", f"expected a list of numbers or null, got {kind_of(value)}")
    elements = []
    for index, element in enumerate(value):
        try:
            elements.append(math.nan if element is None else _number(element))
        except InvalidFieldError as error:
            raise InvalidFieldError(f"[{index}]", str(error)) from error
    # The model reads no more, and one long sequence would make its whole batch as long.
    return elements[:limit]


_READERS: dict[str, Callable[[Any], Any]] = {
    NUMERIC: _number,
    BOOLEAN: _boolean,
    CATEGORICAL: _term,
    TIMESTAMP: _time,
    TEXT: _text,
}
