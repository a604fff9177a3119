"""Weights of the examples of each class in the loss of training.

`balanced` is scikit-learn's rule (compute_class_weight), after King & Zeng 2001
(https://gking.harvard.edu/files/0s.pdf): examples / (classes * examples of the class), so that all
classes have the same share of the loss, and an example counts 1 on average. Where examples have
weights of their own, these are counted in place of examples, as scikit-learn does.

Of a multi-label task each class and its absence are two classes, for which the rule holds.
"""

import json
from collections.abc import Mapping

from trainer.training import TrainingError
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common
from trellis_contracts.withheld import some_of

_NONE, _BALANCED = "none", "balanced"


def of(dataset: DatasetDescription, h: Common) -> list[float] | None:
    """A weight for each class, in their order; None if all count 1.

    Raises TrainingError if a class is named that the dataset does not have.
    """
    if h.class_weights == _NONE or not dataset.classes:
        return None
    if h.class_weights != _BALANCED:
        return _named(dataset, h.class_weights)
    found = _of_class(dataset)
    return [_balanced(n, sum(found.values()), len(found)) for n in found.values()]


def of_sets(dataset: DatasetDescription, h: Common) -> tuple[list[float], list[float]] | None:
    """Return the weights of each class of a multi-label task, where an example has it and where it
    has not; None if all are 1.

    Raises TrainingError as `of` does.
    """
    if h.class_weights == _NONE:
        return None
    if h.class_weights != _BALANCED:
        return _named(dataset, h.class_weights), [1.0] * len(dataset.classes)
    examples = float(dataset.examples("train"))
    total = examples * dataset.weight.statistics.mean if dataset.weight else examples
    found = _of_class(dataset).values()
    return [_balanced(n, total, 2) for n in found], [_balanced(total - n, total, 2) for n in found]


def _of_class(dataset: DatasetDescription) -> Mapping[str, float]:
    return dataset.weight.classes if dataset.weight else dataset.counts["train"].classes


def _balanced(of_class: float, total: float, classes: int) -> float:
    # The weight of a class without examples does not matter.
    return total / (classes * (of_class if of_class > 0 else total))


def _named(dataset: DatasetDescription, text: str) -> list[float]:
    named, classes = json.loads(text), dataset.classes
    if unknown := [name for name in named if name not in classes]:
        known = some_of(classes, "class", "classes", 10)
        raise TrainingError(
            f"class_weights: the dataset has no class {', '.join(unknown)}; it has {known}"
        )
    return [float(named.get(name, 1)) for name in classes]
