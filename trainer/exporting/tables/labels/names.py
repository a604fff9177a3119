"""Labels that are the name of a class."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.exporting import ExportError
from trainer.exporting.classes import check_number_of_classes, in_order
from trainer.exporting.tables.checks import STRING, where
from trainer.exporting.tables.findings import listed, values
from trainer.exporting.tables.labels.form import LabelForm
from trellis_contracts.tasks import TASKS
from trellis_contracts.withheld import quoted


class Form(LabelForm):
    """See the module."""

    def read(self, batch, keys, findings):
        array = batch.column("label").cast(STRING)
        empty = pc.equal(array.fill_null(""), "").to_numpy(zero_copy_only=False)
        findings.add(f"{self._title} is NULL or empty", where(keys, empty))
        return [array]

    def classes(self, counts: Mapping[str, np.ndarray]) -> tuple[str, ...]:
        classes = in_order(counts, self._columns.positive)
        named = quoted(f" ({listed(classes)})", "")
        check_number_of_classes(classes, self._columns.label)
        self._check(classes, f"{self._title} has {len(classes)} classes{named}")
        if len(classes) < 2:
            raise ExportError(
                f"{self._title} is {quoted(repr(classes[0]), 'the same')} in every row; a "
                "classifier needs at least two classes"
            )
        if absent := [name for name in classes if not counts[name][0]]:
            raise ExportError(
                f"no row in the train split for {len(absent)} of {len(classes)} classes of "
                f"{self._title}: {values(absent)}; add rows of them or remove theirs"
            )
        return classes

    def _check(self, classes: tuple[str, ...], found: str) -> None:
        """Raise ExportError if the task has fewer classes. found: for the message."""
        most = TASKS[self._columns.task].max_classes
        if most is not None and len(classes) > most:
            raise ExportError(
                f"{found}, but the task is {self._columns.task}; choose multiclass_classification"
            )

    def encoded(self, block, classes, files):
        label = block.column("label")
        return pc.index_in(label, pa.array(classes, label.type)).to_numpy()
