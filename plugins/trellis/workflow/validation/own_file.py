"""Validates what a model's own file with `fit` cannot have: it runs in one process of its own."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem


def problems(experiment: Experiment) -> Iterator[Problem]:
    """Machines that the trainer would refuse, or that would have nothing to do."""
    own = experiment.own_model
    if own is None or not own.declaration.estimator:
        return
    machines = experiment.train.machines
    several = {
        "workers": machines.workers > 1,
        "parameter_servers": machines.parameter_servers is not None,
        "reduction_servers": machines.reduction_servers is not None,
    }
    for name, given in several.items():
        if given:
            message = f"{own.name} has a function fit, which runs in one process: leave it out"
            yield Problem(("train", "machines", name), message)
