"""A program that learns a number of events."""

from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.program.forms import regression


class Of(regression.Of):
    """See the module."""

    label = "`label`, the number of events"
    scores = "(n,): the expected numbers"
    predictions = (
        "label (double): the true number; value (double): the expected one. Metadata: task=count"
    )
    loss = "one of the program's own; of models with equal metrics, that with the least is taken"
    answer = '{"count": NUMBER}'

    def header(self, about):
        return PredictionsHeader(task="count")
