"""Validates a model's layers against a file's images and machines, as far as the trainer declares
it.
"""

import itertools
from collections.abc import Iterator

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.problems import Field, Problem
from trellis.workflow.spec.source import ImageSource, Source
from trellis.workflow.validation.hyperparameters import possible
from trellis_contracts import patches
from trellis_contracts.catalog import Catalog
from trellis_contracts.patches import BACKBONE_HALVINGS
from trellis_contracts.tasks import MULTILABEL, TASKS

NO_WEIGHTS = "none"


def problems(experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    """Layers that a training would refuse to build, to compile or to weigh."""
    if experiment.model not in catalog.models:
        return
    for where, size in _sizes(experiment.source):
        yield from _size(where, size, experiment, catalog)
    task = TASKS.get(experiment.task)
    if task and task.of_pixels and experiment.own_model is None:
        yield from _masks(experiment, catalog)
    yield from _compiled(experiment, catalog)
    yield from _own_loss(experiment)


def _masks(experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    """What our models of masks do not take."""
    source, sizes = experiment.source, dict(_sizes(experiment.source))
    if len(sizes) > 1 or "table" in source.inputs:
        message = (
            f"{experiment.model} predicts a mask from one image alone: name it in `features`, "
            "without columns beside it; a model of your own may read more"
        )
        yield Problem(("model",), message)
        return
    known = catalog.of_model(experiment.model)
    if "patch" not in known or not sizes:
        return
    where = ("tune", "search") if "patch" in experiment.search else ("hyperparameters",)
    halvings = [BACKBONE_HALVINGS]
    if "blocks" in known:
        halvings = [int(float(text)) for text in possible(experiment, catalog, "blocks")]
    sides = [side for text in possible(experiment, catalog, "patch") if (side := int(float(text)))]
    tried = itertools.product(sides, halvings, sizes.values())
    found = (
        f"got {side}; {why}"
        for side, times, size in tried
        if (why := patches.unfit(side, times, size))
    )
    if message := next(found, ""):
        yield Problem((*where, "patch"), message)
    elif sides:
        yield from _size((*where, "patch"), (min(sides), min(sides)), experiment, catalog)


def _sizes(source: Source) -> Iterator[tuple[Field, tuple[int, int]]]:
    """Heights and widths of the images, each with its place in the file."""
    if isinstance(source, ImageSource):
        yield ("source", "size"), source.size
        return
    for name, column in source.image_columns.items():
        yield ("source", "image_columns", name, "size"), column.size


def _size(
    where: Field, size: tuple[int, int], experiment: Experiment, catalog: Catalog
) -> Iterator[Problem]:
    """Values that need larger images; of each hyperparameter the one that needs the largest."""
    for name, known_as in catalog.of_model(experiment.model).items():
        least = known_as.schema.get("least_side", {})
        known = [value for value in possible(experiment, catalog, name) if value in least]
        value = max(known, key=least.__getitem__, default=None)
        if value is not None and min(size) < least[value]:
            height, width = size
            yield Problem(
                where,
                f"got {height} x {width} pixels; {name} {value} takes {least[value]} x "
                f"{least[value]} or more",
            )


def _compiled(experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    """Layers that XLA cannot compile."""
    if (own := experiment.own_model) and own.declaration.estimator:
        return
    if "true" not in map(str.lower, possible(experiment, catalog, "jit_compile")):
        return
    searched = "jit_compile" in experiment.search
    where = ("tune", "search") if searched else ("hyperparameters",)
    if why := _not_compiled(experiment, catalog):
        yield Problem((*where, "jit_compile"), f"{why}: leave it out")


def _not_compiled(experiment: Experiment, catalog: Catalog) -> str | None:
    model = catalog.models[experiment.model]
    loose = [word.lower() for word in possible(experiment, catalog, "deterministic")] == ["false"]
    if model.max_pooling and not loose:
        return f"XLA has no deterministic gradient of max pooling, which {experiment.model} has"
    if experiment.own_model or "backbone" not in catalog.of_model(experiment.model):
        return None
    words = catalog.of_model(experiment.model)["backbone"].schema
    networks = possible(experiment, catalog, "backbone")
    pooling = [name for name in networks if name in words["max_pooling"]]
    if pooling and not loose:
        return f"XLA has no deterministic gradient of max pooling, which {pooling[0]} has"
    normalized = [name for name in networks if name in words["batch_normalization"]]
    fresh = possible(experiment, catalog, "weights") == [NO_WEIGHTS]
    if normalized and fresh and _several_replicas(experiment):
        return (
            f"the batch normalization of {normalized[0]} takes its statistics over all replicas "
            "within a step, and XLA compiles the pass of one"
        )
    return None


def _several_replicas(experiment: Experiment) -> bool:
    def devices(machine: Machine) -> int:
        return machine.gpus if machine.gpu else 1

    jobs = [devices(experiment.train.machines) * experiment.train.machines.workers]
    if experiment.tune is not None:
        jobs.append(devices(experiment.tune.machines))
    return max(jobs) > 1


def _own_loss(experiment: Experiment) -> Iterator[Problem]:
    own = experiment.own_model
    if own is None or experiment.task != MULTILABEL:
        return
    if not (own.declaration.loss or own.declaration.train_step):
        return
    for where, given in (
        (("hyperparameters",), experiment.hyperparameters.get("class_weights", "none")),
        (("tune", "search"), "searched" if "class_weights" in experiment.search else "none"),
    ):
        if given != "none":
            yield Problem(
                (*where, "class_weights"),
                "of a multi-label task they weigh each class within the loss, and the model's file "
                "has losses of its own: leave them out, and weigh there",
            )
