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

from research import bqml
from research.quantities import usd_text

if TYPE_CHECKING:
    from research.experiment import Experiment, Machines
    from research.platform import Platform

PRICES = Path(__file__).with_name("prices.json")

ASSUMPTIONS = (
    "every job runs until its timeout, on machines at on-demand prices of {region} ({date}); "
    "without disks, storage, network, and jobs that Google's side fails and Airflow repeats"
)
WITH_BQML = (
    "; BigQuery bills every query by its bytes, and for a boosted tree or DNN an hour of a large "
    "machine of Vertex AI"
)
WITH_AUTOML = "; AutoML trains for all its node hours and predicts for one"

# A snapshot is checked in one query, which reads keys and labels several times.
_CHECK_READS = 3
# A BigQuery ML baseline reads the snapshot to learn, to predict and to evaluate.
_BASELINE_READS = 3
_TIB = 2**40
# What a query is billed for at least: https://cloud.google.com/bigquery/pricing#on_demand_pricing
_LEAST_BYTES = 10 * 2**20


@dataclass(frozen=True)
class Prices:
    """US dollars per hour of a machine, an accelerator, a Dataflow vCPU and GB of memory.

    serving: of machines and accelerators that serve a deployed model, and where from.
    """

    source: str
    date: str
    region: str
    machines: Mapping[str, Mapping[str, float]]
    gpus: Mapping[str, float]
    dataflow: Mapping[str, float]
    bigquery: Mapping[str, float]
    automl: Mapping[str, Mapping[str, float]]
    serving: Mapping[str, Any]


@dataclass(frozen=True)
class Serving:
    """US dollars a day of a deployed model: with its fewest and with its most replicas.

    No part of a run's budget: it is due whether there are runs or not, until the model is
    undeployed. While one model takes over from another, both are paid.
    """

    least: float
    most: float

    def to_json(self) -> dict[str, Any]:
        """As plan.json has it."""
        return {
            "at_most_usd_per_day": round(self.most, 2),
            "at_least_usd_per_day": round(self.least, 2),
            "assumptions": prices().serving["source"],
        }

    def __str__(self) -> str:
        span = f"at most {self.most:.2f} USD a day"
        if self.least < self.most:
            span += f", at least {self.least:.2f}"
        return f"{span} (unverified prices), twice that while one model takes over from another"


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


class BudgetError(ValueError):
    """A run may cost more than its budget."""


def check_budget(what: str, limit: Cost, budget: float, remedies: str) -> None:
    """Raises BudgetError. what: "A run of digits"; remedies: what makes it cheaper."""
    if limit.usd > budget:
        raise BudgetError(
            f"{what} may cost {limit}, its budget is {usd_text(budget)}: {remedies}, or a larger "
            "`budget`."
        )


@functools.cache
def prices(path: Path = PRICES) -> Prices:
    raw: dict[str, Any] = json.loads(path.read_text())
    return Prices(**{name: raw[name] for name in Prices.__annotations__})


def at_most(experiment: "Experiment", platform: "Platform", source_bytes: int = 0) -> Cost:
    """The most that one run of the experiment may cost. Raises KeyError for an unpriced machine.

    source_bytes: what reading the table or query takes, as its dry run says; while that is not
    known, the limit is without it.
    """
    tune, train = experiment.tune, experiment.train
    table = prices()
    dataflow = table.machines[platform.dataflow.machine_type]
    worker = (
        dataflow["vcpus"] * table.dataflow["vcpu"]
        + dataflow["memory_gb"] * table.dataflow["memory_gb"]
    )
    stages = {
        **_bigquery(experiment, source_bytes),
        "export": platform.dataflow.max_workers * worker * _hours(platform.dataflow.timeout),
        "tune": tune.trials * _machine(tune.machines) * _hours(tune.timeout),
        "train": train.top
        * train.machines.workers
        * _machine(train.machines)
        * _hours(train.timeout),
        "compare": table.machines[platform.compare.machine_type]["price"]
        * _hours(platform.compare.timeout),
        **{name: baseline(experiment, name, source_bytes) for name in baseline_names(experiment)},
    }
    assumptions = ASSUMPTIONS.format(region=table.region, date=table.date)
    assumptions += WITH_BQML if experiment.baselines.bqml else ""
    assumptions += WITH_AUTOML if experiment.baselines.automl else ""
    return Cost(stages, assumptions)


def baseline_names(experiment: "Experiment") -> list[str]:
    """The baselines of a run, as plan.json and the leaderboard call them."""
    names = [f"bqml-{name}" for name in experiment.baselines.bqml]
    return names + (["automl"] if experiment.baselines.automl else [])


def baseline(experiment: "Experiment", name: str, source_bytes: int) -> float:
    """The most that one baseline may cost, in US dollars."""
    prices_ = prices()
    if name == "automl":
        automl = prices_.automl[experiment.source.kind]
        return experiment.baselines.automl.node_hours * automl["training"] + automl["prediction"]
    type_ = bqml.TYPES[name.removeprefix("bqml-")]
    scanned = max(source_bytes, _LEAST_BYTES) / _TIB
    usd = _BASELINE_READS * scanned * prices_.bigquery["query_tib"]
    if type_.external:
        return usd + prices_.bigquery["external_training"]
    return usd + scanned * prices_.bigquery["create_model_tib"]


def rates(experiment: "Experiment") -> dict[str, float]:
    """US dollars per hour of one trial, and of one full training with all its workers."""
    machines = experiment.train.machines
    return {
        "trial": round(_machine(experiment.tune.machines), 6),
        "training": round(machines.workers * _machine(machines), 6),
    }


def serving(experiment: "Experiment") -> Serving | None:
    """What the experiment's deployed model costs; None if it deploys none."""
    if experiment.deploy is None:
        return None
    machines, table = experiment.deploy.machines, prices().serving
    gpus = table["gpus"][machines.gpu] * machines.gpus if machines.gpu else 0.0
    least, most = (24 * n * (table["machines"][machines.type] + gpus) for n in machines.replicas)
    return Serving(least, most)


def scan(source_bytes: int) -> float:
    """US dollars of one query that reads so many bytes."""
    return max(source_bytes, _LEAST_BYTES) / _TIB * prices().bigquery["query_tib"]


def _bigquery(experiment: "Experiment", source_bytes: int) -> dict[str, float]:
    if experiment.source.kind == "image":
        return {}
    return {"snapshot": (1 + _CHECK_READS) * scan(source_bytes)}


def _machine(machines: "Machines") -> float:
    table = prices()
    gpus = table.gpus[machines.gpu] * machines.gpus if machines.gpu else 0.0
    return table.machines[machines.type]["price"] + gpus


def _hours(duration: timedelta) -> float:
    return duration.total_seconds() / 3600
