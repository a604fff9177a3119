"""Checks before TensorFlow starts: the dataset exists, is complete and fits the training."""

import os
from collections.abc import Callable, Collection, Sequence
from typing import NoReturn

from trainer import dataset_description, storage
from trainer.training import TrainingError, class_weights, cluster
from trainer.training.settings import Settings
from trellis_contracts import hyperparameters
from trellis_contracts.dataset import SPLITS, DatasetDescription, DatasetError
from trellis_contracts.dataset_features import IMAGE, SEQUENCE, TEXT
from trellis_contracts.hyperparameters import Common
from trellis_contracts.models import MODELS, words_for
from trellis_contracts.tasks import MULTICLASS, MULTILABEL, NUMBERS, TASKS, family_of
from trellis_contracts.withheld import quoted, some_of

Refuse = Callable[[str], NoReturn]


def checked_dataset(settings: Settings) -> DatasetDescription:
    """The dataset's description. Raises TrainingError if the settings do not fit the dataset."""
    try:
        dataset = dataset_description.load(settings.dataset)
    except DatasetError as error:
        raise TrainingError(str(error)) from error
    _check_files(settings, dataset)
    _check_content(settings, dataset)
    return dataset


def _check_files(settings: Settings, dataset: DatasetDescription) -> None:
    for split in SPLITS:
        for shard in dataset.files[split]:
            path = storage.local_path(storage.join(settings.dataset, shard.name))
            size = path.stat().st_size if path.is_file() else None
            if size != shard.bytes:
                found = "is missing" if size is None else f"has {size} bytes, not {shard.bytes}"
                raise TrainingError(
                    f"the dataset {settings.dataset} is incomplete: {shard.name} {found}. "
                    "Delete its dataset.json and export it again"
                )


def _check_content(settings: Settings, dataset: DatasetDescription) -> None:
    def refuse(problem: str) -> NoReturn:
        raise TrainingError(f"the dataset {settings.dataset} {problem}")

    _check_features(settings, dataset, refuse)
    _check_label(settings, dataset, refuse)
    needed = ["train", "validation"]
    # A dataset of everything for a model to deploy has no files of a test split.
    if settings.outputs == "all" and dataset.files["test"]:
        needed.append("test")
    for split in needed:
        if not dataset.examples(split):
            refuse(f"has no example in the {split} split")
    if settings.outputs == "all":
        _check_validation(settings, dataset, refuse)
    if isinstance(settings.hyperparameters, Common):
        _check_common(settings, settings.hyperparameters, dataset, refuse)
    else:
        _check_processes(settings)


def _check_validation(settings: Settings, dataset: DatasetDescription, refuse: Refuse) -> None:
    """What is chosen on the validation split when the training has ended."""
    counts = dataset.counts["validation"]
    asked = settings.held_out
    for name, why in asked.too_small(counts.examples, counts.classes, dataset.positive):
        refuse(f"does not suffice for --{name}: {why}")


def _check_processes(settings: Settings) -> None:
    """Refuse machines that a file's own `fit` does not know of."""
    peers = cluster.from_environment(os.environ)
    several = settings.own is not None and settings.own.declaration.several_workers
    known = ("auto", "multi_worker") if several else ("auto", "single")
    if settings.strategy not in known or peers.has_servers:
        raise TrainingError(
            f"{settings.model} has a function fit, which decides by itself how it trains: leave "
            "out --strategy, and give the job no servers"
        )
    if len(peers) > 1 and not several:
        raise TrainingError(
            f"{settings.model} has a function fit, which runs in one process: give the job "
            "one machine, or write SEVERAL_WORKERS = True in the file if its fit trains with "
            "run.workers"
        )


def _check_common(
    settings: Settings, h: Common, dataset: DatasetDescription, refuse: Refuse
) -> None:
    """Hyperparameters of a Keras model."""
    read = settings.declared.reads(dataset.inputs)
    if idle := hyperparameters.without_effect(h, read, settings.task):
        refuse(
            f"is one of {words_for(read)}, for {settings.task}: {', '.join(idle)} would have no "
            "effect; leave it out"
        )
    if wrong := hyperparameters.unfit(h, settings.task):
        refuse(f"is for {settings.task}, and {', '.join(wrong)} is for other tasks: leave it out")
    if getattr(h, "mix", "none") != "none":
        _check_mix(dataset, read, refuse)
    (class_weights.of_sets if dataset.is_multilabel else class_weights.of)(dataset, h)
    compiled = "jit_compile" if h.jit_compile else ""
    compiled = "--strategy tpu" if settings.strategy == "tpu" else compiled
    if compiled and dataset.features_of(SEQUENCE, TEXT):
        refuse(
            "has sequences or texts, whose length differs from batch to batch: XLA would compile "
            f"each again; leave {compiled} out"
        )


def _check_features(settings: Settings, dataset: DatasetDescription, refuse: Refuse) -> None:
    if not dataset.features:
        refuse("has no features: there is nothing to predict the label from")
    kinds = {feature.kind: None for feature in dataset.features}  # a set, in order
    inputs, task = dataset.inputs, settings.task
    if not settings.declared.fits(inputs, task):
        fitting = [name for name, model in MODELS.items() if model.fits(inputs, task)]
        refuse(
            f"is one of {words_for(inputs)}, which {settings.model} does not read for {task}: use "
            "--model " + ", ".join(fitting[:-1]) + f" or {fitting[-1]}"
        )
    if not settings.own and MODELS[settings.model].needs == SEQUENCE and SEQUENCE not in kinds:
        refuse(
            f"has no sequence (an ARRAY column), which {settings.model} is for: use --model dense"
        )


def _check_mix(dataset: DatasetDescription, read: Collection[str], refuse: Refuse) -> None:
    """Whole examples are mixed, and of these only the pixels of one image have a mean."""
    images = dataset.features_of(IMAGE)
    if len(read) > 1:
        refuse("has columns beside its images, which cannot be mixed: leave mix out")
    if len(images) > 1:
        refuse(f"has {len(images)} images in an example, and mix is for one: leave mix out")
    if dataset.weight:
        refuse("has weights, and an image mixed of two has no weight: leave mix out")


def _check_label(settings: Settings, dataset: DatasetDescription, refuse: Refuse) -> None:
    task, classes = TASKS[settings.task], len(dataset.classes)
    name = dataset.label.column or "its label"
    if dataset.family != family_of(settings.task):
        refuse(
            f"has {dataset.entry.labels} as labels ({name}), and "
            f"{settings.task} learns {task.labels}: export it for that, or use --task "
            f"{dataset.task or MULTICLASS}"
        )
    if settings.task in NUMBERS:
        return
    if classes < task.min_classes:
        refuse(f"has {classes} class{_named(dataset.classes)}; a classifier needs two")
    if task.max_classes and classes > task.max_classes:
        refuse(f"has {classes} classes; {settings.task} has {task.max_classes}")
    of_class = dataset.counts["validation"].classes
    if task.of_pixels:
        if not any(of_class[name] for name in dataset.classes[1:]):
            refuse("has nothing but background in the validation split, so there is no Dice")
        return
    if settings.task == MULTILABEL:
        mixed = any(0 < count < dataset.examples("validation") for count in of_class.values())
        if not mixed and (metric := settings.metric) in ("auc", "average_precision"):
            refuse(
                "has no class in the validation split that some of its examples have and others "
                f"do not, so there is no {metric} to measure"
            )
        return
    if (absent := _absent(dataset)) and (metric := settings.metric) in ("auc", "average_precision"):
        refuse(f"has no {absent} in the validation split, so there is no {metric} to measure")


def _absent(dataset: DatasetDescription) -> str | None:
    """What the validation split lacks where it has fewer than two classes; None if it has two."""
    of_class = dataset.counts["validation"].classes
    if sum(map(bool, of_class.values())) >= 2:
        return None
    absent = next((name for name, count in of_class.items() if not count), None)
    return "example" if absent is None else quoted(absent, "example of a class")


def _named(classes: Sequence[str]) -> str:
    return quoted(f" ({some_of(classes, 'class', 'classes', 3)})", "")
