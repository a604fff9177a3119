"""Answers that are a risk and a curve of survival."""

import numpy as np

from trainer.serving.answers import Form


class Answers(Form):
    """See the module."""

    mark = "risk"

    def outputs(self, about, scores):
        return {"risk": scores[:, 0], "survival": scores[:, 1:]}

    def scores(self, outputs):
        return np.concatenate([outputs["risk"][:, None], outputs["survival"]], axis=1)

    def score(self, outputs):
        return outputs["risk"]

    def responses(self, about, outputs, done):
        places = [list(about.times).index(time) for time in about.horizons]
        names = [f"{time:.12g}" for time in about.horizons]
        shown = np.asarray(outputs["survival"])[:, places].tolist()
        pairs = zip(outputs["risk"].tolist(), shown, strict=True)
        return [
            {"risk": risk, "survival": dict(zip(names, row, strict=True))} for risk, row in pairs
        ]

    def columns(self, about, told):
        curves = {
            f"survival.{name}": [one["survival"][name] for one in told]
            for name in (f"{time:.12g}" for time in about.horizons)
        }
        return {"risk": [one["risk"] for one in told], **curves}
