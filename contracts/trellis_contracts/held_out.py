"""What a full training may choose on the validation split when it has ended, and how large that
split has to be. Airflow's side checks it before anything is trained, the trainer before it begins.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trellis_contracts.decision import Rule
from trellis_contracts.tasks import BINARY, MULTILABEL, ONE_CLASS, REGRESSION
from trellis_contracts.withheld import some_of

TEMPERATURE, ISOTONIC = "temperature", "isotonic"

_REMEDY = "give that split a larger share, or leave it out"
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Method:
    """A method of calibration. description: for people. least: examples of the validation split
    without which it is refused. of_class: those that each class must have, and lack.
    """

    description: str
    least: int
    of_class: int


METHODS: Mapping[str, Method] = {
    TEMPERATURE: Method(
        "divides the logits by one number (Guo et al., https://arxiv.org/abs/1706.04599): the most "
        "probable class remains the same",
        least=30,
        of_class=0,
    ),
    ISOTONIC: Method(
        "an increasing function of each class's probability (Zadrozny & Elkan, "
        "https://doi.org/10.1145/775047.775151), more flexible, for large validation splits: "
        "classes may change places, and equal probabilities lose their order",
        least=200,
        of_class=20,
    ),
}


@dataclass(frozen=True)
class Choice:
    """tasks: that it is for. unfit: why it is for no other."""

    tasks: tuple[str, ...]
    unfit: str


CHOICES: Mapping[str, Choice] = {
    "calibrate": Choice((*ONE_CLASS, MULTILABEL), "it corrects probabilities"),
    "decide": Choice((BINARY,), "a threshold is between two classes"),
    "abstain": Choice(ONE_CLASS, "examples of one class each are handed back"),
    "coverage": Choice((*ONE_CLASS, REGRESSION), "sets have one true class, intervals a number"),
}
"""By the name of the trainer's flag."""


@dataclass(frozen=True)
class HeldOut:
    """What is asked for; None: it is not.

    calibrate: one of METHODS. decide: rule of the threshold. abstain: share of the examples to hand
    back. coverage: probability that the set or interval of a prediction has the truth.
    """

    calibrate: str | None = None
    decide: Rule | None = None
    abstain: float | None = None
    coverage: float | None = None

    def unfit(self, task: str) -> Iterator[tuple[str, str]]:
        """List what is not for a task: the name of the flag, and why."""
        for name, choice in CHOICES.items():
            if getattr(self, name) is not None and task not in choice.tasks:
                yield name, f"{choice.unfit}, and the task is {task}: leave it out"

    def too_small(
        self,
        examples: int,
        classes: Mapping[str, int],
        positive: str | None,
        groups: int | None = None,
    ) -> Iterator[tuple[str, str]]:
        """List that for which a validation split does not suffice: the name of the flag, and why.

        classes: how many of its examples have each class of the dataset; none of a regression.
        positive: of two classes. groups: that decide the split; None: none do, or their number is
        not known.
        """
        # trainer.training.held_out halves the split between the two.
        halves = 2 if self.calibrate is not None and self.coverage is not None else 1
        if self.calibrate is not None:
            part = {name: count // halves for name, count in classes.items()}
            if problem := _too_small_to_calibrate(self.calibrate, examples // halves, part):
                shared = " (of its half; `coverage` has the other)" if halves == 2 else ""
                yield "calibrate", f"{problem}{shared}: {_REMEDY}"
        if self.decide is not None and positive is not None:
            problem = self.decide.too_small(classes, positive)
            yield from [("decide", f"{problem}: {_REMEDY}")] if problem else []
        if self.abstain is not None:
            needed = math.ceil(1 / self.abstain - _ROUNDING)
            if examples < needed:
                yield (
                    "abstain",
                    f"a share of {self.abstain:g} is one of at least {needed} examples of the "
                    f"validation split, which has {examples}: {_REMEDY}",
                )
        if self.coverage is not None:
            needed = halves * math.ceil(self.coverage / (1 - self.coverage) - _ROUNDING)
            units, of = (examples, "examples") if groups is None else (groups, "groups")
            if units < needed:
                shared = " beside `calibrate`" if halves == 2 else ""
                yield (
                    "coverage",
                    f"{self.coverage:g} needs at least {needed} {of} in the validation split"
                    f"{shared}, which has {units}: lower it, {_REMEDY}",
                )


NOTHING = HeldOut()


def _too_small_to_calibrate(name: str, examples: int, classes: Mapping[str, int]) -> str | None:
    method = METHODS[name]
    if examples < method.least:
        return f"{name} needs {method.least} examples in the validation split, which has {examples}"
    few = [c for c, count in classes.items() if min(count, examples - count) < method.of_class]
    if not few:
        return None
    return (
        f"{name} needs {method.of_class} examples of the validation split with each class, and as "
        f"many without it, which it lacks for {some_of(few, 'class', 'classes')}"
    )
