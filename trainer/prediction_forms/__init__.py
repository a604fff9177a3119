"""Predictions of one contender: checked when built, and as the columns of predictions.parquet
(trellis_contracts.predictions). Each family of tasks has its form in the module of its name.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Self

import numpy as np
import pyarrow as pa

from trainer.prediction_checks import texts
from trellis_contracts.predictions import PredictionsHeader


class AnyPredictions(ABC):
    """Interface of a form. keys: (n,) object array of str, unique. labels: (n, ...)."""

    keys: np.ndarray
    labels: np.ndarray

    def _convert(self, **types: type) -> None:
        """Make the keys, and these fields, arrays of one form: they may come from any library."""
        object.__setattr__(self, "keys", texts(self.keys))
        for name, type_ in types.items():
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=type_))

    def __len__(self) -> int:
        return len(self.keys)

    @abstractmethod
    def header(self, origin: Mapping[str, str] | None) -> PredictionsHeader:
        """Return the metadata of a file. origin: identifies the model and its input."""

    @abstractmethod
    def arrays(self) -> dict[str, pa.Array]:
        """Return the columns of a file but the key."""

    @classmethod
    @abstractmethod
    def of(cls, columns: Mapping[str, pa.Array], header: PredictionsHeader) -> Self:
        """Read the columns of a file, none of which has a NULL. Raises PredictionsError."""
