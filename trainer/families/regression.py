"""The family of numbers."""

import numpy as np

from trainer import postprocessing
from trainer.families import Family
from trainer.metrics import (
    regression,
)
from trainer.metrics.regression import ValueOutcome
from trainer.prediction_forms.regression import Values
from trellis_contracts import tasks


class Of(Family):
    """A number: (n,) values in the label's unit."""

    name, form = tasks.REGRESSION, Values
    loss, lone, kind = "rmse", "equal labels", np.float32

    def metrics(self, classes=()):
        return regression.REGRESSION_METRICS

    def named(self, label, classes):
        return f"{label:g}"

    def predictions(self, about, keys, labels, answers, threshold=None):
        return Values(keys, labels, answers)

    def outcome(self, labels, answers, groups=None, threshold=None, label=None):
        return ValueOutcome(labels, answers, groups)

    def answers(self, predictions):
        return predictions.values

    def figures(self, dataset, labels, answers, threshold):
        _, scale = dataset.label.number_statistics.standard
        return regression.exact(labels, answers, scale)

    def served(self, found, order):
        return found["value"]

    def of_responses(self, responses, dataset):
        return np.array([one["value"] for one in responses], np.float64)

    def of_rows(self, columns, dataset):
        return columns["label"].astype(np.float64)

    def response(self, predictions, place, done, label):
        value = predictions.values[place]
        (beside,) = postprocessing.of_values(done, np.array([value]))
        return {"value": float(value), **beside}
