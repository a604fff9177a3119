"""The family of counts."""

from trainer.prediction_forms.count import Counts

from trainer.families import regression
from trainer.metrics import count


class Of(regression.Of):
    """A count: (n,) expected numbers of events."""

    name, form = "count", Counts
    loss = "poisson_deviance"

    def metrics(self, classes=()):
        return count.COUNT_METRICS

    def predictions(self, about, keys, labels, answers, threshold=None):
        return Counts(keys, labels, answers)

    def outcome(self, labels, answers, groups=None, threshold=None, label=None):
        return count.CountOutcome(labels, answers, groups)

    def figures(self, dataset, labels, answers, threshold):
        return count.exact(labels, answers)

    def served(self, found, order):
        return found["count"]

    def response(self, predictions, place, done, label):
        return {"count": float(predictions.values[place])}
