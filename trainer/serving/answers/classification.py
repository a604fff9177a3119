"""Answers that are one class of several."""

import numpy as np

from trainer.metrics.decision import decide
from trainer.serving.answers.of_classes import OfClasses


class Answers(OfClasses):
    """See the module."""

    def decided(self, told):
        return np.array([one["label"] for one in told], str)

    def outputs(self, about, scores):
        names = np.array([name.encode() for name in about.classes], dtype=object)
        return {"probabilities": scores, "label": names[decide(scores, about.threshold)]}

    def responses(self, about, outputs, done):
        labels = [{"label": label.decode()} for label in outputs["label"]]
        return self._with_probabilities(about, labels, outputs, done)
