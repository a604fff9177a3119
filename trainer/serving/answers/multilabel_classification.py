"""Answers that are sets of classes."""

from trainer.serving.answers.of_classes import OfClasses
from trellis_contracts.predictions import DECIDED_ABOVE


class Answers(OfClasses):
    """See the module."""

    mark = "decided"

    def decided(self, told):
        return [tuple(one["labels"]) for one in told]

    def outputs(self, about, scores):
        return {"probabilities": scores, "decided": scores > DECIDED_ABOVE}

    def responses(self, about, outputs, done):
        labels = [
            {"labels": [name for name, in_it in zip(about.classes, row, strict=True) if in_it]}
            for row in outputs["decided"].tolist()
        ]
        return self._with_probabilities(about, labels, outputs, done)
