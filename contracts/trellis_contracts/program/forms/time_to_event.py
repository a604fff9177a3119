"""A program that learns the time to an event."""

from typing import TYPE_CHECKING, Any, ClassVar

from trellis_contracts.columns import EVENT
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.program.forms import Form
from trellis_contracts.tasks import SURVIVAL

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Of(Form):
    """See the module."""

    label = (
        f"`label`, the time, and `{EVENT}`, 1 if the event happened then, 0 if it was not seen "
        "until then; `label` of a TFRecord has both. `label.event` of dataset.json has `times`, at "
        "which survival is predicted, and those of them that are `horizons`"
    )
    scores = "(n, 1 + times): the risk, then the probability of survival at each of the `times`"
    predictions = (
        "label (double): the time; event (bool): whether the event happened then; risk (double): "
        "the higher, the sooner; survival (list<double>): the probability that it has not happened "
        "until each of the `times`. Metadata: task=time_to_event, times (JSON list)"
    )
    loss = "one of the program's own; of models with equal metrics, that with the least is taken"
    answer = '{"risk": NUMBER, "survival": {HORIZON: NUMBER, ...}}, a horizon as 365 or 0.5'
    rules: ClassVar = {
        "curve": "probabilities of survival are from 0 to 1, and none is higher than one before it"
    }

    def shape(self, about: DatasetDescription) -> tuple[int, ...]:
        return (1 + len(about.label.times),)

    def header(self, about: DatasetDescription) -> PredictionsHeader:
        return PredictionsHeader(SURVIVAL, times=about.label.times)

    def columns(self, about: DatasetDescription, rows: "pa.Table", scores: "np.ndarray") -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        return [
            rows["label"].cast(pa.float64()),
            pc.equal(rows[EVENT], 1),
            pa.array(scores[:, 0], pa.float64()),
            pa.array(scores[:, 1:].tolist(), pa.list_(pa.float64())),
        ]
