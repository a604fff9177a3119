"""Limit of a plan's cost: machines times the time after which each job is stopped.

An upper limit, not an estimate: trainings usually end long before their timeout. Prices stand in
machines.json and prices.json with their source and date.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from trellis.workflow.pricing import machines, queries, services
from trellis.workflow.spec import bqml
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.quantities import usd_text
from trellis_contracts.layout import FILE_BASELINE

ASSUMPTIONS = (
    "every job runs until its timeout, which its repeats share, on machines with their disks at "
    "on-demand prices of {region} ({date}); without stored data, network, what Dataflow shuffles, "
    "and TensorBoard"
)
OTHERS = "; Dataflow, BigQuery and disks at prices of {region}"

# Each is enforced: longer jobs are cancelled.
AUTOML_PREDICTION_LIMIT = timedelta(hours=1)
EXTERNAL_TRAINING_LIMIT = timedelta(hours=1)

# The batch prediction of tabular AutoML is charged as so many machines, whatever the job names
# (Vertex AI's page of prices, as quoted in 2025).
AUTOML_PREDICTION_MACHINES = 40
# BigQuery ML trains trees and DNNs on Vertex AI.
EXTERNAL_TRAINING_MACHINES = 2
_MACHINE = Machine(type="n1-highmem-8")

# CREATE MODEL costs as many queries of the same bytes:
# https://cloud.google.com/bigquery/pricing#bqml
_CREATE_MODEL_QUERIES = 50

# Every machine of a Vertex AI job has a pd-ssd of this size:
# https://docs.cloud.google.com/vertex-ai/docs/reference/rest/v1/DiskSpec
DISK_GB = 100

_TIB = 2**40


@dataclass(frozen=True)
class Serving:
    """US dollars a day of a deployed model: with its fewest and with its most replicas.

    Not part of a run's budget: it accrues with or without runs, until the model is undeployed.
    While one model replaces another, both cost.

    automl: the same of AutoML's model of images, whose machines Google chooses; None: none may be
    deployed. Models of rows of AutoML's and BigQuery ML's are served on the same machines as ours.
    """

    least: float
    most: float
    automl: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields of plan.json."""
        return {
            "at_most_usd_per_day": round(self.most, 2),
            "at_least_usd_per_day": round(self.least, 2),
            **(
                {"automl_usd_per_day": [round(usd, 2) for usd in self.automl]}
                if self.automl
                else {}
            ),
            "assumptions": machines.table().sources["serving"],
        }

    def __str__(self) -> str:
        span = f"at most {self.most:.2f} USD a day"
        if self.least < self.most:
            span += f", at least {self.least:.2f}"
        if self.automl:
            least, most = self.automl
            nodes = f"{least:.2f} to {most:.2f}" if least < most else f"{most:.2f}"
            span += f"; of a model of AutoML's, on machines that Google chooses, {nodes}"
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


def assumptions(region: str) -> str:
    """Assumptions of every limit in a region; stages add theirs."""
    known, others = machines.table(region), services.table(region)
    text = ASSUMPTIONS.format(region=known.region, date=known.date)
    return text + (OTHERS.format(region=others.region) if known.region != others.region else "")


def baseline_names(experiment: Experiment) -> list[str]:
    """The baselines of a run, as plan.json and the leaderboard call them."""
    names = [f"bqml-{name}" for name in experiment.baselines.bqml]
    names += ["automl"] if experiment.baselines.automl else []
    return names + [f"{FILE_BASELINE}{name}" for name in experiment.baselines.files]


def baseline(experiment: Experiment, name: str, source_bytes: int, region: str | None) -> float:
    """The most that one baseline may cost in a region, in US dollars."""
    automl, read = experiment.baselines.automl, scan(source_bytes, region)
    if automl is not None and name == "automl":
        training = automl.node_hours * automl_training(experiment)
        prediction = automl_prediction(experiment, hours(AUTOML_PREDICTION_LIMIT), region)
        return training + prediction + queries.BASELINE * read
    if bqml.TYPES[name.removeprefix("bqml-")].external:
        machine = machines.table(region).usd(_MACHINE, "training")
        longest = hours(EXTERNAL_TRAINING_LIMIT)
        return queries.BASELINE * read + EXTERNAL_TRAINING_MACHINES * longest * machine
    return (queries.BASELINE + _CREATE_MODEL_QUERIES) * read


def automl_training(experiment: Experiment) -> float:
    """US dollars of a node hour of an AutoML baseline's training, which is the same everywhere."""
    return services.table().automl[experiment.source.automl]["training"]


def automl_prediction(experiment: Experiment, hours_: float, region: str | None) -> float:
    """US dollars of the hours of an AutoML baseline's batch prediction."""
    rate = services.table().automl[experiment.source.automl].get("prediction")
    if rate is None:
        rate = AUTOML_PREDICTION_MACHINES * machines.table(region).usd(_MACHINE, "serving")
    return hours_ * rate


def billed_baseline(experiment: Experiment, name: str, bytes_: int, region: str | None) -> float:
    """US dollars of a BigQuery ML baseline whose statements together were billed for these bytes.

    BigQuery does not report which of a script's bytes are those of CREATE MODEL: each of its
    statements reads the same rows, so they count alike.
    """
    return baseline(experiment, name, bytes_ // queries.BASELINE, region)


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
    saved = sum(
        (known.usd(machine, "training") - price) * n
        for price, (machine, n) in zip(spot, pools, strict=True)
        if price is not None
    )
    return max(0.0, saved / per_hour(pools, region))


def serving(experiment: Experiment, region: str | None) -> Serving | None:
    """Cost of the experiment's deployed model in a region; None if it deploys none."""
    if experiment.deploy is None:
        return None
    serving_machines = experiment.deploy.machines
    replica = machines.table(region).usd(serving_machines, "serving")
    least, most = serving_machines.replicas
    automl = None
    if experiment.may_deploy_automl and experiment.source.automl == "image":
        node = services.table().automl["image"]["deployment"]
        automl = 24 * least * node, 24 * most * node
    return Serving(24 * least * replica, 24 * most * replica, automl)


def scan(source_bytes: int, region: str | None) -> float:
    """US dollars of one query in a region that reads this number of bytes."""
    return billed(max(source_bytes, queries.LEAST), region)


def billed(bytes_: int, region: str | None) -> float:
    """US dollars of a query that BigQuery has billed for this number of bytes."""
    return bytes_ / _TIB * services.table(region).query_tib


def per_hour(pools: Sequence[tuple[Machine, int]], region: str) -> float:
    """US dollars an hour of a Vertex AI job with its disks. pools: machines, with how many there
    are of each.
    """
    known, disk = machines.table(region), DISK_GB * services.table(region).training_disk_gb
    return sum(count * (known.usd(machine, "training") + disk) for machine, count in pools)


def hours(duration: timedelta) -> float:
    """A duration in hours."""
    return duration.total_seconds() / 3600
