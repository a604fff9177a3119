"""What a family of tasks is, on the way from a model's answers to its scores: one class for each.

    label      what an example's label is, and how it is read and named
    answers    (n, ...) array that a predictor returns for n examples, and its form everywhere else:
               in predictions.parquet, in an outcome that metrics take, in a server's response
    metrics    those of the leaderboard

Objectives (trainer.training.objectives) are the same for what needs TensorFlow, and
trainer.serving.answers for the server, which has neither pyarrow nor scikit-learn. A further family
is one more class in each.
"""

import abc
import base64
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from trainer import label_sets, postprocessing, storage
from trainer.masks import pixels
from trainer.metrics import (
    binary,
    classification,
    masks,
    multilabel,
    regression,
    segmentation,
    survival,
)
from trainer.metrics import survival_estimates as estimates
from trainer.metrics.decision import Threshold, decide
from trainer.metrics.groups import Groups
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome, Outcome
from trainer.metrics.regression import ValueOutcome
from trainer.metrics.segmentation import MaskOutcome
from trainer.metrics.set_outcome import SetOutcome
from trainer.metrics.survival import SurvivalOutcome
from trainer.prediction_forms import (
    AnyPredictions,
    LabelSets,
    Masks,
    Predictions,
    Survivals,
    Values,
)
from trellis_contracts import layout, tasks
from trellis_contracts.dataset import CLASSIFICATION, DatasetDescription, family_of
from trellis_contracts.dataset_features import Event
from trellis_contracts.postprocessing import Postprocessing
from trellis_contracts.predictions import DECIDED_ABOVE

Answers = Mapping[str, np.ndarray]
"""What a served model's signature returns, by name, (n, ...) each."""


class Family(abc.ABC):
    """Interface of a family. name: of trellis_contracts.dataset.FAMILIES. form: of the predictions.
    loss: the metric that ranks like the training's loss. order: the metric of how examples are
    ordered; None: none is. lone: labels for which no metric is defined. kind: of the labels in the
    records.
    """

    name: ClassVar[str]
    form: ClassVar[type]
    loss: ClassVar[str]
    order: ClassVar[str | None] = None
    lone: ClassVar[str]
    kind: ClassVar[type] = np.int64

    @property
    def labels(self) -> str:
        """What labels are, in the plural."""
        return next(one.labels for name, one in tasks.TASKS.items() if family_of(name) == self.name)

    @abc.abstractmethod
    def metrics(self, classes: Sequence[str] = ()) -> dict[str, Metric]:
        """The metrics of the leaderboard, by name. classes: of the dataset."""

    def part_of(self, metric: Metric, part: str, classes: Sequence[str]) -> Metric | None:
        """A metric in one of the parts over which it is averaged; None if there are none. classes:
        of the dataset.
        """
        return None

    @abc.abstractmethod
    def named(self, label: Any, classes: Sequence[str]) -> str:
        """A label for a message."""

    @abc.abstractmethod
    def predictions(
        self,
        dataset: DatasetDescription,
        keys: np.ndarray,
        labels: np.ndarray,
        answers: np.ndarray,
        threshold: Threshold | None = None,
    ) -> AnyPredictions:
        """The form that is written of a predictor's answers. threshold: by which they decide."""

    @abc.abstractmethod
    def outcome(
        self,
        labels: np.ndarray,
        answers: np.ndarray,
        groups: Groups | None = None,
        threshold: Threshold | None = None,
        event: Event | None = None,
    ) -> AnyOutcome:
        """The form that metrics take. event: of the dataset's label, if it has one."""

    def truth(self, dataset: DatasetDescription, labels: np.ndarray) -> np.ndarray:
        """Labels as all but a training needs them. labels: as trainer.stored has them."""
        return labels

    def found(
        self, dataset: DatasetDescription, labels: np.ndarray, answers: np.ndarray
    ) -> np.ndarray:
        """A predictor's answers as all that comes after needs them. labels: as trainer.stored has
        them. answers: as it gives them.
        """
        return answers

    @abc.abstractmethod
    def answers(self, predictions: Any) -> np.ndarray:
        """A predictor's answers, of the form that is written."""

    @abc.abstractmethod
    def figures(
        self,
        dataset: DatasetDescription,
        labels: np.ndarray,
        answers: np.ndarray,
        threshold: Threshold | None,
    ) -> dict[str, float]:
        """A training's figures of a split."""

    @abc.abstractmethod
    def served(self, found: Answers, order: Sequence[int]) -> np.ndarray:
        """A predictor's answers, of what its signature returns. order: of its classes."""

    def at_times(
        self, answers: np.ndarray, times: Sequence[float], event: Event | None
    ) -> np.ndarray:
        """A predictor's answers for the dataset's times, where it was trained for others. times:
        its own.
        """
        return answers

    @abc.abstractmethod
    def response(
        self,
        predictions: Any,
        place: int,
        done: Postprocessing,
        event: Event | None,
    ) -> dict[str, Any]:
        """The server's answer to the example at a place, as trainer.serve describes it."""

    def beside(self, folder: str, key: str) -> dict[str, Any]:
        """What the server's answer has of a file beside the predictions. folder: of the contender.
        Raises OSError.
        """
        return {}


class _OfClasses(Family):
    """What families of classes share."""

    loss, order = "log_loss", "auc"

    def answers(self, predictions: Any) -> np.ndarray:
        found: np.ndarray = predictions.probabilities
        return found

    def served(self, found: Answers, order: Sequence[int]) -> np.ndarray:
        return found["probabilities"][:, order]

    @staticmethod
    def _shares(predictions: Any, place: int) -> dict[str, float]:
        # Through text: the digits of the float32, not those of the double it converts to.
        row = predictions.probabilities[place]
        return {
            name: float(str(share)) for name, share in zip(predictions.classes, row, strict=True)
        }


class Classification(_OfClasses):
    """One class of several: (n, classes) probabilities that sum to 1."""

    name, form = CLASSIFICATION, Predictions
    lone = "examples of one class"

    def metrics(self, classes=()):
        if len(classes) == 2:
            return binary.metrics((classes[0], classes[1]))
        return classification.CLASSIFICATION_METRICS

    def named(self, label, classes):
        return repr(classes[int(label)])

    def predictions(self, dataset, keys, labels, answers, threshold=None):
        return Predictions(keys, labels, answers, dataset.classes, threshold)

    def outcome(self, labels, answers, groups=None, threshold=None, event=None):
        return Outcome(labels, answers, groups, threshold)

    def figures(self, dataset, labels, answers, threshold):
        return classification.exact(labels, answers, threshold)

    def response(self, predictions, place, done, event):
        row, names, threshold = (
            predictions.probabilities[place],
            predictions.classes,
            predictions.threshold,
        )
        label = {"label": names[decide(row[None], threshold)[0]]}
        (beside,) = postprocessing.of_probabilities(done, row[None], names, threshold)
        return {**label, "probabilities": self._shares(predictions, place), **beside}


class MultiLabel(_OfClasses):
    """Any number of several classes: (n, classes) probabilities, each of its own."""

    name, form = tasks.MULTILABEL, LabelSets
    lone = "classes that all of its examples have, or none,"

    def metrics(self, classes=()):
        return multilabel.MULTILABEL_METRICS

    def named(self, label, classes):
        return repr(label_sets.text(int(label), classes))

    def predictions(self, dataset, keys, labels, answers, threshold=None):
        return LabelSets(keys, labels, answers, dataset.classes)

    def outcome(self, labels, answers, groups=None, threshold=None, event=None):
        return SetOutcome(labels, answers, groups)

    def figures(self, dataset, labels, answers, threshold):
        return multilabel.exact(labels, answers)

    def response(self, predictions, place, done, event):
        decided = zip(
            predictions.classes, predictions.probabilities[place] > DECIDED_ABOVE, strict=True
        )
        labels = [name for name, present in decided if present]
        return {"labels": labels, "probabilities": self._shares(predictions, place)}


class Regression(Family):
    """A number: (n,) values in the label's unit."""

    name, form = tasks.REGRESSION, Values
    loss, lone, kind = "rmse", "equal labels", np.float32

    def metrics(self, classes=()):
        return regression.REGRESSION_METRICS

    def named(self, label, classes):
        return f"{label:g}"

    def predictions(self, dataset, keys, labels, answers, threshold=None):
        return Values(keys, labels, answers)

    def outcome(self, labels, answers, groups=None, threshold=None, event=None):
        return ValueOutcome(labels, answers, groups)

    def answers(self, predictions):
        return predictions.values

    def figures(self, dataset, labels, answers, threshold):
        _, scale = dataset.label.number_statistics.standard
        return regression.exact(labels, answers, scale)

    def served(self, found, order):
        return found["value"]

    def response(self, predictions, place, done, event):
        value = predictions.values[place]
        (beside,) = postprocessing.of_values(done, np.array([value]))
        return {"value": float(value), **beside}


class Survival(Family):
    """The time to an event: (n, 1 + times), the risk, and the probability that the event has not
    happened until each of the label's times.
    """

    name, form = tasks.SURVIVAL, Survivals
    loss, order = "integrated_brier", "concordance"
    lone, kind = "examples without an order", np.float32

    def metrics(self, classes=()):
        return survival.SURVIVAL_METRICS

    def part_of(self, metric, part, classes):
        return survival.at_horizon(metric, float(part)) if metric.average == "horizons" else None

    def named(self, label, classes):
        return f"{label[0]:g}" if label[1] else f"{label[0]:g} (censored)"

    def predictions(self, dataset, keys, labels, answers, threshold=None):
        times = dataset.label.of_event.times
        return Survivals(keys, labels, answers[:, 0], answers[:, 1:], times)

    def outcome(self, labels, answers, groups=None, threshold=None, event=None):
        assert event is not None
        curves = np.asarray(answers[:, 1:], np.float64)
        risks = np.asarray(answers[:, 0], np.float64)
        return SurvivalOutcome(labels, risks, curves, event.times, event.horizons, groups)

    def answers(self, predictions):
        return np.concatenate([predictions.risks[:, None], predictions.curves], axis=1)

    def figures(self, dataset, labels, answers, threshold):
        found = survival.exact(self.outcome(labels, answers, event=dataset.label.of_event))
        # Likelihoods of different models cannot be compared, and programs have none.
        return found | {"loss": found[self.loss]} if self.loss in found else found

    def served(self, found, order):
        return np.concatenate([found["risk"][:, None], found["survival"]], axis=1)

    def at_times(self, answers, times, event):
        assert event is not None
        if tuple(times) == event.times:
            return answers
        curves = estimates.interpolated(answers[:, 1:], times, event.times)
        return np.concatenate([answers[:, :1], curves], axis=1)

    def response(self, predictions, place, done, event):
        assert event is not None
        curve = dict(zip(predictions.times, predictions.curves[place].tolist(), strict=True))
        shown = {f"{time:.12g}": curve[time] for time in event.horizons}
        return {"risk": float(predictions.risks[place]), "survival": shown}


class Segmentation(Family):
    """A mask: (n, 3, classes) what the metrics need of it (trainer.metrics.masks)."""

    name, form = tasks.SEGMENTATION, Masks
    loss, lone = "dice", "masks of background"

    def metrics(self, classes=()):
        return segmentation.SEGMENTATION_METRICS

    def part_of(self, metric, part, classes):
        known = classes[1:]
        return segmentation.of_class(metric, part, 1 + known.index(part)) if part in known else None

    def named(self, label, classes):
        counts = (f"{name} {count}" for name, count in zip(classes, label, strict=True) if count)
        return f"a mask of {', '.join(counts)} pixels"

    def truth(self, dataset, labels):
        return pixels(labels, len(dataset.classes))

    def found(self, dataset, labels, answers):
        return masks.compared(labels, answers, len(dataset.classes))

    def predictions(self, dataset, keys, labels, answers, threshold=None):
        predicted, both, distances = answers.swapaxes(0, 1)
        return Masks(keys, labels, predicted, both, distances, dataset.classes)

    def outcome(self, labels, answers, groups=None, threshold=None, event=None):
        predicted, both, distances = answers.swapaxes(0, 1)
        return MaskOutcome(labels, predicted, both, distances, groups)

    def answers(self, predictions):
        parts = (predictions.predicted, predictions.both, predictions.distances)
        return np.stack(parts, axis=1)

    def figures(self, dataset, labels, answers, threshold):
        found = segmentation.exact(self.outcome(labels, answers))
        # Programs have no loss that is trained, and masks no cross-entropy.
        return found | {"loss": 1 - found[self.loss]} if self.loss in found else found

    def served(self, found, order):
        # Pixels of a class that the dataset has elsewhere.
        places = np.argsort(order).astype(np.uint8)
        return places[found["mask"]]

    def response(self, predictions, place, done, event):
        pixels = predictions.predicted[place]
        shares = (pixels / pixels.sum()).tolist()
        return {"shares": dict(zip(predictions.classes, shares, strict=True))}

    def beside(self, folder, key):
        png = storage.local_path(layout.mask(folder, key)).read_bytes()
        return {"mask": {"b64": base64.b64encode(png).decode()}}


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (Classification(), MultiLabel(), Regression(), Survival(), Segmentation())
}
"""By name."""


def of(predictions: AnyPredictions) -> Family:
    """The family of predictions."""
    return next(one for one in FAMILIES.values() if one.form is type(predictions))
