"""The objective of a time to an event, by the hyperparameter `objective`."""

from trainer.training.objectives.cox import Cox
from trainer.training.objectives.survival import Hazards, Survival
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common


def build(dataset: DatasetDescription, h: Common, metric: str | None = None) -> Survival:
    """See trainer.training.objectives.build."""
    return (Cox if h.objective == "cox" else Hazards)(dataset, metric)
