"""Labels that are numbers."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from trainer.exporting import ExportError
from trainer.exporting.number_statistics import Numbers
from trainer.exporting.tables.checks import usable
from trainer.exporting.tables.labels.form import Block, LabelForm
from trainer.exporting.tables.summaries import Summary
from trellis_contracts.dataset_features import Feature, Label
from trellis_contracts.withheld import quoted


class Form(LabelForm):
    """See the module."""

    block: ClassVar[Block] = (("label", pa.float32()),)

    def read(self, batch, keys, findings):
        return [pa.array(usable(batch.column("label"), self._title, keys, findings))]

    def summaries(self, block: pa.RecordBatch, order: np.ndarray) -> dict[str, Summary]:
        return {"label": Numbers.of(block.column("label").to_numpy()[order])}

    def described(
        self, features: Sequence[Feature], summary: Mapping[str, Summary], name: str | None
    ) -> Label:
        found = summary["label"]
        assert isinstance(found, Numbers)
        statistics = found.statistics()
        if statistics.min == statistics.max:
            raise ExportError(
                f"{self._title} is {quoted(str(statistics.min), 'the same')} in every row of the "
                "train split; there is nothing to learn"
            )
        return Label(dtype="float32", column=name, statistics=statistics)

    def encoded(self, block, classes, files):
        return block.column("label").to_numpy()
