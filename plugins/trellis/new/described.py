"""What is known of somebody's data before there is an experiment."""

from collections.abc import Mapping
from dataclasses import dataclass, field


class DataError(ValueError):
    """The data cannot be used as they are; the message says what to do."""


@dataclass(frozen=True)
class Column:
    """A column and its values. type: as GoogleSQL writes it. distinct: 0 where values are not
    counted (arrays, and types that no model reads).
    """

    name: str
    type: str
    nulls: int = 0
    distinct: int = 0


@dataclass(frozen=True)
class Rows:
    """A table. address: DATASET.TABLE. bytes: what reading all of it is billed for, 0 if unknown.
    partition: the column that it is partitioned by. distinct: rows that differ in any column; None
    if they were not counted.
    """

    address: str
    rows: int
    columns: tuple[Column, ...]
    bytes: int = 0
    partition: str | None = None
    distinct: int | None = None

    @property
    def copies(self) -> int:
        """Rows that equal an earlier one; 0 if they were not counted."""
        return 0 if self.distinct is None else self.rows - self.distinct

    def column(self, name: str) -> Column | None:
        """The column of a name, in any case, as BigQuery takes names."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class Images:
    """A manifest's images. classes: number of images by class. size: of one side, in pixels, the
    median of those looked at. resize: letterbox if those have several shapes, else stretch.
    count: of images. grouped: every line names a group after the label. frozen: every line names
    its split. several: lines have any number of labels.
    """

    address: str
    classes: Mapping[str, int] = field(default_factory=dict)
    size: int = 64
    channels: int = 3
    resize: str = "stretch"
    grouped: bool = False
    frozen: bool = False
    several: bool = False
    count: int = 0
