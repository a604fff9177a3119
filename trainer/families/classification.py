"""The family of one class of several."""

from trainer import postprocessing
from trainer.families.of_classes import OfClasses
from trainer.metrics import (
    binary,
    classification,
)
from trainer.metrics.decision import decide
from trainer.metrics.outcome import Outcome
from trainer.prediction_forms.classification import Predictions
from trellis_contracts.tasks import CLASSIFICATION


class Of(OfClasses):
    """One class of several: (n, classes) probabilities that sum to 1."""

    name, form = CLASSIFICATION, Predictions
    lone = "examples of one class"

    def metrics(self, classes=()):
        if len(classes) == 2:
            return binary.metrics((classes[0], classes[1]))
        return classification.CLASSIFICATION_METRICS

    def named(self, label, classes):
        return repr(classes[int(label)])

    def predictions(self, about, keys, labels, answers, threshold=None):
        return Predictions(keys, labels, answers, about.classes, threshold)

    def outcome(self, labels, answers, groups=None, threshold=None, label=None):
        return Outcome(labels, answers, groups, threshold)

    def figures(self, dataset, labels, answers, threshold):
        return classification.exact(labels, answers, threshold)

    def response(self, predictions, place, done, label):
        row, names, threshold = (
            predictions.probabilities[place],
            predictions.classes,
            predictions.threshold,
        )
        label = {"label": names[decide(row[None], threshold)[0]]}
        (beside,) = postprocessing.of_probabilities(done, row[None], names, threshold)
        return {**label, "probabilities": self._shares(predictions, place), **beside}
