"""Interface of a form of labels."""

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from trainer.exporting.images.reading import Read, StoredImage
from trainer.exporting.tables.checks import STRING
from trainer.exporting.tables.findings import Findings
from trainer.exporting.tables.summaries import Summary
from trainer.exporting.tfrecord import Column
from trellis_contracts.columns import Columns
from trellis_contracts.dataset import Counts
from trellis_contracts.dataset_features import Feature, Label

Block = tuple[tuple[str, pa.DataType], ...]
"""Names and types of columns."""

Tallies = Mapping[str, np.ndarray]
"""By split, the sum of what `tally` counts; without splits that have no rows."""


class LabelForm(abc.ABC):
    """The labels of a table. block: the columns of a block that hold them (tables/rows.py).
    of_files: whether a label is the address of a file, which is read with the row's images.
    """

    block: ClassVar[Block] = (("label", STRING),)
    of_files: ClassVar[bool] = False

    def __init__(self, columns: Columns):
        self._columns = columns
        self._title = f"the label ({columns.label})"

    @abc.abstractmethod
    def read(self, batch: pa.RecordBatch, keys: pa.Array, findings: Findings) -> list[pa.Array]:
        """The arrays of `block`, of Parquet's rows. findings: gets the rows that have none."""

    def summaries(self, block: pa.RecordBatch, order: np.ndarray) -> dict[str, Summary]:
        """Statistics of the train split. order: of the rows by fingerprint and key."""
        return {}

    def classes(self, counts: Mapping[str, np.ndarray]) -> tuple[str, ...]:
        """The classes of all rows. counts: rows by split, by the class's name. Raises ExportError
        if they cannot be learned.
        """
        return ()

    def described(
        self, features: Sequence[Feature], summary: Mapping[str, Summary], name: str | None
    ) -> Label:
        """The label of dataset.json. name: in the source. Raises ExportError if there is nothing to
        learn.
        """
        return Label(column=name)

    def encoded(
        self, block: pa.RecordBatch, classes: Sequence[str], files: Sequence[Any]
    ) -> Column:
        """The records' labels. files: what `file` has read of these rows."""
        raise NotImplementedError

    def file(self, address: str, image: StoredImage, images: Feature, read: Read) -> Any:
        """A label's file, or in text why it is unusable. image, images: the row's first image, and
        how dataset.json describes its column.
        """
        raise NotImplementedError

    def refuse(self, addresses: Sequence[str], read: Read) -> None:
        """Raise ExportError if none of a few files can be a label."""
        raise NotImplementedError

    def tally(self, block: pa.RecordBatch, label: Label, files: Sequence[Any]) -> np.ndarray | None:
        """What `counted` needs of these rows, as numbers that are added. files: as of `encoded`."""
        return None

    def counted(
        self, label: Label, counts: dict[str, Counts], tallies: Tallies
    ) -> tuple[Label, dict[str, Counts], Iterable[str]]:
        """The label and the counts as they are after all rows have been read, and warnings. Raises
        ExportError if a split cannot be learned from, or not be scored.
        """
        return label, counts, ()
