"""Labels that are sets of classes: one text of their names."""

import numpy as np

from trainer import label_sets
from trainer.exporting import ExportError
from trainer.exporting.tables.checks import STRING, where
from trainer.exporting.tables.labels import names
from trellis_contracts.tasks import MULTILABEL_MAX_CLASSES, SEPARATOR


class Form(names.Form):
    """See the module."""

    def read(self, batch, keys, findings):
        array = batch.column("label").cast(STRING)
        missing = array.is_null().to_numpy(zero_copy_only=False)
        what = f"{self._title} is NULL: of a row without a class it is empty"
        findings.add(what, where(keys, missing))
        return [array]

    def _check(self, classes, found):
        if not 2 <= len(classes) <= MULTILABEL_MAX_CLASSES:
            raise ExportError(
                f"{found}, which are separated by {SEPARATOR!r}; a multi-label task has 2 to "
                f"{MULTILABEL_MAX_CLASSES}"
            )

    def encoded(self, block, classes, files):
        encoded = block.column("label").dictionary_encode()
        sets = [
            label_sets.of(map(classes.index, self._columns.classes_in(text)))
            for text in encoded.dictionary.to_pylist()
        ]
        return np.array(sets, np.int64)[encoded.indices.to_numpy()]
