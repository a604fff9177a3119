"""The files of a training: the saved model, predictions of the test split, metrics.json; of a
calibrated one the predictions without the calibration, uncalibrated.parquet; of a segmentation the
predicted masks.

trellis_contracts.training has the fields of metrics.json. It is written last, so a training that
has one is complete.

The metrics are those of the task (`python -m trainer.task --schema` defines each). On the train
split they are loss and accuracy, of a regression loss, rmse and mae, of a file with `train_step`
its losses: means over the epoch's steps, during which the weights change. Each epoch decides for
the most probable class. On the validation split auc and average_precision of more than two classes,
and a regression's median_absolute_error, are there if they are `metric`. What is undefined is left
out: the order of examples of one class, r2 of equal labels. The loss is without label smoothing. A
replica's entry is a process: its steps, and the examples of all its devices.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from trainer import storage
from trainer.metrics.decision import Threshold
from trainer.stored import StoredBatch
from trainer.training import held_out, scores
from trainer.training.held_out import Chosen
from trainer.training.protocol import Estimator, Fitted, Predictor
from trainer.training.scores import Scores
from trainer.training.settings import Places, Settings
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.held_out import HeldOut
from trellis_contracts.training import TrainedOn, Training


def write(
    settings: Settings, dataset: DatasetDescription, estimator: Estimator, fitted: Fitted
) -> None:
    """Write the files that --outputs selects."""
    best = fitted.history[fitted.best_epoch - 1]
    validation = {
        name.removeprefix("val_"): value for name, value in best.items() if name.startswith("val_")
    }
    threshold, test = None, None
    if settings.outputs == "all":
        asked = settings.held_out
        chosen, test = keep(
            settings.places, settings.dataset, dataset, fitted.predictor, estimator.load, asked
        )
        threshold, validation = chosen.threshold, {**validation, **chosen.figures}
    training = Training(
        model=settings.model,
        model_sha256=settings.own.sha256 if settings.own else None,
        task=settings.task,
        metric=settings.metric,
        hyperparameters=settings.read_hyperparameters(dataset.inputs),
        seed=settings.seed,
        start=settings.start,
        strategy=fitted.strategy,
        epochs_run=len(fitted.history),
        best_epoch=fitted.best_epoch,
        history=tuple(fitted.history),
        warnings=tuple(fitted.warnings),
        threshold=threshold.named(dataset.classes) if threshold else None,
        validation=validation,
        test=test,
        replicas=fitted.replicas,
        speed=tuple(fitted.speed),
        weights_sha256=fitted.weights_sha256,
        parameters=fitted.parameters,
        dataset=TrainedOn(settings.dataset, dataset.fingerprint),
    )
    path = settings.places.metrics
    storage.write_text(path, training.to_json(str(path)))
    print(_summary(training), flush=True)


def keep(
    places: Places,
    address: str,
    dataset: DatasetDescription,
    predictor: Predictor,
    load: Callable[[Path, DatasetDescription], Predictor],
    asked: HeldOut,
) -> tuple[Chosen, dict[str, float] | None]:
    """Save a predictor with what it is asked to choose on the validation split, and write its
    predictions of the test split; returns the choice, and the metrics there. Of a dataset without
    one the predictions are those of the validation split, by which the deployment tells whether the
    server answers as the model does; there are no metrics.

    The saved model itself makes them, from the stored examples: the comparison scores the model
    that would be served. address: of the dataset's folder. load: reads a saved model.
    """
    # They import Parquet, which takes a second and which a tuning trial does not need.
    from trainer.families import FAMILIES

    chosen = held_out.of(asked, address, dataset, predictor)
    split = "test" if dataset.examples("test") else "validation"
    predictor.save(places.model, chosen.threshold, chosen.postprocessing)
    if chosen.postprocessing.calibration is not None:
        before = scores.of_split(predictor, address, dataset, split)
        _write(places.uncalibrated, before, None)
    saved, family = load(places.model, dataset), FAMILIES[dataset.family]
    folder = f"{places.model.parent}/"

    def write_files(batch: StoredBatch, answers: np.ndarray) -> None:
        for uri, content in family.files(folder, batch.keys, answers):
            storage.write_bytes(uri, content)

    found = scores.of_split(saved, address, dataset, split, write_files)
    _write(places.predictions, found, chosen.threshold)
    return chosen, found.figures(chosen.threshold) if split == "test" else None


def _write(path: Path, found: Scores, threshold: Threshold | None) -> None:
    from trainer import predictions
    from trainer.families import FAMILIES

    dataset, columns = found.dataset, (found.keys, found.labels, found.answers)
    predicted = FAMILIES[dataset.family].predictions(dataset, *columns, threshold)
    predictions.write(path, predicted)


def _summary(training: Training) -> str:
    """The last line on stdout."""
    metric, test = training.metric, training.test
    parts = [f"best epoch {training.best_epoch} val_{metric} {training.best:.4f}"]
    if test:
        # A very small test split may have no auc.
        parts += [f"test {name} {test[name]:.4f}" for name in (metric,) if name in test]
    if training.threshold:
        parts.append(f"threshold {training.threshold.above:.4g}")
    if training.weights_sha256:
        parts.append(f"weights {training.weights_sha256[:12]}")
    return " ".join(parts)
