"""Limit of a prediction's cost: machines times the time after which it is stopped."""

from trellis.workflow.pricing import machines, queries
from trellis.workflow.pricing.cost import (
    Cost,
    automl_prediction,
    check_budget,
    hours,
    per_hour,
    scan,
)
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
# The labels that have arrived are counted, and joined with the predictions.
_TRUTH_READS = 2


def at_most(
    experiment: Experiment,
    platform: Platform,
    source_bytes: int = 0,
    truth_bytes: int = 0,
    automl: bool | None = None,
) -> Cost:
    """The most that one run of the experiment's prediction may cost.

    automl: whether a model of AutoML's predicts, on machines that Google chooses; None: it may, if
    `deploy.allow` names it.

    source_bytes: what the table or query reads; truth_bytes: what a query on later labels and
    predictions does. Until they are known, the limit does not include them.
    """
    predict, region = experiment.prediction, platform.region
    replica = machines.table(region).usd(predict.machines, "serving")
    usd = predict.machines.replicas * replica * hours(predict.timeout)
    if automl is None:
        automl = experiment.may_deploy_automl
    if automl:
        usd = max(usd, automl_prediction(experiment, hours(predict.timeout), region))
    stages = {"predict": usd}
    if not isinstance(predict, ImagePredict):
        stages = {"snapshot": _READS * scan(source_bytes, region), **stages}
    if predict.truth:
        stages |= of_truth(platform, truth_bytes).stages
    return Cost(stages, ASSUMPTIONS)


def of_truth(platform: Platform, truth_bytes: int) -> Cost:
    """The part of that limit for scoring earlier predictions."""
    machine = Machine(type=platform.compare.machine_type)
    score = per_hour([(machine, 1)], platform.region) * hours(platform.compare.timeout)
    read = _TRUTH_READS * scan(truth_bytes, platform.region)
    return Cost({"truth": read, "score": score}, ASSUMPTIONS)


def within_budget(experiment: Experiment, limit: Cost) -> None:
    """Raises BudgetError if a prediction of the experiment may cost more than its budget."""
    remedies = "fewer or smaller machines, a shorter timeout, tables that are read in part"
    check_budget(f"A prediction of {experiment.name}", limit, experiment.budget, remedies)
