"""What a prediction may cost at most: machines times the time after which it is stopped."""

from research.cost import Cost, prices, scan
from research.experiment import Experiment

ASSUMPTIONS = (
    "the job runs until its timeout on all its replicas; without storage and network, and without "
    "jobs that Google's side fails and Airflow repeats"
)

# The rows are frozen once, the predictions are read once.
_READS = 2


def at_most(experiment: Experiment, source_bytes: int = 0) -> Cost:
    """The most that one run of the experiment's prediction may cost.

    source_bytes: what reading the table or query takes; while that is not known, the limit is
    without it.
    """
    predict, table = experiment.predict, prices().serving
    machines = predict.machines
    gpus = table["gpus"][machines.gpu] * machines.gpus if machines.gpu else 0.0
    hours = predict.timeout.total_seconds() / 3600
    stages = {"predict": machines.replicas * (table["machines"][machines.type] + gpus) * hours}
    if predict.kind == "table":
        stages = {"snapshot": _READS * scan(source_bytes), **stages}
    return Cost(stages, ASSUMPTIONS)
