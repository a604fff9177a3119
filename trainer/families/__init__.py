"""What a family of tasks is, on the way from a model's answers to its scores: one module for each.

    label      what an example's label is, and how it is read and named
    answers    (n, ...) array that a predictor returns for n examples, and its form everywhere else:
               in predictions.parquet, in an outcome that metrics take, in a server's response
    metrics    those of the leaderboard

Objectives (trainer.training.objectives) are the same for what needs TensorFlow, and
trainer.serving.answers for the server, which has neither pyarrow nor scikit-learn. A further family
is one more module in each.
"""

import abc
import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from trainer.metrics.decision import Threshold
from trainer.metrics.groups import Groups
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome
from trainer.prediction_forms import AnyPredictions
from trellis_contracts import tasks
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Label
from trellis_contracts.postprocessing import Postprocessing

Answers = Mapping[str, np.ndarray]
"""What a served model's signature returns, by name, (n, ...) each."""


class About(Protocol):
    """What answers are about: a dataset, or its test split."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Their names."""

    @property
    def label(self) -> Label:
        """See DatasetDescription."""


class Family(abc.ABC):
    """Interface of a family. name: of trellis_contracts.tasks.FAMILIES. form: of the predictions.
    loss: the metric that ranks like the training's loss. order: the metric of how examples are
    ordered; None: none is. lone: labels for which no metric is defined. kind: of the labels in the
    records.
    """

    name: ClassVar[str]
    form: ClassVar[type[AnyPredictions]]
    loss: ClassVar[str]
    order: ClassVar[str | None] = None
    lone: ClassVar[str]
    kind: ClassVar[type] = np.int64

    @property
    def labels(self) -> str:
        """What labels are, in the plural."""
        return next(
            one.labels for name, one in tasks.TASKS.items() if tasks.family_of(name) == self.name
        )

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
        about: About,
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
        label: Label | None = None,
    ) -> AnyOutcome:
        """The form that metrics take. label: of the dataset."""

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

    def at_times(self, answers: np.ndarray, times: Sequence[float], label: Label) -> np.ndarray:
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
        label: Label,
    ) -> dict[str, Any]:
        """The server's answer to the example at a place, as trainer.serve describes it."""

    def as_served(self, dataset: DatasetDescription) -> DatasetDescription:
        """The dataset that the server's answers are of."""
        return dataset

    def of_responses(
        self, responses: Sequence[Mapping[str, Any]], dataset: DatasetDescription
    ) -> np.ndarray:
        """A predictor's answers, of those of the server (`response`). dataset: of `as_served`."""
        raise TypeError(f"{self.labels} are not scored on later labels")

    def of_rows(self, columns: Mapping[str, np.ndarray], dataset: DatasetDescription) -> np.ndarray:
        """Labels, of rows of BigQuery: `label`, and what the task's frozen rows have beside it,
        (n,) objects each. Raises PredictionsError.
        """
        raise TypeError(f"{self.labels} are not scored on later labels")

    def files(
        self, folder: str, keys: np.ndarray, answers: np.ndarray
    ) -> Iterable[tuple[str, bytes]]:
        """Addresses and contents of the files that `beside` reads, of (n, ...) answers of a
        predictor. folder: of the contender.
        """
        return ()

    def beside(self, folder: str, key: str) -> dict[str, Any]:
        """What the server's answer has of a file beside the predictions. folder: of the contender.
        Raises OSError.
        """
        return {}


FAMILIES: Mapping[str, Family] = {
    name: importlib.import_module(f"trainer.families.{name}").Of() for name in tasks.FAMILIES
}
"""By name, which is that of the module."""


def of(predictions: AnyPredictions) -> Family:
    """The family of predictions."""
    return next(one for one in FAMILIES.values() if one.form is type(predictions))
