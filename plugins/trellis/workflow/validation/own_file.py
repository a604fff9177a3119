"""Validates what a model's own file with `fit` cannot have: it trains as it says."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem


def problems(experiment: Experiment) -> Iterator[Problem]:
    """Machines that the trainer would refuse, or that would have nothing to do."""
    own = experiment.own_model
    if own is None or not own.declaration.estimator:
        return
    machines = experiment.train.machines
    if machines.workers > 1 and not own.declaration.several_workers:
        message = (
            f"{own.name} has a function fit, which runs in one process: leave it out, or write "
            "SEVERAL_WORKERS = True in the file if its fit trains with run.workers"
        )
        yield Problem(("train", "machines", "workers"), message)
    for name in ("parameter_servers", "reduction_servers"):
        if getattr(machines, name) is not None:
            message = f"{own.name} has a function fit, which knows of no servers: leave it out"
            yield Problem(("train", "machines", name), message)
    if experiment.train.profile is not None:
        message = f"{own.name} has a function fit, whose steps are its own: leave it out"
        yield Problem(("train", "profile"), message)
