"""Forms of an answer: from what a model's signature returns to what a client gets, a class for
each family of tasks. trainer.families has the same for the comparison; nothing here needs more than
NumPy and, for masks, OpenCV.
"""

import abc
import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trainer import masks, postprocessing
from trainer.metrics.decision import Threshold, decide
from trainer.serving.errors import ModelFailureError
from trainer.serving.limits import MAX_MASK_PIXELS
from trellis_contracts.dataset import CLASSIFICATION
from trellis_contracts.postprocessing import Postprocessing
from trellis_contracts.predictions import DECIDED_ABOVE
from trellis_contracts.tasks import MULTILABEL, REGRESSION, SEGMENTATION, SURVIVAL

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

    @property
    def form(self) -> "Form":
        """How answers of the family are read and told."""
        return FORMS[self.family]

    def outputs(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs of a signature, of a predictor's (n, ...) scores."""
        return self.form.outputs(self, scores)

    def scores(self, outputs: Outputs) -> np.ndarray:
        """A predictor's scores, of the outputs of its signature."""
        return self.form.scores(outputs)

    def responses(self, outputs: Outputs, done: Postprocessing) -> list[dict[str, Any] | Exception]:
        """What clients get, or the exception in place of it."""
        numbers = self.form.checked(outputs)
        finite = np.isfinite(numbers.reshape(len(numbers), -1)).all(axis=1)
        found = self.form.responses(self, outputs, done)
        return [
            one if ok else ModelFailureError(_DIVERGED)
            for one, ok in zip(found, finite, strict=True)
        ]


def explained(outputs: Outputs, index: int | None) -> np.ndarray:
    """(n,) score that an explanation is of: a class's probability, the value, or the risk."""
    if index is not None:
        return outputs["probabilities"][:, index]
    return outputs["risk"] if "risk" in outputs else outputs["value"]


Columns = dict[str, Sequence[Any] | np.ndarray]
"""What n answers are in a frame, n values each, by column."""


class Form(abc.ABC):
    """Interface of a family's answers. mark: an output that its signature alone has; None of
    classes. explained: whether there is a score that explanations are of. at_once: pixels of images
    that a model is given in one call; None: as many as there are.
    """

    mark: ClassVar[str | None] = None
    explained: ClassVar[bool] = True
    at_once: ClassVar[int | None] = None

    @abc.abstractmethod
    def outputs(self, about: Answered, scores: np.ndarray) -> dict[str, np.ndarray]:
        """See Answered."""

    @abc.abstractmethod
    def scores(self, outputs: Outputs) -> np.ndarray:
        """See Answered."""

    @abc.abstractmethod
    def responses(
        self, about: Answered, outputs: Outputs, done: Postprocessing
    ) -> list[dict[str, Any]]:
        """What clients get."""

    @abc.abstractmethod
    def columns(self, about: Answered, told: Sequence[Mapping[str, Any]]) -> Columns:
        """What clients get, as trainer.serving.frames has it."""

    def checked(self, outputs: Outputs) -> np.ndarray:
        """(n, ...) numbers that are all finite unless the model's training diverged."""
        return self.scores(outputs)


class _Values(Form):
    mark = "value"

    def outputs(self, about, scores):
        return {"value": scores}

    def scores(self, outputs):
        return outputs["value"]

    def responses(self, about, outputs, done):
        beside = postprocessing.of_values(done, outputs["value"])
        pairs = zip(outputs["value"].tolist(), beside, strict=True)
        return [{"value": value, **more} for value, more in pairs]

    def columns(self, about, told):
        return {"predicted": np.array([one["value"] for one in told], np.float64)}


class _Survivals(Form):
    mark = "risk"

    def outputs(self, about, scores):
        return {"risk": scores[:, 0], "survival": scores[:, 1:]}

    def scores(self, outputs):
        return np.concatenate([outputs["risk"][:, None], outputs["survival"]], axis=1)

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


class _Masks(Form):
    mark, explained = "mask", False
    # Each pixel has as many numbers in the network as an image elsewhere.
    at_once = MAX_MASK_PIXELS

    def outputs(self, about, scores):
        counts = masks.pixels(scores, len(about.classes))
        return {"mask": scores, "shares": (counts / scores[0].size).astype(np.float32)}

    def scores(self, outputs):
        return outputs["mask"]

    def checked(self, outputs):
        return outputs["shares"]

    def responses(self, about, outputs, done):
        pairs = zip(outputs["mask"], outputs["shares"], strict=True)
        return [
            {
                "mask": {"b64": base64.b64encode(masks.encode(mask)).decode()},
                "shares": dict(zip(about.classes, shares, strict=True)),
            }
            for mask, shares in pairs
        ]

    def columns(self, about, told):
        pngs = (base64.b64decode(one["mask"]["b64"]) for one in told)
        shares = {f"share.{name}": [one["shares"][name] for one in told] for name in about.classes}
        return {"mask": [masks.decode(png, len(about.classes)) for png in pngs], **shares}


class _OfClasses(Form):
    def scores(self, outputs):
        return outputs["probabilities"]

    def columns(self, about, told):
        return {
            "predicted": self.decided(told),
            **{
                f"p.{name}": np.array([one["probabilities"][name] for one in told], np.float32)
                for name in about.classes
            },
        }

    @abc.abstractmethod
    def decided(self, told: Sequence[Mapping[str, Any]]) -> Sequence[Any] | np.ndarray:
        """The class, or the classes, of each."""

    @staticmethod
    def _with_probabilities(
        about: Answered,
        labels: Sequence[Mapping[str, Any]],
        outputs: Outputs,
        done: Postprocessing,
    ) -> list[dict[str, Any]]:
        rows = outputs["probabilities"]
        how = about.classes, about.threshold
        beside = postprocessing.of_probabilities(done, np.asarray(rows), *how)
        return [
            {
                **label,
                # float32 scalars: as doubles they would print with nine spurious digits.
                "probabilities": dict(zip(about.classes, row, strict=True)),
                **more,
            }
            for label, row, more in zip(labels, rows, beside, strict=True)
        ]


class _Sets(_OfClasses):
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


class _Classes(_OfClasses):
    def decided(self, told):
        return np.array([one["label"] for one in told], str)

    def outputs(self, about, scores):
        names = np.array([name.encode() for name in about.classes], dtype=object)
        return {"probabilities": scores, "label": names[decide(scores, about.threshold)]}

    def responses(self, about, outputs, done):
        labels = [{"label": label.decode()} for label in outputs["label"]]
        return self._with_probabilities(about, labels, outputs, done)


FORMS: Mapping[str, Form] = {
    REGRESSION: _Values(),
    SURVIVAL: _Survivals(),
    SEGMENTATION: _Masks(),
    MULTILABEL: _Sets(),
    CLASSIFICATION: _Classes(),
}
"""By the family's name."""


def family_of(outputs: Collection[str]) -> str:
    """The family of a signature with these outputs."""
    found = (family for family, form in FORMS.items() if form.mark in outputs)
    return next(found, CLASSIFICATION)
