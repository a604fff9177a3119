"""The estimators of trainer.training.protocol, one module each. Start with `run`."""

from trainer.tensorflow_import import import_tensorflow
from trainer.training.protocol import Estimator
from trainer.training.settings import Settings


def of(settings: Settings) -> Estimator:
    """The estimator of the model that the settings name."""
    if settings.own is not None and settings.own.declaration.estimator:
        from trainer.estimators.own_file import FileEstimator

        return FileEstimator(settings.own)
    # Takes seconds to import.
    import_tensorflow()
    from trainer.estimators.keras import KerasEstimator

    return KerasEstimator()
