"""Finds what the export and the trainer would refuse in a dataset, once its splits are counted.

`check` counts them. The rules are the trainer's: shards in
trainer/exporting, batches in trainer/training/input_pipeline.py, metrics in
trainer/training/data_checks.py.
"""

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trellis.workflow.spec import baselines, bqml
from trellis.workflow.spec.decision import KEYS
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine, TrainingMachines
from trellis.workflow.spec.sharding import least
from trellis.workflow.spec.tuning import Choices
from trellis_contracts import catalog
from trellis_contracts.models import MODELS
from trellis_contracts.tasks import MULTILABEL, NAMED, natural_order
from trellis_contracts.withheld import some_of

NAMES = ("train", "validation", "test")

_RANKED = ("auc", "average_precision")
"""Metrics that compare examples of a class with others, and have no value without both."""

# If shares differ by more than this fraction of their mean, workers divide examples, not files.
_EVEN = 0.01


@dataclass(frozen=True)
class Counts:
    """A split. examples: their number. classes: how many of them have each class, none of a
    regression. groups: that decide the split; None: none do.
    """

    examples: int
    classes: Mapping[str, int]
    groups: int | None = None


def judge(experiment: Experiment, splits: Mapping[str, Counts]) -> list[str]:
    """Return why no training could begin, or learn anything; nothing of a split that has no
    example.
    """
    if any(not splits[name].examples for name in NAMES):
        return []
    return [
        *_shards(experiment, splits["train"].examples),
        *_batches(experiment, splits["train"].examples),
        *_profile(experiment, splits["train"].examples),
        *_metric(experiment, splits["validation"]),
        *_held_out(experiment, splits),
    ]


def too_many_classes(experiment: Experiment, classes: int) -> Iterator[str]:
    """Baselines that do not take so many classes."""
    if experiment.task not in NAMED:
        return
    names = [name for name in experiment.baselines.bqml if name in bqml.TYPES]
    if names and classes > bqml.MOST_CLASSES:
        yield (
            f"baselines.bqml: BigQuery ML's models take up to {bqml.MOST_CLASSES} classes, and "
            f"the label has {classes}: leave `bqml` out"
        )
    of_rows = experiment.baselines.automl is not None and experiment.source.automl != "image"
    if of_rows and classes > baselines.MOST_CLASSES_OF_ROWS:
        most = baselines.MOST_CLASSES_OF_ROWS
        yield (
            f"baselines.automl: AutoML learns up to {most} classes from a table, "
            f"and the label has {classes}: leave `automl` out"
        )


def too_long(experiment: Experiment, longest: int) -> Iterator[str]:
    """Models that do not take so long a sequence. longest: elements, in the train split."""
    for name, one in experiment.by_model.items():
        most = MODELS[one.model].most.get("steps") if one.model in MODELS else None
        if most is not None and longest > most:
            yield (
                f"{'model' if name is None else 'other_models'}: {one.model} takes sequences of up "
                f"to {most:,} elements, and the longest has {longest:,}: shorten them in a query, "
                "or use recurrent"
            )


def as_float32(number: float | str) -> float:
    """A number as records hold it."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", float(number)))[0])
    except OverflowError:
        return math.inf


def _shards(experiment: Experiment, examples: int) -> Iterator[str]:
    shards = experiment.source.shards
    if isinstance(shards, int) and shards > examples:
        yield (
            f"source.shards: {shards} files cannot be filled by the {examples} examples of the "
            f"train split: write {examples} or fewer"
        )


def _batches(experiment: Experiment, examples: int) -> Iterator[str]:
    """The first job of each model whose largest batch has more examples than a worker reads."""
    for name, one in experiment.networks.items():
        where = "" if name is None else f"other_models.{name}."
        jobs: list[tuple[str, Machine]] = [("train", one.train.machines)]
        if one.tune is not None:
            jobs.insert(0, ("tune", one.tune.machines))
        for job, machines in jobs:
            share = _share(examples, least(experiment), machines)
            size, times = _largest(one, "batch_size"), _largest(one, "accumulation")
            if size * times <= share:
                continue
            factor = f", times accumulation {times}" if times > 1 else ""
            replicas = _replicas(machines)
            several = f" by {replicas} replicas" if replicas > 1 else ""
            remedy = f"write {share // times} or less" if share >= times else "use fewer replicas"
            yield (
                f"{where}batch_size: up to {size}{factor}, in the section `{job}`; the "
                f"{examples} examples of the train split, read{several}, are {share} for each: "
                f"{remedy} (hyperparameters.batch_size, or tune.search)"
            )
            break


def _profile(experiment: Experiment, examples: int) -> Iterator[str]:
    """Steps to profile beyond those of the first training."""
    train = experiment.train
    if train.profile is None or experiment.model not in MODELS:
        return
    share = _share(examples, least(experiment), train.machines)
    batch = _largest(experiment, "batch_size") * _largest(experiment, "accumulation")
    if batch and train.profile[1] > (steps := train.epochs * (share // batch)):
        yield (
            f"train.profile: step {train.profile[1]} is beyond the {steps:,} steps of a training "
            f"with {train.epochs} epochs and batches of {batch}: choose a range of them"
        )


def _share(examples: int, shards: int, machines: Machine) -> int:
    """Examples of the train split that a replica reads in an epoch, of the one that reads least."""
    workers = machines.workers if isinstance(machines, TrainingMachines) else 1
    if isinstance(machines, TrainingMachines) and machines.parameter_servers is not None:
        return examples  # each worker reads all, in an order of its own
    shards = min(shards, examples)
    edges = [examples * index // shards for index in range(shards + 1)]
    sizes = [
        sum(edges[n + 1] - edges[n] for n in range(worker, shards, workers))
        for worker in range(workers)
    ]
    even = max(sizes) - min(sizes) <= _EVEN * examples / workers
    smallest = min(sizes) if even else examples // workers
    return smallest // (machines.gpus if machines.gpu else 1)


def _replicas(machines: Machine) -> int:
    workers = machines.workers if isinstance(machines, TrainingMachines) else 1
    return workers * (machines.gpus if machines.gpu else 1)


def _largest(experiment: Experiment, name: str) -> int:
    """The largest value that a hyperparameter may have in a run."""
    searched = experiment.search.get(name)
    if isinstance(searched, Choices):
        return max(int(value) for value in searched.choose)
    if searched is not None:
        return int(searched.to)
    default = catalog.load().hyperparameters[name].schema["default"]
    return int(experiment.hyperparameters.get(name, default))


def _held_out(experiment: Experiment, splits: Mapping[str, Counts]) -> Iterator[str]:
    """Why the validation split is too small for what is chosen on it."""
    validation, asked = splits["validation"], experiment.held_out
    classes = {name: validation.classes.get(name, 0) for name in splits["train"].classes}
    if experiment.task not in NAMED:
        classes = {}
    positive = experiment.positive or max(classes, key=natural_order, default=None)
    examples, groups = validation.examples, validation.groups
    for name, why in asked.too_small(examples, classes, positive, groups):
        yield f"{KEYS.get(name, name)}: {why}"


def _metric(experiment: Experiment, validation: Counts) -> Iterator[str]:
    """Metrics that the validation split's classes leave undefined."""
    if experiment.task not in NAMED:
        return
    metric, classes = experiment.metric, validation.classes
    if experiment.task == MULTILABEL:
        mixed = any(0 < count < validation.examples for count in classes.values())
        if metric in _RANKED and not mixed:
            yield (
                f"{experiment.goal}: {metric} compares examples with and without a class, and the "
                "validation split has no class that only some of its examples have"
            )
        return
    present = [name for name, count in classes.items() if count]
    if len(present) > 1:
        return
    lone = f"the validation split has examples of {some_of(present, 'class', 'classes')} only"
    lone = lone if present else "no class"
    remedy = "give that split a larger share, or divide each class (`split: {stratify: ...}`)"
    if metric in _RANKED:
        yield f"{experiment.goal}: {metric} compares two classes, and {lone}: {remedy}"
