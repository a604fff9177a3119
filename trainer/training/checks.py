"""Is the dataset there, complete, and of use for this training? Asked before TensorFlow starts."""

from trainer import dataset_description, schema, storage
from trainer.dataset_description import SPLITS, DatasetDescription, DatasetError
from trainer.models import MODELS
from trainer.training import TrainingError
from trainer.training.settings import Settings


def checked_dataset(settings: Settings) -> DatasetDescription:
    """The dataset's description. Raises TrainingError if it cannot be trained on as asked."""
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
    def refuse(problem: str):
        raise TrainingError(f"the dataset {settings.dataset} {problem}")

    kinds = [feature.kind for feature in dataset.features]
    readable = MODELS[settings.model].inputs
    if len(kinds) != 1 or kinds[0] not in readable:
        refuse(f"has {', '.join(kinds)} features; {settings.model} reads one {readable[0]}")
    task, classes = schema.TASKS[settings.task], len(dataset.classes)
    if classes < task.min_classes:
        refuse(f"has {classes} class ({', '.join(dataset.classes)}); a classifier needs two")
    if task.max_classes and classes > task.max_classes:
        refuse(f"has {classes} classes; {settings.task} has {task.max_classes}")
    needed = SPLITS if settings.outputs == "all" else ("train", "validation")
    for split in needed:
        if not dataset.examples(split):
            refuse(f"has no example in the {split} split")
