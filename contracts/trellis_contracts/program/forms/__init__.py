"""What a program learns and leaves, by family of tasks: a module of the family's name for each that
programs may learn, which the task's entry says.
"""

import abc
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.tasks import BY_PROGRAMS, family_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Form(abc.ABC):
    """Interface of a family. label: what a row of source/ says of an example's label. scores: what
    `shape` is of. predictions: columns and metadata of predictions.parquet. loss: what `loss` is in
    metrics.json. answer: of the server. rules: of the predictions, beside terms.RULES.
    """

    label: ClassVar[str]
    scores: ClassVar[str]
    predictions: ClassVar[str]
    loss: ClassVar[str]
    answer: ClassVar[str]
    rules: ClassVar[Mapping[str, str]] = {}

    @abc.abstractmethod
    def shape(self, about: DatasetDescription) -> tuple[int, ...]:
        """The shape of an example's scores."""

    @abc.abstractmethod
    def header(self, about: DatasetDescription) -> PredictionsHeader:
        """The metadata of predictions.parquet."""

    @abc.abstractmethod
    def columns(self, about: DatasetDescription, rows: "pa.Table", scores: "np.ndarray") -> Any:
        """The columns of predictions.parquet after the key, as Arrow's arrays. rows: of source/,
        one for each of the scores, (n, *shape).
        """

    def texts(self) -> dict[str, str]:
        """What the contract's page says of the family."""
        return {
            "label": self.label,
            "predictions.parquet": self.predictions,
            "scores": f"given to `outputs.write`: {self.scores}",
            "loss": self.loss,
            "answer": self.answer,
        }


FORMS: Mapping[str, Form] = {
    family: importlib.import_module(f"{__name__}.{family}").Of()
    for family in dict.fromkeys(map(family_of, BY_PROGRAMS))
}
"""By family."""


def of(task: str) -> Form:
    """The form of a task that programs learn."""
    return FORMS[family_of(task)]
