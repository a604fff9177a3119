"""The family of the time to an event."""

from dataclasses import replace

import numpy as np

from trainer.families import Family
from trainer.metrics import (
    survival,
)
from trainer.metrics import survival_estimates as estimates
from trainer.metrics.survival import SurvivalOutcome
from trainer.prediction_forms.time_to_event import Survivals
from trellis_contracts import tasks
from trellis_contracts.columns import EVENT


class Of(Family):
    """The time to an event: (n, 1 + times), the risk, and the probability that the event has not
    happened until each of the label's times.
    """

    name, form = tasks.SURVIVAL, Survivals
    loss, order = "integrated_brier", "concordance"
    lone, kind = "examples without an order", np.float32

    def metrics(self, classes=()):
        return survival.SURVIVAL_METRICS

    def part_of(self, metric, part, classes):
        return survival.at_horizon(metric, float(part)) if metric.average == "horizons" else None

    def named(self, label, classes):
        return f"{label[0]:g}" if label[1] else f"{label[0]:g} (censored)"

    def predictions(self, about, keys, labels, answers, threshold=None):
        return Survivals(keys, labels, answers[:, 0], answers[:, 1:], about.label.times)

    def outcome(self, labels, answers, groups=None, threshold=None, label=None):
        assert label is not None
        curves = np.asarray(answers[:, 1:], np.float64)
        risks = np.asarray(answers[:, 0], np.float64)
        return SurvivalOutcome(labels, risks, curves, label.times, label.horizons, groups)

    def answers(self, predictions):
        return np.concatenate([predictions.risks[:, None], predictions.curves], axis=1)

    def figures(self, dataset, labels, answers, threshold):
        found = survival.exact(self.outcome(labels, answers, label=dataset.label))
        # Likelihoods of different models cannot be compared, and programs have none.
        return found | {"loss": found[self.loss]} if self.loss in found else found

    def served(self, found, order):
        return np.concatenate([found["risk"][:, None], found["survival"]], axis=1)

    def at_times(self, answers, times, label):
        if tuple(times) == label.times:
            return answers
        curves = estimates.interpolated(answers[:, 1:], times, label.times)
        return np.concatenate([answers[:, :1], curves], axis=1)

    def as_served(self, dataset):
        event = replace(dataset.label.event, times=dataset.label.horizons)
        return replace(dataset, label=replace(dataset.label, event=event))

    def of_responses(self, responses, dataset):
        names = list(map(_name, dataset.label.times))
        found = [[one["risk"], *(one["survival"][name] for name in names)] for one in responses]
        return np.array(found, np.float64)

    def of_rows(self, columns, dataset):
        return np.stack([columns[name].astype(np.float64) for name in ("label", EVENT)], axis=1)

    def response(self, predictions, place, done, label):
        curve = dict(zip(predictions.times, predictions.curves[place].tolist(), strict=True))
        shown = {_name(time): curve[time] for time in label.horizons}
        return {"risk": float(predictions.risks[place]), "survival": shown}


def _name(horizon: float) -> str:
    """Name a horizon as the server's answers do."""
    return f"{horizon:.12g}"
