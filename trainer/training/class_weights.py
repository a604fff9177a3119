"""What the examples of each class count in the loss that training minimizes.

`balanced` is scikit-learn's rule (compute_class_weight), after King & Zeng 2001
(https://gking.harvard.edu/files/0s.pdf): examples / (classes * examples of the class), so that all
classes have the same share of the loss, and an example counts 1 on average. Where examples have
weights of their own, these are counted in place of examples, as scikit-learn does.
"""

import json
from collections.abc import Mapping

from trainer.dataset_description import DatasetDescription
from trainer.hyperparameters import Common
from trainer.training import TrainingError


def of(dataset: DatasetDescription, h: Common) -> list[float] | None:
    """A weight for each class, in their order; None if all count 1.

    Raises TrainingError if a class is named that the dataset does not have.
    """
    if h.class_weights == "none" or dataset.is_regression:
        return None
    classes = dataset.classes
    if h.class_weights == "balanced":
        of_class: Mapping[str, float] = dataset.counts["train"].classes
        if dataset.weight:
            of_class = dataset.weight.classes
        total = sum(of_class.values())
        # What a class without examples, or of no weight, would count does not matter.
        return [total / (len(classes) * (of_class[name] or total)) for name in classes]
    named = json.loads(h.class_weights)
    if unknown := [name for name in named if name not in classes]:
        raise TrainingError(
            f"class_weights: the dataset has no class {', '.join(unknown)}; it has "
            + ", ".join(classes[:10])
            + (", ..." if len(classes) > 10 else "")
        )
    return [float(named.get(name, 1)) for name in classes]
