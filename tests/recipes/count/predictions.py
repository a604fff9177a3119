"""Predicted counts."""

from dataclasses import dataclass

from trainer.prediction_checks import refuse
from trainer.prediction_forms.regression import Values
from trellis_contracts.predictions import PredictionsHeader


@dataclass(frozen=True)
class Counts(Values):
    """Expected counts of one contender, which are above 0."""

    def __post_init__(self):
        super().__post_init__()
        refuse(self.values <= 0, self.keys, "finite", "an expected count is not above 0")

    def header(self, origin):
        return PredictionsHeader("count", origin=origin)
