"""The section `tune` of an experiment file: the search for hyperparameters."""

from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from trellis.workflow.spec.machines import Machines
from trellis.workflow.spec.quantities import Duration, FlagValue, Number, Scalar
from trellis.workflow.spec.sections import OneOf, Section, Variant, key


class Span(Variant):
    """All values between two ends."""

    opening = ("from", "to")
    title = "ranges"

    from_: Number = key("minimum", alias="from")
    to: Number = key("maximum")
    scale: Literal["linear", "log"] = key(
        "log for a range that spans several powers of ten", "linear"
    )


class Choices(Variant):
    """One of several values."""

    opening = ("choose",)
    title = "choices"

    choose: list[Scalar] = key("the values to choose from")


Range = Annotated[
    Span | Choices,
    OneOf("{from: A, to: B} or {choose: [A, B]}, not both", "nothing to choose from"),
]
"""Range of the tuner's choices for one hyperparameter."""


class _Tune(Variant):
    """Many short trainings with different hyperparameters."""

    trials: int = key("trainings to try", unit="trials", ge=1, le=1000)
    parallel: int = key(
        "trials at the same time; with more, each learns from fewer finished ones", 1, ge=1, le=100
    )
    epochs: int = key("length of a trial", unit="epochs", ge=1, le=10000)
    search: dict[str, Range] = key("search space, by hyperparameter", min_length=1)
    algorithm: Literal["bayesian", "random", "grid"] = key(
        "algorithm that proposes the next trial", "bayesian"
    )
    measurement: Literal["best", "last"] = key("epoch of a trial that counts", "best")
    stop_early: bool = key("stop a trial whose metric is worse than the others' median", False)
    max_failed: int = key("failed trials at which the search fails", 3, ge=1, le=1000)
    machines: Machines = key("machines of each trial", Machines())
    timeout: Duration = key("time after which a trial is stopped", timedelta(hours=1))


class OtherModel(Section):
    """A model that is tuned and trained beside `model`, on the same leaderboard."""

    hyperparameters: dict[str, FlagValue] = key("fixed in all its trainings", {})
    search: dict[str, Range] = key(
        "search space of as many trials as `tune` has; left out: one training without a search",
        {},
    )


class Maximize(_Tune):
    """A search for the greatest value of a metric."""

    opening = ("maximize",)
    title = "searches that maximize"
    goal: ClassVar[Literal["maximize"]] = "maximize"

    maximize: str = key("metric to maximize")

    @property
    def metric(self) -> str:
        return self.maximize


class Minimize(_Tune):
    """A search for the least value of a metric."""

    opening = ("minimize",)
    title = "searches that minimize"
    goal: ClassVar[Literal["minimize"]] = "minimize"

    minimize: str = key("metric to minimize")

    @property
    def metric(self) -> str:
        return self.minimize


Tune = Annotated[
    Maximize | Minimize,
    OneOf("one of `maximize: METRIC` and `minimize: METRIC`", "no metric"),
]
