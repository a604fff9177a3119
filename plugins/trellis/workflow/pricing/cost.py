"""Limit of a plan's cost: machines times the time after which each job is stopped.

An upper limit, not an estimate: trainings usually end long before their timeout. Prices stand in
machines.json and prices.json with their source and date.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from trellis.workflow.pricing import machines, queries
from trellis.workflow.spec import bqml
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.quantities import usd_text

PRICES = Path(__file__).with_name("prices.json")

ASSUMPTIONS = (
    "every job runs until its timeout, which its repeats share, on machines at on-demand prices of "
    "{region} ({date}); without disks, storage, network, and repeats of Dataflow jobs"
)
OTHERS = "; Dataflow, BigQuery and AutoML at prices of {region}"

# Each is enforced: longer jobs are cancelled. The price of external training is that of an hour.
# The batch prediction of tabular AutoML is charged as 40 n1-highmem-8, whatever the job names
# (Vertex AI's page of prices, as quoted in 2025).
AUTOML_PREDICTION_LIMIT = timedelta(hours=1)
EXTERNAL_TRAINING_LIMIT = timedelta(hours=1)

_TIB = 2**40


@dataclass(frozen=True)
class Prices:
    """US dollars per hour of a Dataflow vCPU and GB of memory, and of what else is not a machine.

    Machines of Vertex AI stand in machines.json.
    """

    source: str
    date: str
    region: str
    dataflow: Mapping[str, float]
    bigquery: Mapping[str, float]
    automl: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Serving:
    """US dollars a day of a deployed model: with its fewest and with its most replicas.

    Not part of a run's budget: it accrues with or without runs, until the model is undeployed.
    While one model replaces another, both cost.
    """

    least: float
    most: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields of plan.json."""
        return {
            "at_most_usd_per_day": round(self.most, 2),
            "at_least_usd_per_day": round(self.least, 2),
            "assumptions": machines.table().sources["serving"],
        }

    def __str__(self) -> str:
        span = f"at most {self.most:.2f} USD a day"
        if self.least < self.most:
            span += f", at least {self.least:.2f}"
        return f"{span} (unverified prices), twice that while one model replaces another"


@dataclass(frozen=True)
class Cost:
    """An upper limit in US dollars, by stage."""

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
            f"{what} may cost {limit}, but its budget is {usd_text(budget)}: choose {remedies}, or "
            "a larger `budget`."
        )


def within_budget(experiment: Experiment, limit: Cost) -> None:
    """Raises BudgetError if a run of the experiment may cost more than its budget."""
    remedies = (
        "fewer trials, trainings, models, seeds or workers, smaller machines, shorter timeouts, no "
        "AutoML"
    )
    check_budget(f"A run of {experiment.name}", limit, experiment.budget, remedies)


@functools.cache
def prices(path: Path = PRICES) -> Prices:
    """The prices of a file, in US dollars."""
    raw: dict[str, Any] = json.loads(path.read_text())
    return Prices(**{name: raw[name] for name in Prices.__annotations__})


def assumptions(region: str) -> str:
    """Assumptions of every limit in a region; stages add theirs."""
    known, table = machines.table(region), prices()
    text = ASSUMPTIONS.format(region=known.region, date=known.date)
    return text + (OTHERS.format(region=table.region) if known.region != table.region else "")


FILE = "file-"
"""What the name of a baseline begins with whose predictions were made elsewhere."""


def baseline_names(experiment: Experiment) -> list[str]:
    """The baselines of a run, as plan.json and the leaderboard call them."""
    names = [f"bqml-{name}" for name in experiment.baselines.bqml]
    names += ["automl"] if experiment.baselines.automl else []
    return names + [f"{FILE}{name}" for name in experiment.baselines.files]


def baseline(experiment: Experiment, name: str, source_bytes: int) -> float:
    """The most that one baseline may cost, in US dollars."""
    prices_, automl = prices(), experiment.baselines.automl
    if automl is not None and name == "automl":
        rate = prices_.automl[experiment.source.automl]
        return automl.node_hours * rate["training"] + automl_prediction(
            experiment, hours(AUTOML_PREDICTION_LIMIT)
        )
    type_ = bqml.TYPES[name.removeprefix("bqml-")]
    scanned = max(source_bytes, queries.LEAST) / _TIB
    usd = queries.BASELINE * scanned * prices_.bigquery["query_tib"]
    if type_.external:
        return usd + prices_.bigquery["external_training"]
    return usd + scanned * prices_.bigquery["create_model_tib"]


def automl_prediction(experiment: Experiment, hours_: float) -> float:
    """US dollars of the hours of an AutoML baseline's batch prediction."""
    return hours_ * prices().automl[experiment.source.automl]["prediction"]


def billed_baseline(experiment: Experiment, name: str, bytes_: int) -> float:
    """US dollars of a BigQuery ML baseline whose statements together were billed for these bytes.

    BigQuery does not report which of a script's bytes are those of CREATE MODEL: each of its
    statements reads the same rows, so they count alike.
    """
    return baseline(experiment, name, bytes_ // queries.BASELINE)


def rates(experiment: Experiment, region: str) -> dict[str, float]:
    """US dollars per hour of one trial, if there are any, and of one full training with all its
    machines.
    """
    training, tune = experiment.train.machines, experiment.tune
    return {
        **({"trial": round(per_hour([(tune.machines, 1)], region), 6)} if tune else {}),
        "training": round(per_hour(training.pools, region), 6),
    }


def spot_share(pools: Sequence[tuple[Machine, int]], region: str) -> float | None:
    """Share of their on-demand price that spot machines save together; None if the spot price of
    one is not known. pools: machines, with the number of each.
    """
    known = machines.table(region)
    spot = [known.spot_usd(machine) for machine, _ in pools]
    if None in spot:
        return None
    paid = sum(price * n for price, (_, n) in zip(spot, pools, strict=True) if price)
    full = sum(known.usd(machine, "training") * n for machine, n in pools)
    return max(0.0, 1 - paid / full)


def serving(experiment: Experiment, region: str | None) -> Serving | None:
    """Cost of the experiment's deployed model in a region; None if it deploys none."""
    if experiment.deploy is None:
        return None
    serving_machines = experiment.deploy.machines
    replica = machines.table(region).usd(serving_machines, "serving")
    least, most = (24 * n * replica for n in serving_machines.replicas)
    return Serving(least, most)


def scan(source_bytes: int) -> float:
    """US dollars of one query that reads this number of bytes."""
    return billed(max(source_bytes, queries.LEAST))


def billed(bytes_: int) -> float:
    """US dollars of a query that BigQuery has billed for this number of bytes."""
    return bytes_ / _TIB * prices().bigquery["query_tib"]


def per_hour(pools: Sequence[tuple[Machine, int]], region: str) -> float:
    """US dollars an hour of a Vertex AI job. pools: machines, with how many there are of each."""
    return sum(count * machines.table(region).usd(machine, "training") for machine, count in pools)


def hours(duration: timedelta) -> float:
    """A duration in hours."""
    return duration.total_seconds() / 3600
