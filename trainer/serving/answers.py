"""Forms of an answer: from what a model's signature returns to what a client gets, by the family of
tasks. trainer.families has the same for the comparison; nothing here needs more than NumPy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainer import postprocessing
from trainer.metrics.decision import Threshold, decide
from trainer.serving.errors import ModelFailureError
from trellis_contracts.dataset import CLASSIFICATION
from trellis_contracts.postprocessing import Postprocessing
from trellis_contracts.predictions import DECIDED_ABOVE
from trellis_contracts.tasks import MULTILABEL, REGRESSION, SURVIVAL

Outputs = Mapping[str, np.ndarray]
"""What a signature returns, (n, ...) each, by name."""

_DIVERGED = "the model returns NaN: its training diverged"


@dataclass(frozen=True)
class Answered:
    """What a model's answers are about. classes: their names. threshold: by which it labels; None:
    with the most probable class. times: of a time to an event, those of its curves; horizons: those
    that are served.
    """

    family: str
    classes: Sequence[str] = ()
    threshold: Threshold | None = None
    times: Sequence[float] = ()
    horizons: Sequence[float] = ()

    def outputs(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs of a signature, of a predictor's (n, ...) scores."""
        if self.family == REGRESSION:
            return {"value": scores}
        if self.family == SURVIVAL:
            return {"risk": scores[:, 0], "survival": scores[:, 1:]}
        if self.family == MULTILABEL:
            return {"probabilities": scores, "decided": scores > DECIDED_ABOVE}
        names = np.array([name.encode() for name in self.classes], dtype=object)
        return {"probabilities": scores, "label": names[decide(scores, self.threshold)]}

    def scores(self, outputs: Outputs) -> np.ndarray:
        """A predictor's scores, of the outputs of its signature."""
        if self.family == REGRESSION:
            return outputs["value"]
        if self.family == SURVIVAL:
            return np.concatenate([outputs["risk"][:, None], outputs["survival"]], axis=1)
        return outputs["probabilities"]

    def responses(self, outputs: Outputs, done: Postprocessing) -> list[dict[str, Any] | Exception]:
        """What clients get, or the exception in place of it."""
        found = _FORMS[self.family](self, outputs, done)
        scores = self.scores(outputs)
        finite = np.isfinite(scores.reshape(len(scores), -1)).all(axis=1)
        return [
            one if ok else ModelFailureError(_DIVERGED)
            for one, ok in zip(found, finite, strict=True)
        ]


def explained(outputs: Outputs, index: int | None) -> np.ndarray:
    """(n,) score that an explanation is of: a class's probability, the value, or the risk."""
    if index is not None:
        return outputs["probabilities"][:, index]
    return outputs["risk"] if "risk" in outputs else outputs["value"]


def _values(about: Answered, outputs: Outputs, done: Postprocessing) -> list[dict[str, Any]]:
    beside = postprocessing.of_values(done, outputs["value"])
    pairs = zip(outputs["value"].tolist(), beside, strict=True)
    return [{"value": value, **more} for value, more in pairs]


def _survivals(about: Answered, outputs: Outputs, done: Postprocessing) -> list[dict[str, Any]]:
    places = [list(about.times).index(time) for time in about.horizons]
    names = [f"{time:.12g}" for time in about.horizons]
    shown = np.asarray(outputs["survival"])[:, places].tolist()
    pairs = zip(outputs["risk"].tolist(), shown, strict=True)
    return [{"risk": risk, "survival": dict(zip(names, row, strict=True))} for risk, row in pairs]


def _sets(about: Answered, outputs: Outputs, done: Postprocessing) -> list[dict[str, Any]]:
    labels = [
        {"labels": [name for name, in_it in zip(about.classes, row, strict=True) if in_it]}
        for row in outputs["decided"].tolist()
    ]
    return _with_probabilities(about, labels, outputs, done)


def _classes(about: Answered, outputs: Outputs, done: Postprocessing) -> list[dict[str, Any]]:
    labels = [{"label": label.decode()} for label in outputs["label"]]
    return _with_probabilities(about, labels, outputs, done)


def _with_probabilities(
    about: Answered, labels: Sequence[Mapping[str, Any]], outputs: Outputs, done: Postprocessing
) -> list[dict[str, Any]]:
    rows = outputs["probabilities"]
    beside = postprocessing.of_probabilities(done, np.asarray(rows), about.classes, about.threshold)
    return [
        {
            **label,
            # float32 scalars: as doubles they would print with nine spurious digits.
            "probabilities": dict(zip(about.classes, row, strict=True)),
            **more,
        }
        for label, row, more in zip(labels, rows, beside, strict=True)
    ]


_FORMS = {
    REGRESSION: _values,
    SURVIVAL: _survivals,
    MULTILABEL: _sets,
    CLASSIFICATION: _classes,
}
