"""A program that learns a number."""

from typing import TYPE_CHECKING, Any

from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.program.forms import Form
from trellis_contracts.tasks import REGRESSION

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Of(Form):
    """See the module."""

    label = "`label`, the value"
    scores = "(n,): the values, in the label's unit"
    predictions = (
        "label (double): the true value; value (double): the predicted one, in the same unit. "
        "Metadata: task=regression"
    )
    loss = "the mean squared error in units of the label's variance on the train split"
    answer = '{"value": NUMBER}'

    def shape(self, about: DatasetDescription) -> tuple[int, ...]:
        return ()

    def header(self, about: DatasetDescription) -> PredictionsHeader:
        return PredictionsHeader(task=REGRESSION)

    def columns(self, about: DatasetDescription, rows: "pa.Table", scores: "np.ndarray") -> Any:
        import pyarrow as pa

        return [rows["label"].cast(pa.float64()), pa.array(scores, pa.float64())]
