"""The section `deploy` of an experiment file: when a model is served, and how it gets there."""

from datetime import timedelta
from typing import Literal

from research.quantities import Bounds, Number, Pause, Percents, Replicas
from research.sections import Section, key


class Gate(Section):
    """What the best training of a run must show on the test split to be deployed."""

    require: Bounds = key(
        "bounds by metric: at least for one to maximize, at most for one to minimize", {}
    )
    beat: Literal["baselines", "nothing"] = key(
        "baselines: better than each that was scored, by the primary metric; none, none to beat",
        "baselines",
    )
    margin: Number = key(
        "how much better: the lower end of the difference's 95% interval must be above it", 0.0
    )
    tolerance: float | None = key(
        "how much worse than the model now served it may be, by the primary metric; "
        "null: the two are not compared",
        0.0,
        ge=0,
    )


class Smoke(Section):
    """The test of a deployed model before each step, with rows of the test split."""

    examples: int = key(
        "rows that it must answer as it did in the comparison", 20, unit="rows", ge=1, le=1000
    )
    latency: int = key(
        "its median answer must be faster", 1000, unit="milliseconds", ge=1, le=60_000
    )


class ServingMachines(Section):
    """What each replica of a deployed model runs on."""

    type: str = key("Compute Engine machine type", "n1-standard-2")
    gpu: str | None = key("accelerator type of each replica, as in NVIDIA_TESLA_T4", None)
    gpus: int = key("accelerators of each replica, if `gpu` names one", 1, ge=1, le=16)
    replicas: Replicas = key("[fewest, most]; the load decides in between", (1, 1))


class Deploy(Section):
    """The way of a run's best model into service."""

    gate: Gate = key("what it must show first", Gate())
    canary: Percents = key("its share of the requests, step by step", (10, 50, 100))
    hold: Pause = key("time at each step before the next", timedelta())
    smoke: Smoke = key("the test before each step", Smoke())
    machines: ServingMachines = key(
        "what each replica runs on, paid until it is undeployed", ServingMachines()
    )
    keep_previous: Pause = key(
        "how long the model before stays deployed, at 0%, once it is replaced", timedelta()
    )
    keep_versions: int = key(
        "versions of the model to keep; older ones go, except served ones and those with an alias",
        10,
        ge=1,
        le=1000,
    )
    private: bool = key(
        "an endpoint that only the group's VPC network reaches (platform.yaml: network), Airflow "
        "included; without explanations, which Vertex AI gives on public endpoints only",
        False,
    )
