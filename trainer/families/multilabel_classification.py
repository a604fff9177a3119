"""The family of any number of several classes."""

from trainer import label_sets
from trainer.families.of_classes import OfClasses
from trainer.metrics import (
    multilabel,
)
from trainer.metrics.set_outcome import SetOutcome
from trainer.prediction_forms.multilabel_classification import LabelSets
from trellis_contracts import tasks
from trellis_contracts.predictions import DECIDED_ABOVE


class Of(OfClasses):
    """Any number of several classes: (n, classes) probabilities, each of its own."""

    name, form = tasks.MULTILABEL, LabelSets
    lone = "classes that all of its examples have, or none,"

    def metrics(self, classes=()):
        return multilabel.MULTILABEL_METRICS

    def named(self, label, classes):
        return repr(label_sets.text(int(label), classes))

    def predictions(self, about, keys, labels, answers, threshold=None):
        return LabelSets(keys, labels, answers, about.classes)

    def outcome(self, labels, answers, groups=None, threshold=None, label=None):
        return SetOutcome(labels, answers, groups)

    def figures(self, dataset, labels, answers, threshold):
        return multilabel.exact(labels, answers)

    def response(self, predictions, place, done, label):
        decided = zip(
            predictions.classes, predictions.probabilities[place] > DECIDED_ABOVE, strict=True
        )
        labels = [name for name, present in decided if present]
        return {"labels": labels, "probabilities": self._shares(predictions, place)}
