"""What answers with a probability for each class share."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trainer import postprocessing
from trainer.serving.answers import Answered, Form, Outputs
from trellis_contracts.postprocessing import Postprocessing


class OfClasses(Form):
    """See the module."""

    def scores(self, outputs):
        return outputs["probabilities"]

    def columns(self, about, told):
        return {
            "predicted": self.decided(told),
            **{
                f"p.{name}": np.array([one["probabilities"][name] for one in told], np.float32)
                for name in about.classes
            },
        }

    @abc.abstractmethod
    def decided(self, told: Sequence[Mapping[str, Any]]) -> Sequence[Any] | np.ndarray:
        """The class, or the classes, of each."""

    @staticmethod
    def _with_probabilities(
        about: Answered,
        labels: Sequence[Mapping[str, Any]],
        outputs: Outputs,
        done: Postprocessing,
    ) -> list[dict[str, Any]]:
        rows = outputs["probabilities"]
        how = about.classes, about.threshold
        beside = postprocessing.of_probabilities(done, np.asarray(rows), *how)
        return [
            {
                **label,
                # float32 scalars: as doubles they would print with nine spurious digits.
                "probabilities": dict(zip(about.classes, row, strict=True)),
                **more,
            }
            for label, row, more in zip(labels, rows, beside, strict=True)
        ]
