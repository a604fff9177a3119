"""Answers that are numbers."""

import numpy as np

from trainer import postprocessing
from trainer.serving.answers import Form


class Answers(Form):
    """See the module."""

    mark = "value"

    def outputs(self, about, scores):
        return {"value": scores}

    def scores(self, outputs):
        return outputs["value"]

    def responses(self, about, outputs, done):
        beside = postprocessing.of_values(done, outputs["value"])
        pairs = zip(outputs["value"].tolist(), beside, strict=True)
        return [{"value": value, **more} for value, more in pairs]

    def columns(self, about, told):
        return {"predicted": np.array([one["value"] for one in told], np.float64)}
