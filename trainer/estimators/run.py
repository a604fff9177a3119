"""A whole training: whichever the library, its estimator learns, and its results are written."""

from collections.abc import Callable

from trainer import estimators
from trainer.models import ModelError
from trainer.stored import StoredError
from trainer.training import TrainingError, results
from trainer.training.protocol import Fitted
from trainer.training.settings import Settings
from trellis_contracts.dataset import DatasetDescription


def train(
    settings: Settings, dataset: DatasetDescription, at_end: Callable[[], None] = lambda: None
) -> int:
    """Train, and write the results; returns the exit code. Raises TrainingError.

    at_end: called once all is written, in every process of the training.
    """
    estimator = estimators.of(settings)

    def finish(fitted: Fitted) -> None:
        results.write(settings, dataset, estimator, fitted)

    try:
        return estimator.fit(settings, dataset, finish, at_end)
    except (ModelError, StoredError) as error:
        raise TrainingError(str(error)) from error
