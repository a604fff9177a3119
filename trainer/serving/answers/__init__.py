"""Forms of an answer: from what a model's signature returns to what a client gets, a module for
each family of tasks. trainer.families has the same for the comparison; nothing here needs more than
NumPy and, for masks, OpenCV.
"""

import abc
import functools
import importlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trainer.metrics.decision import Threshold
from trainer.serving.errors import ModelFailureError
from trellis_contracts.postprocessing import Postprocessing
from trellis_contracts.tasks import CLASSIFICATION, FAMILIES

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
        return of(self.family)

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
    return of(family_of(outputs)).score(outputs)


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

    def score(self, outputs: Outputs) -> np.ndarray:
        """(n,) that an explanation is of, where there are no classes."""
        return self.scores(outputs)

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


@functools.cache
def of(family: str) -> Form:
    """The form of a family's answers, which the module of its name has."""
    module = importlib.import_module(f"trainer.serving.answers.{family}")
    form: Form = module.Answers()
    return form


def family_of(outputs: Collection[str]) -> str:
    """The family of a signature with these outputs."""
    found = (family for family in FAMILIES if of(family).mark in outputs)
    return next(found, CLASSIFICATION)
