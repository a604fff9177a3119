"""Answers that are one class of several."""

import numpy as np

from trainer.metrics.decision import decide
from trainer.serving.answers.of_classes import SUM_TOLERANCE, OfClasses


class Answers(OfClasses):
    """See the module."""

    def own(self, found, examples, dataset):
        scores = super().own(found, examples, dataset)
        sums = scores.sum(axis=1, dtype=np.float64)
        if (off := np.abs(sums - 1) > SUM_TOLERANCE).any():
            raise ValueError(
                f"probabilities that add up to {sums[off][0]:.4g} for example "
                f"{np.flatnonzero(off)[0]} of a batch; expected 1"
            )
        return scores

    def decided(self, told):
        return np.array([one["label"] for one in told], str)

    def outputs(self, about, scores):
        names = np.array([name.encode() for name in about.classes], dtype=object)
        return {"probabilities": scores, "label": names[decide(scores, about.threshold)]}

    def responses(self, about, outputs, done):
        labels = [{"label": label.decode()} for label in outputs["label"]]
        return self._with_probabilities(about, labels, outputs, done)
