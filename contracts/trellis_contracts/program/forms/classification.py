"""A program that learns one class of each example."""

from typing import TYPE_CHECKING, Any, ClassVar

from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.program.forms import Form

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Of(Form):
    """See the module."""

    label = "`label`, the name of the class; its index is that in dataset.json"
    scores = "(n, classes): a probability for each class, in the order of dataset.json"
    predictions = (
        "label (int32): index of the true class; probabilities (list<float>): one a class, in the "
        "order of dataset.json. Metadata: classes (JSON list)"
    )
    loss = "the log loss"
    answer = '{"label": CLASS, "probabilities": {CLASS: NUMBER, ...}}'
    rules: ClassVar = {
        "sum": "probabilities are from 0 to 1, and of one class for each example sum to 1"
    }

    def shape(self, about: DatasetDescription) -> tuple[int, ...]:
        return (len(about.classes),)

    def header(self, about: DatasetDescription) -> PredictionsHeader:
        return PredictionsHeader(classes=tuple(about.classes))

    def columns(self, about: DatasetDescription, rows: "pa.Table", scores: "np.ndarray") -> Any:
        import pyarrow as pa

        places = {name: place for place, name in enumerate(about.classes)}
        labels = [places[str(label)] for label in rows["label"].to_pylist()]
        probabilities = pa.array(scores.tolist(), pa.list_(pa.float32()))
        return [pa.array(labels, pa.int32()), probabilities]
