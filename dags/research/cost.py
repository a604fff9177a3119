"""What a plan may cost at most: machines times the time after which each job is stopped.

An upper limit, not an estimate: trainings usually end long before their timeout. Prices stand in
prices.json with their source and date.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from research.experiment import Experiment, Machines
    from research.platform import Platform

PRICES = Path(__file__).with_name("prices.json")

ASSUMPTIONS = (
    "every job runs until its timeout, on machines at on-demand prices of {region} ({date}); "
    "without disks, storage, network, and jobs that Google's side fails and Airflow repeats"
)


@dataclass(frozen=True)
class Prices:
    """US dollars per hour of a machine, an accelerator, a Dataflow vCPU and GB of memory."""

    source: str
    date: str
    region: str
    machines: Mapping[str, Mapping[str, float]]
    gpus: Mapping[str, float]
    dataflow: Mapping[str, float]


@dataclass(frozen=True)
class Cost:
    """At most so many US dollars, by stage."""

    stages: Mapping[str, float]
    assumptions: str

    @property
    def usd(self) -> float:
        return sum(self.stages.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{stage} {usd:.2f}" for stage, usd in self.stages.items())
        return f"at most {self.usd:.2f} USD ({parts})"


@functools.cache
def prices(path: Path = PRICES) -> Prices:
    raw: dict[str, Any] = json.loads(path.read_text())
    return Prices(**{name: raw[name] for name in Prices.__annotations__})


def at_most(experiment: "Experiment", platform: "Platform") -> Cost:
    """The most that one run of the experiment may cost. Raises KeyError for an unpriced machine."""
    tune, train = experiment.tune, experiment.train
    table = prices()
    dataflow = table.machines[platform.dataflow.machine_type]
    worker = (
        dataflow["vcpus"] * table.dataflow["vcpu"]
        + dataflow["memory_gb"] * table.dataflow["memory_gb"]
    )
    stages = {
        "export": platform.dataflow.max_workers * worker * _hours(platform.dataflow.timeout),
        "tune": tune.trials * _machine(tune.machines) * _hours(tune.timeout),
        "train": train.top
        * train.machines.workers
        * _machine(train.machines)
        * _hours(train.timeout),
        "compare": table.machines[platform.compare.machine_type]["price"]
        * _hours(platform.compare.timeout),
    }
    return Cost(stages, ASSUMPTIONS.format(region=table.region, date=table.date))


def _machine(machines: "Machines") -> float:
    table = prices()
    gpus = table.gpus[machines.gpu] * machines.gpus if machines.gpu else 0.0
    return table.machines[machines.type]["price"] + gpus


def _hours(duration: timedelta) -> float:
    return duration.total_seconds() / 3600
