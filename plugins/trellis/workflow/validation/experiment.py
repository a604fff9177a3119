"""Validates an experiment: fields against one another, and against the trainer."""

import re
from collections.abc import Iterator
from typing import Any

from trellis.workflow import labels
from trellis.workflow.spec import bqml, bqml_options
from trellis.workflow.spec.decision import KEYS
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import TrainingMachines
from trellis.workflow.spec.problems import GUIDE, Problem, did_you_mean
from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.sharding import least
from trellis.workflow.spec.source import RowSource, Source
from trellis.workflow.spec.split import ColumnSplit, StratifiedSplit
from trellis.workflow.validation import (
    backbone,
    columns,
    folds,
    hyperparameters,
    layers,
    other_models,
    own_file,
    slices,
)
from trellis.workflow.validation.machines import machine_problems, queue_problems
from trellis_contracts import metrics
from trellis_contracts.catalog import Catalog
from trellis_contracts.metrics import METRICS
from trellis_contracts.tasks import (
    BINARY,
    MULTILABEL,
    ONE_CLASS,
    REGRESSION,
    TASKS,
)

# Of a folder of the run.
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def problems(experiment: Experiment, catalog: Catalog) -> list[Problem]:
    """List the problems that no field shows by itself."""
    return [
        *_counts(experiment),
        *_columns(experiment),
        *labels.problems(experiment),
        *_trainer(experiment, catalog),
        *_of_task(experiment),
        *_positive(experiment),
        *_held_out(experiment),
        *_metric(experiment),
        *hyperparameters.problems(experiment, catalog),
        *backbone.problems(experiment),
        *layers.problems(experiment, catalog),
        *own_file.problems(experiment),
        *other_models.problems(experiment, catalog),
        *_start(experiment),
        *folds.problems(experiment),
        *_machines(experiment),
        *_baselines(experiment),
        *slices.problems(experiment.slices),
    ]


def _counts(experiment: Experiment) -> Iterator[Problem]:
    tune, train = experiment.tune, experiment.train
    if tune is None:
        if train.top > 1:
            yield Problem(("train", "top"), "without `tune` there is one training: leave it out")
    else:
        if train.top > tune.trials:
            yield Problem(
                ("train", "top"),
                f"the best {train.top} of {tune.trials} trials: lower it, or raise `trials`",
            )
        if tune.parallel > tune.trials:
            yield Problem(("tune", "parallel"), f"got {tune.parallel} of only {tune.trials} trials")
    if train.ensemble and experiment.trainings == 1 and train.seeds == 1:
        message = "is the mean of several trainings, and there is one: raise `top` or `seeds`"
        yield Problem(("train", "ensemble"), f"{message}, or add `other_models`")
    if train.ensemble and experiment.calibrate is not None:
        # Its figures of the validation split, by which it is selected, would be those of models
        # that were fitted there, beside those of the others before that.
        message = "is selected by models that `calibrate` has fitted to the validation split"
        yield Problem(("train", "ensemble"), f"{message}: leave out one of the two")
    workers, shards = train.machines.workers, least(experiment)
    # What a file's own `fit` reads, it divides by itself.
    networks = bool(experiment.networks)
    if networks and workers > shards and train.machines.parameter_servers is None:
        yield Problem(
            ("source", "shards"),
            f"got {shards} for {workers} workers, each of which reads its own; expected {workers} "
            "or more",
        )


def _columns(experiment: Experiment) -> Iterator[Problem]:
    """Roles of columns that exclude one another."""
    source = experiment.source
    if not isinstance(source, RowSource):
        yield from _image_split(experiment)
        return
    if experiment.task == MULTILABEL and isinstance(source.split, StratifiedSplit):
        message = "divides the rows of one class each, and here a row has any number: leave it out"
        yield Problem(("source", "split", "stratify"), message)
    yield from columns.problems(source)


def _image_split(experiment: Experiment) -> Iterator[Problem]:
    """Rules of a split that do not go with a manifest of images."""
    split = experiment.source.split
    where = ("source", "split", *split.opening)
    if isinstance(split, ColumnSplit) and columns.folded(split.column) != "ml_use":
        yield Problem(where, f"got '{split.column}'; a manifest names the splits by its ML_USE")
    if not isinstance(split, StratifiedSplit):
        return
    if columns.folded(split.stratify) != "label":
        yield Problem(where, f"got '{split.stratify}'; of a manifest, only its `label` is divided")
    if experiment.task in TASKS and experiment.task not in ONE_CLASS:
        yield Problem(where, "divides the images of one class each; leave it out")


def _trainer(experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    sides = (
        ("model", experiment.model, catalog.models),
        ("task", experiment.task, TASKS),
    )
    for where, word, known in sides:
        if word not in known:
            more = f"; {GUIDE} says what no task learns" if where == "task" else ""
            message = f"unknown {where} '{word}'; {did_you_mean(word, known)}{more}"
            yield Problem((where,), message)
    if unfit := other_models.unfit(experiment, catalog):
        yield Problem(("model",), unfit)


def _of_task(experiment: Experiment) -> Iterator[Problem]:
    """Keys that do not go with the task, by its entry."""
    task = TASKS.get(experiment.task)
    for key, why in task.unfit.items() if task else ():
        part: Any = experiment
        for name in (where := key.split(".")):
            part = getattr(part, name, None)
        if part:
            yield Problem(tuple(where), why)


def _positive(experiment: Experiment) -> Iterator[Problem]:
    if experiment.positive is not None and experiment.task != BINARY:
        message = f"a {BINARY} has a positive class, and the task is {experiment.task}"
        yield Problem(("positive",), message)


def _held_out(experiment: Experiment) -> Iterator[Problem]:
    """What is chosen on the validation split, but not for this task."""
    if experiment.task in TASKS:
        for name, why in experiment.held_out.unfit(experiment.task):
            yield Problem((KEYS.get(name, name),), why)


def _metric(experiment: Experiment) -> Iterator[Problem]:
    train, metric, goal = experiment.train, experiment.metric, experiment.goal
    known = metrics.of_task(experiment.task) or list(METRICS)
    named = [name for name in ("maximize", "minimize") if getattr(train, name) is not None]
    if experiment.tune is not None:
        for name in named:
            yield Problem(("train", name), "`tune` names the metric: remove one of the two")
    elif not named:
        message = f"without `tune`, expected a metric here: `maximize: {known[0]}`, say"
        yield Problem(("train",), message)
        return
    elif len(named) > 1:
        yield Problem(("train", "minimize"), "one metric decides: remove `maximize` or `minimize`")
        return
    where = ("train" if experiment.tune is None else "tune", goal)
    if metric not in known:
        message = f"unknown metric '{metric}' of {experiment.task}; "
        yield Problem(where, message + did_you_mean(metric, known))
    elif METRICS[metric].goal != goal:
        better = {"maximize": "more", "minimize": "less"}
        wanted = METRICS[metric].goal
        message = f"{better[wanted]} of '{metric}' is better: write `{wanted}: {metric}`"
        yield Problem(where, message)
    elif metric in metrics.UNSERVED and experiment.predict and experiment.predict.truth:
        able = ", ".join(name for name in known if name not in metrics.UNSERVED)
        message = (
            f"'{metric}', by which the models are chosen, needs more than a prediction has: choose "
            f"by one of {able}, or leave `truth` out"
        )
        yield Problem(("predict", "truth"), message)


def _start(experiment: Experiment) -> Iterator[Problem]:
    """List what cannot begin with another model's weights."""
    where = ("train", "start")
    if experiment.train.start is None:
        return
    if None not in experiment.networks:
        yield Problem(where, f"{experiment.model} has a `fit` of its own, which begins by itself")
    elif experiment.model == "backbone":
        yield Problem(where, "a backbone begins with `weights`, in phases: leave it out")
    if experiment.train.machines.parameter_servers is not None:
        yield Problem(where, "weights on `parameter_servers` begin anew: leave one of them out")


def _machines(experiment: Experiment) -> Iterator[Problem]:
    for section in ("tune", "train"):
        if part := getattr(experiment, section):
            yield from machine_problems(part.machines, (section, "machines"), "training")
            pools = getattr(part.machines, "pools", [])
            machines = [machine for machine, _ in pools]
            yield from queue_problems(part.machines, machines, part.timeout, section)
    training = experiment.train.machines
    if training.parameter_servers is not None:
        yield from _parameter_servers(experiment, training, ("train", "machines"))
    if training.reduction_servers is not None:
        yield from _reduction_servers(training, ("train", "machines", "reduction_servers"))


def _parameter_servers(
    experiment: Experiment, machines: TrainingMachines, where: Where
) -> Iterator[Problem]:
    """List the settings that do not go with parameter servers."""
    *_, (server, _) = machines.pools
    yield from machine_problems(server, (*where, "parameter_servers"), "training")
    if machines.gpu and machines.gpus > 1:
        message = f"got {machines.gpus}; with `parameter_servers` a worker computes on one GPU"
        yield Problem((*where, "gpus"), message)
    for name, one in experiment.networks.items():
        if one.hyperparameters.get("jit_compile"):
            model = () if name is None else ("other_models", name)
            message = "XLA cannot compile steps whose weights are on `parameter_servers`"
            yield Problem((*model, "hyperparameters", "jit_compile"), message)


def _reduction_servers(machines: TrainingMachines, where: Where) -> Iterator[Problem]:
    """List the settings that do not go with Reduction Server: those that do not sum gradients
    through NCCL.
    """
    if machines.parameter_servers is not None:
        yield Problem(where, "sums gradients of workers in lockstep: not of `parameter_servers`")
        return
    *_, (server, _) = machines.pools
    yield from machine_problems(server, where, "training")
    if machines.workers == 1:
        yield Problem(where, "sums gradients of several machines: raise `workers`")
    if machines.gpu is None:
        yield Problem(where, "sums gradients of GPUs: name a `gpu`, or leave it out")


def _baselines(experiment: Experiment) -> Iterator[Problem]:
    baselines, source = experiment.baselines, experiment.source
    learns_classes = experiment.task in ONE_CLASS
    where: Where = ("baselines", "bqml")
    of_images = source.automl == "image"
    unfit = TASKS[experiment.task].unfit if experiment.task in TASKS else {}
    if baselines.bqml and of_images and "baselines.bqml" not in unfit:
        yield Problem(
            where,
            "BigQuery ML learns from columns, and the examples are images alone"
            + ("; what fits them: `automl: {node_hours: 8}`" if learns_classes else ""),
        )
    elif "baselines.bqml" not in unfit:
        for n, name in enumerate(baselines.bqml):
            yield from _bqml(experiment, name, (*where, n))
            if name in baselines.bqml[:n]:
                yield Problem((*where, n), f"'{name}' is listed twice")
    yield from _options(experiment)
    for name in baselines.files:
        if not _NAME.fullmatch(name):
            message = f"got {name!r}; expected up to 40 lower-case letters, digits, _ and -"
            yield Problem(("baselines", "files", name), message)
    if "baselines.automl" not in unfit:
        yield from _automl(experiment, of_images)


def _automl(experiment: Experiment, of_images: bool) -> Iterator[Problem]:
    baselines, source = experiment.baselines, experiment.source
    where = ("baselines", "automl")
    if baselines.automl is not None and of_images and experiment.task == REGRESSION:
        # https://docs.cloud.google.com/vertex-ai/docs/image-data/classification/overview
        yield Problem(where, "AutoML learns classes of images, no numbers: leave it out")
    elif baselines.automl is not None and of_images and _scaled(source):
        yield Problem(
            where,
            "AutoML reads the files itself, with 8 bits per channel and of the first page, and not "
            "by `scale` or `pages`: leave it out",
        )
    elif baselines.automl is not None:
        least, most = (8, 800) if of_images else (1, 72)
        if not least <= baselines.automl.node_hours <= most:
            yield Problem(
                ("baselines", "automl", "node_hours"),
                f"got {baselines.automl.node_hours:g}; AutoML on {source.automl}s takes "
                f"{least} to {most}",
            )


def _scaled(source: Source) -> bool:
    return any(form.scale or form.pages for form in source.image_columns.values())


def _options(experiment: Experiment) -> Iterator[Problem]:
    baselines, source = experiment.baselines, experiment.source
    weighted = source.weight is not None
    for name, options in baselines.options.items():
        where = ("baselines", "options", name)
        if name not in baselines.bqml:
            message = f"is no baseline of this file; {did_you_mean(name, baselines.bqml)}"
            yield Problem(where, message)
        elif name not in bqml_options.OPTIONS:
            known = ", ".join(bqml_options.OPTIONS)
            yield Problem(where, f"only these types have options in a file: {known}")
        else:
            for option, message in bqml_options.problems(name, options):
                yield Problem((*where, option), message)
            if weighted and bqml.TYPES[name].weighted and options.get("auto_class_weights"):
                message = "BigQuery ML takes this or `source.weight`, not both: leave it out"
                yield Problem((*where, "auto_class_weights"), message)


def _bqml(experiment: Experiment, name: str, where: Where) -> Iterator[Problem]:
    if name not in bqml.TYPES:
        yield Problem(where, f"unknown type '{name}'; {did_you_mean(name, bqml.TYPES)}")
        return
    fitting = bqml.fitting(experiment.task)
    if fitting and name not in fitting:
        message = f"{name} does not learn {experiment.task}; types that do: {', '.join(fitting)}"
        yield Problem(where, message)
