"""Every contender's scores in every resample of the test split, with and without pseudo-errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainer.comparison import bootstrap, pseudo_error
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome, ClassOutcome


@dataclass(frozen=True)
class Samples:
    """One contender's score by one metric in every resample.

    plain: (resamples,). extended: (2, resamples) with the pseudo-examples of `pseudo_error`
    predicted wrongly, then rightly; None of a metric whose intervals do not need them.
    """

    plain: np.ndarray
    extended: np.ndarray | None = None

    @property
    def with_pseudo_errors(self) -> np.ndarray:
        """extended, where it is there. Raises TypeError elsewhere."""
        if self.extended is None:
            raise TypeError("these samples were drawn without pseudo-errors")
        return self.extended


def draw(
    outcomes: Mapping[str, AnyOutcome], metrics: Sequence[Metric]
) -> dict[str, dict[str, Samples]]:
    """Samples by contender and metric."""
    plain = bootstrap.resampled_scores(list(outcomes.values()), metrics)
    samples = {
        name: {m.name: Samples(row) for m, row in zip(metrics, rows, strict=True)}
        for name, rows in zip(outcomes, plain, strict=True)
    }
    of_classes = [o for o in outcomes.values() if isinstance(o, ClassOutcome)]
    extending = [metric for metric in metrics if metric.pseudo_errors]
    if of_classes and extending:
        extended = pseudo_error.resampled_scores(of_classes, extending)
        for name, rows in zip(outcomes, extended, strict=True):
            for metric, both in zip(extending, rows, strict=True):
                samples[name][metric.name] = Samples(samples[name][metric.name].plain, both)
    return samples
