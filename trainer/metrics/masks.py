"""What the metrics need of a true and a predicted mask: a few numbers for each class."""

import numpy as np

from trainer.masks import pixels
from trainer.metrics.boundaries import boundary_distance


def compared(truth: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """(n, 3, classes) float64 of n predicted masks: pixels of each class, its pixels that are
    right, and the distance of its boundary from the true one (trainer.metrics.boundaries), NaN of
    the background.
    """
    found = np.full((len(predicted), 3, classes), np.nan)
    found[:, 0] = pixels(predicted, classes)
    for row, true, mask in zip(found, truth, predicted, strict=True):
        row[1] = np.bincount(true[true == mask], minlength=classes)
        for place in range(1, classes):
            row[2, place] = boundary_distance(true == place, mask == place)
    return found
