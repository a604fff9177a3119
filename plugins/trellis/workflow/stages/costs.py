"""Sums over the stages of a run: limit of its cost, cost until now, savings, number of jobs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.pricing.cost import Cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.stage import Stage, Usd
from trellis_contracts.leaderboard import Leaderboard

# In this order in plan.json.
_KINDS = ("dataflow", "tuning", "custom", "automl", "batch")


def of(stages: Iterable[Stage], experiment: Experiment) -> list[Stage]:
    """List the stages that an experiment has."""
    return [stage for stage in stages if stage.when(experiment)]


def at_most(
    stages: Iterable[Stage], experiment: Experiment, platform: Platform, source_bytes: int = 0
) -> Cost:
    """Bound the cost of one run of the experiment. Raises KeyError for an unpriced machine.

    source_bytes: bytes that the table's or query's dry run names; until they are known, the limit
    does not include them.
    """
    own = of(stages, experiment)
    limits = together(stage.at_most(experiment, platform, source_bytes) for stage in own)
    assumptions = cost.assumptions(platform.region) + "".join(stage.assumes for stage in own)
    return Cost(limits, assumptions)


def spent(
    stages: Iterable[Stage], plan: Plan, platform: Platform, ti: Any, board: Leaderboard | None
) -> dict[str, float]:
    """Cost of a run so far, by the names in its plan's cost: its jobs' own times and billed bytes,
    at list prices.

    An estimate. Spot machines count at on-demand prices, Dataflow as if all workers that it may
    have had worked all the time. Jobs that failed or were retried count; storage, network, the
    deployed model and what Google gives a group for less do not.

    ti: of any task of the run, called in it. board: the leaderboard, which has the baselines' cost.
    Raises what Google's clients raise.
    """
    from trellis.workflow.stages.run_jobs import RunJobs

    jobs = RunJobs(plan, platform, ti, board)
    return together(stage.spent(jobs) for stage in of(stages, plan.experiment))


def together(parts: Iterable[Usd]) -> dict[str, float]:
    """Add up US dollars by name, over stages that each name their own."""
    usd: dict[str, float] = {}
    for part in parts:
        for name, amount in part.items():
            usd[name] = usd.get(name, 0.0) + amount
    return usd


def spot_savings(
    stages: Iterable[Stage], experiment: Experiment, platform: Platform, usd: Mapping[str, float]
) -> dict[str, float]:
    """Savings of spot machines in US dollars against on-demand prices, by stage.

    Without the stages that use none, and those whose machines have no known spot price.
    """
    saved: dict[str, float] = {}
    for stage in of(stages, experiment):
        fleet = stage.fleet(experiment, platform)
        if fleet is None or not fleet.spot or stage.name not in usd:
            continue
        share = cost.spot_share(fleet.machines, platform.region)
        if share is not None:
            saved[stage.name] = usd[stage.name] * share
    return saved


def jobs(stages: Iterable[Stage], plan: Plan) -> dict[str, int]:
    """Count the run's jobs by kind, without BigQuery's."""
    count = Counter(dict.fromkeys(_KINDS, 0))
    for stage in of(stages, plan.experiment):
        count.update(stage.jobs(plan))
    return dict(count)
