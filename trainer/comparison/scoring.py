"""Predicts a dataset's test split with the served model, which another dataset may have trained.

Each example is passed as trainer.serve passes it: rows as instances of a request, through the
request reader and the signature for raw inputs; images through the server's decoder, the original
files if the dataset stores them in another form than the model's. So the predictions are right even
if the model has another vocabulary, other statistics, another image size, or the same features or
classes in another order. What it decides between two classes is decided by its own threshold.
"""

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import orjson

from trainer import label_sets, storage
from trainer.comparison import originals, raw_examples
from trainer.comparison.held_out_split import HeldOutSplitError, listed_classes
from trainer.comparison.originals import HeldOutImages, ImagesByKey
from trainer.comparison.pictures import PictureError, Pictures
from trainer.comparison.raw_examples import RawExample, RawExamplesError
from trainer.families import FAMILIES
from trainer.metrics.decision import Threshold
from trainer.prediction_checks import PredictionsError
from trainer.prediction_forms import AnyPredictions
from trainer.serving.errors import InvalidRequestError, ModelFailureError
from trainer.serving.limits import MAX_BATCH, MAX_BATCH_COST
from trainer.serving.model import MARKS, Model, ModelError, is_model
from trainer.serving.rows import Field, Row
from trainer.storage import StorageError
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Feature
from trellis_contracts.tasks import classes_in
from trellis_contracts.withheld import RowsError, quoted

# Number of images that are read and decoded at once.
_READERS = 16

Example = TypeVar("Example")


class ScoreError(RowsError, ValueError):
    """The model cannot be scored on this dataset; the message says why."""


def score(model_uri: str, dataset_uri: str, dataset: DatasetDescription) -> AnyPredictions:
    """The model's predictions for every example of the test split, with the dataset's labels.

    model_uri: folder of a model that trainer.task wrote, gs:// address or path, read through the
    mounted bucket. Imports TensorFlow for a SavedModel. Raises ScoreError.
    """
    model = _load(model_uri)
    if problems := _differences(model, dataset):
        raise ScoreError(
            f"the model {model_uri} cannot be scored on this dataset: {'; '.join(problems)}"
        )
    keys: list[str] = []
    family = FAMILIES[dataset.family]
    truths, answers = [], []
    try:
        for batch, labels, inputs in _inputs(model, dataset_uri, dataset):
            keys += [example.key for example in batch]
            truths.append(family.truth(dataset, labels))
            found = _answers(model, batch, inputs, dataset)
            answers.append(family.found(dataset, labels, found))
        if not keys:
            raise ScoreError("the dataset's test split has no examples")
        columns = np.array(keys, dtype=object), np.concatenate(truths), np.concatenate(answers)
        threshold = Threshold.of(model.threshold, dataset.classes) if model.threshold else None
        return family.predictions(dataset, *columns, threshold)
    except (PredictionsError, RawExamplesError, HeldOutSplitError, PictureError) as error:
        raise ScoreError(error.text) from error


def _stored(labels: Sequence[Any], dataset: DatasetDescription) -> np.ndarray:
    """Labels of raw rows as trainer.stored has them."""
    if not dataset.classes:
        return np.array(labels, np.float64)
    named = [classes_in(str(one), dataset.task) for one in labels]
    places = {name: i for i, name in enumerate(dataset.classes)}
    if unknown := sorted({name for names in named for name in names} - set(places)):
        raise ScoreError(
            f"the raw rows have the classes {listed_classes(unknown)}, which are not in "
            "dataset.json: the dataset was exported from other rows"
        )
    indices = [[places[name] for name in names] for names in named]
    several = dataset.is_multilabel
    return np.array([label_sets.of(each) if several else each[0] for each in indices])


def _load(uri: str) -> Model:
    try:
        folder = storage.local_path(uri)
        if not is_model(folder):
            raise ScoreError(f"the model {uri} has been deleted: it has no {MARKS}")
        return Model.load(folder)
    except (ModelError, StorageError) as error:
        raise ScoreError(f"the model {uri} cannot be read: {error}") from error


def _differences(model: Model, dataset: DatasetDescription) -> list[str]:
    """Reasons why the model cannot predict this dataset; empty if it can."""
    problems = []
    if dataset.family != model.family:
        answer = dataset.entry.labels
        problems.append(f"the dataset's label has {answer}, which is not what the model predicts")
    elif set(model.classes) != set(dataset.classes):
        problems.append(
            f"it predicts {listed_classes(model.classes)}, the dataset has "
            f"{listed_classes(dataset.classes)}"
        )
    for field in model.rows.fields:
        feature = _feature(field, dataset)
        if dataset.entry.of_pixels and field.image is not None:
            size, wanted = field.image.shape[:2], dataset.label.mask_shape
            if size != wanted:
                problems.append(
                    f"it predicts masks of {size[0]}x{size[1]} pixels, the dataset's have "
                    f"{wanted[0]}x{wanted[1]}"
                )
        if feature is None:
            problems.append(f"the dataset has no feature {field.name}, which the model needs")
        elif field.kind != feature.kind:
            problems.append(
                f"the model takes {field.name} as {field.kind}, the dataset has it as "
                f"{feature.kind}"
            )
    return problems


def _feature(field: Field, dataset: DatasetDescription) -> Feature | None:
    """The dataset's feature that a model takes: of that name in the source, in any case."""
    by_name = {feature.name.lower(): feature for feature in dataset.features}
    return by_name.get(field.name.lower())


def _inputs(
    model: Model, dataset_uri: str, dataset: DatasetDescription
) -> Iterator[tuple[Sequence[RawExample | HeldOutImages], np.ndarray, Sequence[Row]]]:
    """Batches of the test split's examples, their labels as trainer.stored has them, and what the
    model takes of them.
    """
    # As in serving, limited so that the decoded images of one call have a bounded size.
    size = max(1, min(MAX_BATCH, MAX_BATCH_COST // max(1, model.rows.pixels)))
    with ThreadPoolExecutor(_READERS) as readers:
        found = [_feature(field, dataset) for field in model.rows.fields]
        features = [feature for feature in found if feature is not None]
        pictures = Pictures(model, [features[place] for place in model.rows.images])
        if len(model.rows.images) == len(features):  # the records have all of it
            blank = Row((None,) * len(features))
            for images in _batches(originals.of_test_split(dataset_uri, dataset), size):
                rows = [*readers.map(lambda one: pictures.put(blank, one), images)]
                yield images, np.array([one.label for one in images]), rows
            return
        pairs = zip(features, model.rows.fields, strict=True)
        names = {feature.column: field.name for feature, field in pairs}
        by_key = ImagesByKey(dataset_uri, dataset) if model.rows.images else None
        examples = raw_examples.of_test_split(dataset_uri, dataset, names=names)
        if by_key is not None:  # rows whose images the export has rejected are no examples
            examples = (example for example in examples if example.key in by_key)
        for batch in _batches(examples, size):
            rows = _read(model, batch)
            if by_key is None:
                yield batch, _stored([example.label for example in batch], dataset), rows
                continue
            of_each = [by_key[example.key] for example in batch]
            rows = [*readers.map(pictures.put, rows, of_each)]
            yield batch, np.array([one.label for one in of_each]), rows


def _read(model: Model, batch: Sequence[RawExample]) -> list[Row]:
    body = orjson.dumps({"instances": [example.instance for example in batch]})
    try:
        return model.rows.read(body).instances
    except InvalidRequestError as error:
        raise ScoreError(f"rows of the test split{_near(batch[0], error)}") from error


def _near(example: RawExample | HeldOutImages, error: Exception) -> str:
    """Where and why: a message of the server's reader, or of TensorFlow, may quote values."""
    return quoted(f" near {example.key!r}: {error}", f": {type(error).__name__}")


def _batches(examples: Iterator[Example], size: int) -> Iterator[list[Example]]:
    while batch := list(itertools.islice(examples, size)):
        yield batch


def _answers(
    model: Model,
    batch: Sequence[RawExample | HeldOutImages],
    inputs: Sequence[Row],
    dataset: DatasetDescription,
) -> np.ndarray:
    """(b, ...) answers as trainer.families has them, of the dataset's classes or times."""
    try:
        found = model.answers(model.columns(inputs))
    except Exception as error:  # TensorFlow raises many kinds
        raise ScoreError(f"the model fails{_near(batch[0], error)}") from error
    order = [model.classes.index(name) for name in dataset.classes]
    family = FAMILIES[dataset.family]
    answers = family.served({name: np.asarray(part) for name, part in found.items()}, order)
    bad = ~np.isfinite(answers.reshape(len(batch), -1)).all(axis=1)
    if bad.any():
        first = batch[int(bad.argmax())]
        diverged = ModelFailureError("the model returns NaN: its training diverged")
        raise ScoreError(f"the model fails{_near(first, diverged)}")
    return family.at_times(answers, model.times, dataset.label)
