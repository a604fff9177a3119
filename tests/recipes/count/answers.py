"""Answers that are expected counts."""

import numpy as np

from trainer.serving.answers import Form


class Answers(Form):
    """See the module."""

    mark = "count"

    def outputs(self, about, scores):
        return {"count": scores}

    def scores(self, outputs):
        return outputs["count"]

    def responses(self, about, outputs, done):
        return [{"count": value} for value in outputs["count"].tolist()]

    def columns(self, about, told):
        return {"predicted": np.array([one["count"] for one in told], np.float64)}
