"""Numbers."""

from typing import Any

import numpy as np

from trainer.estimators.answers import arrays
from trellis_contracts.dataset import DatasetDescription


def checked(found: Any, examples: int, dataset: DatasetDescription) -> np.ndarray:
    """(examples,) values."""
    return arrays.numbers(found, (examples,), "a value for each example")
