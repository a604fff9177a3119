"""Validates what cannot be had with a model's own file with `fit`, or an image's own program."""

from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.own_image import is_address
from trellis.workflow.spec.problems import Problem
from trellis_contracts.program.terms import CLUSTER
from trellis_contracts.tasks import TASKS

_OF_OURS = {
    "calibrate": "calibrates",
    "decision": "chooses a threshold",
    "abstain": "hands examples back",
    "coverage": "gives sets or intervals",
}
"""Keys for what only the trainer and its server do."""


def problems(experiment: Experiment) -> Iterator[Problem]:
    """Machines that the trainer would refuse, or that would have nothing to do."""
    yield from _program(experiment)
    own = experiment.own_model
    if own is None or not own.declaration.estimator:
        return
    machines = experiment.train.machines
    has, trains = f"{own.name} has a function fit", "its fit trains with run.workers"
    if experiment.foreign:
        has, trains = f"{experiment.image} has its own program", f"the program reads {CLUSTER}"
    if machines.workers > 1 and not own.declaration.several_workers:
        message = (
            f"{has}, which runs in one process: leave it out, or write SEVERAL_WORKERS = True in "
            f"{own.name} if {trains}"
        )
        yield Problem(("train", "machines", "workers"), message)
    for name in ("parameter_servers", "reduction_servers"):
        if getattr(machines, name) is not None:
            message = f"{has}, which knows of no servers: leave it out"
            yield Problem(("train", "machines", name), message)
    if experiment.train.profile is not None:
        yield Problem(("train", "profile"), f"{has}, whose steps are its own: leave it out")


def _program(experiment: Experiment) -> Iterator[Problem]:
    """What an image that is not ours cannot do, and what it needs."""
    if not experiment.foreign:
        for key in ("program", "serve_image"):
            value = getattr(experiment, key)
            if value is not None and (key == "program" or is_address(value)):
                yield Problem((key,), "is of an `image` that is not ours, by its whole address")
        return
    if experiment.own_model is None:
        message = (
            f"the image {experiment.image} trains by its own program: name a Python file beside "
            "this one that declares its HYPERPARAMETERS, perhaps {}, and nothing else"
        )
        yield Problem(("model",), message)
    for key, what in _OF_OURS.items():
        if getattr(experiment, key) is not None:
            yield Problem((key,), f"{experiment.image} is not ours, which {what}: leave it out")
    train = experiment.train
    task = TASKS.get(experiment.task)
    if task and task.no_program:
        message = f"no program in an image that is not ours learns it: {task.no_program}"
        yield Problem(("task",), message)
    if train.ensemble or train.start is not None:
        key = "ensemble" if train.ensemble else "start"
        yield Problem(("train", key), "needs models that the trainer can load: leave it out")
    if experiment.other_models:
        message = "the image is that of all models, and only its own program runs there"
        yield Problem(("other_models",), f"{message}: leave them out")
    if experiment.serve_image is not None and not is_address(experiment.serve_image):
        message = "our server cannot load what another program has saved: leave it out"
        yield Problem(("serve_image",), message)
