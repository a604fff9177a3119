"""The files of a training: SavedModel, predictions of the test split, metrics.json.

trellis_contracts.training has the fields of metrics.json. It is written last, so a training that
has one is complete.

The metrics are those of the task (`python -m trainer.task --schema` defines each). On the train
split they are loss and accuracy, of a regression loss, rmse and mae: means over the epoch's steps,
during which the weights change. Each epoch decides for the most probable class. On the validation
split auc and average_precision of more than two classes, and a regression's median_absolute_error,
are there if they are `metric`. What is undefined is left out: the order of examples of one class,
r2 of equal labels. The loss is without label smoothing. A replica's entry is a process: its steps,
and the examples of all its devices.
"""

from collections.abc import Mapping, Sequence

import keras
import numpy as np

from trainer import storage
from trainer.metrics import classification, decision, multilabel, regression
from trainer.metrics.decision import Threshold
from trainer.models.inputs import standard
from trainer.training import saved_model
from trainer.training.settings import Settings
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.metrics import BY_DECISION
from trellis_contracts.training import Replica, TrainedOn, Training


def write(
    settings: Settings,
    dataset: DatasetDescription,
    model: keras.Model,
    strategy: str,
    history: list[dict[str, float]],
    best_epoch: int,
    replicas: Mapping[str, Replica],
    warnings: Sequence[str] = (),
) -> None:
    """Write the files that --outputs selects. model: with the best epoch's weights. warnings: of
    trainer.training.soundness.
    """
    best = history[best_epoch - 1]
    validation = {
        name.removeprefix("val_"): value for name, value in best.items() if name.startswith("val_")
    }
    threshold, test = None, None
    if settings.outputs == "all":
        if settings.hyperparameters.decision_threshold == "best":
            threshold, figures = _chosen(settings, dataset, model)
            validation |= figures
        test = _export(settings, dataset, model, threshold)
    training = Training(
        model=settings.model,
        model_sha256=settings.own.sha256 if settings.own else None,
        task=settings.task,
        metric=settings.metric,
        hyperparameters=settings.read_hyperparameters(dataset.inputs),
        seed=settings.seed,
        strategy=strategy,
        epochs_run=len(history),
        best_epoch=best_epoch,
        history=tuple(history),
        warnings=tuple(warnings),
        threshold=threshold.named(dataset.classes) if threshold else None,
        validation=validation,
        test=test,
        replicas=replicas,
        weights_sha256=next(iter(replicas.values())).weights_sha256,
        parameters=sum(int(np.prod(weight.shape)) for weight in model.trainable_weights),
        dataset=TrainedOn(settings.dataset, dataset.fingerprint),
    )
    path = settings.places.metrics
    storage.write_text(path, training.to_json(str(path)))
    print(_summary(training), flush=True)


def _chosen(
    settings: Settings, dataset: DatasetDescription, model: keras.Model
) -> tuple[Threshold, dict[str, float]]:
    """The threshold that is best on the validation split, and what it changes there."""
    _, labels, probabilities = saved_model.predict(model, settings.dataset, dataset, "validation")
    threshold = decision.best(settings.metric, labels, probabilities)
    figures = classification.exact(labels, probabilities, threshold)
    return threshold, {name: figures[name] for name in BY_DECISION}


def _export(
    settings: Settings,
    dataset: DatasetDescription,
    model: keras.Model,
    threshold: Threshold | None,
) -> dict:
    """SavedModel and predictions; returns the metrics of the test split.

    The SavedModel itself makes the predictions, from the stored examples: the comparison scores the
    model that would be served.
    """
    # Parquet takes a second to import, which a tuning trial does not need.
    from trainer import predictions

    saved_model.export(model, dataset, settings.places.model, threshold)
    keys, labels, answers = saved_model.predict(
        settings.places.model, settings.dataset, dataset, "test"
    )
    predicted: predictions.AnyPredictions
    if dataset.is_regression:
        predicted = predictions.Values(keys, labels, answers)
        _, scale = standard(dataset.label.number_statistics)
        figures = regression.exact(labels.astype(float), answers, scale)
    elif dataset.is_multilabel:
        predicted = predictions.LabelSets(keys, labels, answers, dataset.classes)
        figures = multilabel.exact(labels, answers)
    else:
        predicted = predictions.Predictions(keys, labels, answers, dataset.classes, threshold)
        figures = classification.exact(labels, answers, threshold)
    predictions.write(settings.places.predictions, predicted)
    return figures


def _summary(training: Training) -> str:
    """The last line on stdout."""
    metric, test = training.metric, training.test
    parts = [f"best epoch {training.best_epoch} val_{metric} {training.best:.4f}"]
    if test:
        # A very small test split may have no auc.
        parts += [f"test {name} {test[name]:.4f}" for name in (metric,) if name in test]
    if training.threshold:
        parts.append(f"threshold {training.threshold.above:.4g}")
    return " ".join([*parts, f"weights {training.weights_sha256[:12]}"])
