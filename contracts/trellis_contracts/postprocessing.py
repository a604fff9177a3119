"""postprocessing.json: what a model does with its scores before it answers. A training writes it
into the model's folder, beside what the model's library saves; its evaluation, the server and the
comparison read it. A model without one answers with its scores.

    model/postprocessing.json

trainer.calibration fits and applies the calibration.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.files import File, Part, optional

FILE_NAME = "postprocessing.json"


@dataclass(frozen=True)
class Curve(Part):
    """An increasing function by its points, linear between them and constant outside: (m,) x, of
    which no two are equal, and (m,) y, both from 0 to 1.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Calibration(Part):
    """A calibration that was fitted. method: one of held_out.METHODS. examples: of the validation
    split. temperature: None of another method. curves: by class; of two classes only the second
    one's, to which the first one's is the rest. remark: what went wrong, in a sentence.
    """

    method: str
    examples: int
    temperature: float | None = optional()
    curves: Mapping[str, Curve] | None = optional()
    remark: str | None = optional()


@dataclass(frozen=True)
class Abstention(Part):
    """Which examples a classifier hands back: those of a certainty below `below`.

    The certainty is the largest probability; of a model with a threshold the distance of the
    probability from it, which is proportional to what the other decision would cost more. share: of
    the examples that was asked for.
    """

    share: float
    below: float


@dataclass(frozen=True, kw_only=True)
class Conformal(Part):
    """What a prediction gives beside itself, so that it has the truth with probability `coverage`.

    above: of classes: the set has those with at least this probability, and the most probable one.
    margin: of numbers: the interval reaches so far to both sides. Each is None of the other.
    examples, groups: of the validation split; groups None: examples are independent.
    """

    coverage: float
    examples: int
    groups: int | None = optional()
    above: float | None = optional()
    margin: float | None = optional()


@dataclass(frozen=True, kw_only=True)
class Postprocessing(File):
    """calibration: None: the probabilities are the model's own. abstention: None: all examples are
    answered. conformal: None: a prediction has no set or interval.
    """

    CONTRACT: ClassVar[str] = "postprocessing"

    calibration: Calibration | None = optional()
    abstention: Abstention | None = optional()
    conformal: Conformal | None = optional()


PLAIN = Postprocessing()
"""Answers with the scores."""
