"""Limit of a prediction's cost: machines times the time after which it is stopped."""

from trellis.workflow.pricing import machines, queries
from trellis.workflow.pricing.cost import Cost, check_budget, hours, per_hour, scan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import ImagePredict

ASSUMPTIONS = (
    "the job runs until its timeout, which its repeats share, on all its replicas; without storage "
    "and network"
)

# The rows are frozen once and compared with what the model learned from, the predictions read once.
_READS = 2 + queries.CHECK


def at_most(experiment: Experiment, platform: Platform, source_bytes: int = 0) -> Cost:
    """The most that one run of the experiment's prediction may cost.

    source_bytes: what the table or query reads; until that is known, the limit does not include it.
    """
    predict, region = experiment.prediction, platform.region
    replica = machines.table(region).usd(predict.machines, "serving")
    stages = {"predict": predict.machines.replicas * replica * hours(predict.timeout)}
    if not isinstance(predict, ImagePredict):
        stages = {"snapshot": _READS * scan(source_bytes, region), **stages}
        if predict.truth is not None:
            machine = Machine(type=platform.compare.machine_type)
            stages["score"] = per_hour([(machine, 1)], region) * hours(platform.compare.timeout)
    return Cost(stages, ASSUMPTIONS)


def within_budget(experiment: Experiment, limit: Cost) -> None:
    """Raises BudgetError if a prediction of the experiment may cost more than its budget."""
    remedies = "fewer or smaller machines, a shorter timeout"
    check_budget(f"A prediction of {experiment.name}", limit, experiment.budget, remedies)
