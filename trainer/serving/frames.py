"""Rows of a pandas frame, as they are in the source -> predictions, as the endpoint answers them.

The values are read by what reads requests (trainer.serving.rows, trainer.serving.images), once they
are what JSON would hold:

    numeric      any number; NUMERIC and BIGNUMERIC are decimals
    boolean      a bool
    categorical  a string, or a whole number; also as a float, which pandas makes of an INT64
                 column with NULLs
    timestamp    a datetime of any unit and time zone, a date, or a string; UTC without a
                 zone. Never a number, whose unit would be unknown
    sequence     a list, a tuple or an array of numbers
    text         a string
    image        the file's bytes, its gs:// address, or its path on this machine

None, NaN, NaT and pandas.NA are NULL. Columns are found by the features' names in the source, in
any case; others are ignored, as a source has its key and label, too.
"""

import decimal
import difflib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trainer.images import ImageError
from trainer.serving.errors import MAX_VIOLATIONS, InvalidFieldError
from trainer.serving.images import ImageInput, inspect
from trainer.serving.limits import MAX_BATCH
from trainer.serving.model import Model
from trainer.serving.rows import Field, Row, RowReader
from trellis_contracts.dataset_features import CATEGORICAL, IMAGE, NUMERIC, SEQUENCE, TIMESTAMP

Fetch = Callable[[str], bytes]
"""Reads the object at a gs:// address. Raises OSError or ValueError."""


class FrameError(ValueError):
    """A frame that the model cannot predict; the message names every wrong column or row."""


def predict(model: Model, frame: pd.DataFrame, fetch: Fetch) -> pd.DataFrame:
    """The model's predictions, a row for each of the frame's, under the frame's index.

    Columns: of a classification predicted, a class, and p.CLASS for each class (float32); of a
    multi-label task the same, but predicted is a tuple of classes; of a regression predicted, in
    the label's unit; of a time to an event risk, and survival.TIME for each horizon; of a
    segmentation mask, indices of classes (height, width) uint8, and share.CLASS for each class.
    Raises FrameError, and ServingError if the model fails.
    """
    examples = _rows(model.rows, frame, fetch)
    answers: list[dict[str, Any]] = []
    while batch := list(itertools.islice(examples, MAX_BATCH)):
        for answer in model.predict(batch):
            if isinstance(answer, Exception):
                raise answer
            answers.append(answer)
    return pd.DataFrame(model.about.form.columns(model.about, answers), index=frame.index)


def _rows(reader: RowReader, frame: pd.DataFrame, fetch: Fetch) -> Iterator[Row]:
    """All but images are read before the first is given: nothing is computed for a wrong value."""
    places = _places([field.name for field in reader.fields], frame)
    wrong: list[str] = []
    columns: list[Sequence[Any]] = []
    for field in reader.fields:
        cells = frame.iloc[:, places[field.name]]
        columns.append(cells.tolist() if field.kind == IMAGE else _values(field, cells, wrong))
    if wrong:
        raise FrameError(_several(wrong))

    def rows() -> Iterator[Row]:
        for row, *values in zip(frame.index, *columns, strict=True):
            for place in reader.images:
                field = reader.fields[place]
                assert field.image is not None
                try:
                    values[place] = _pixels(field.image, values[place], fetch)
                except (ImageError, OSError, ValueError) as error:
                    raise FrameError(f"row {row!r}, {field.name}: {error}") from error
            yield Row(tuple(values))

    return rows()


def _places(names: Sequence[str], frame: pd.DataFrame) -> Mapping[str, int]:
    """The place of each name among the frame's columns."""
    places: dict[str, list[int]] = {}
    for place, column in enumerate(frame.columns):
        places.setdefault(str(column).lower(), []).append(place)
    wrong = []
    for name in names:
        count = len(places.get(name.lower(), ()))
        if not count:
            near = difflib.get_close_matches(name.lower(), places, 1)
            hint = f"; is it {frame.columns[places[near[0]][0]]!r}?" if near else ""
            wrong.append(f"there is no column {name!r}{hint}")
        elif count > 1:
            wrong.append(f"{count} columns are called {name!r}, in any case")
    if wrong:
        raise FrameError(_several(wrong))
    return {name: places[name.lower()][0] for name in names}


def _values(field: Field, column: pd.Series, wrong: list[str]) -> list[Any]:
    """The column as the model's reader reads it from JSON. wrong: collects what cannot be read."""
    read = []
    for place, value in enumerate(column.tolist()):
        try:
            read.append(field.read(_plain(field.kind, value)))
        except InvalidFieldError as error:
            row = column.index[place]
            wrong.append(f"row {row!r}, {field.name}{error.path}: {error}")
    return read


def _plain(kind: str, value: Any) -> Any:
    """A value as JSON has it. Raises InvalidFieldError for what no source holds."""
    if kind == SEQUENCE and isinstance(value, list | tuple | np.ndarray | pd.Series):
        return [_plain(NUMERIC, element) for element in value]
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, float | decimal.Decimal) and math.isnan(value):
        return None
    if isinstance(value, decimal.Decimal):
        return float(value)
    if kind == CATEGORICAL and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == TIMESTAMP and hasattr(value, "isoformat"):
        return value.isoformat()
    if not isinstance(value, bool | int | float | str | list):
        reason = f"a value of type {type(value).__name__} is none of a {kind} feature"
        raise InvalidFieldError("", reason)
    return value


def _pixels(image: ImageInput, cell: Any, fetch: Fetch) -> np.ndarray:
    return image.pixels(inspect(_file(cell, fetch)).data)


def _file(cell: Any, fetch: Fetch) -> bytes:
    if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        raise ValueError("there is no image")
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell)
    if isinstance(cell, str) and cell.startswith("gs://"):
        return fetch(cell)
    if isinstance(cell, str | Path):
        return Path(cell).read_bytes()
    raise ValueError(
        "expected the bytes of an image file, its gs:// address or its path, got a value of type "
        f"{type(cell).__name__}"
    )


def _several(wrong: Sequence[str]) -> str:
    more = len(wrong) - MAX_VIOLATIONS
    return "; ".join(wrong[:MAX_VIOLATIONS]) + (f"; and {more} more" if more > 0 else "")
