"""Metrics of masks, in training and on a test split, by the same code for every contender.

All but the distance of boundaries are of numbers of pixels: of a class in the true mask, in the
predicted one and in both. They are averaged over the classes but the first, the background.

- of an image (dice, iou): over the classes that occur in either of its masks, then over the images
  in which any does. A class that is predicted and not there counts 0, as in MONAI's DiceMetric with
  ignore_empty=False (its default leaves the class out where it is not there); a class in neither
  mask is left out, where MONAI counts 1
- pooled: of the pixels of all images together, so that large regions count most
- boundary_distance: as trainer.metrics.boundaries defines it, over the classes and images that have
  a boundary in both masks. Regions that are missed altogether do not count, so a gate may bound it,
  and nothing is chosen by it

Means over images have the studentized bootstrap of what they lack (trainer.comparison.studentized),
the others the percentile bootstrap. Percentage of simulated test splits whose interval, meant for
95 %, covered the true value, where the sizes of regions vary tenfold (600 splits of images, of
Dice and IoU of 20 and 40 images 2,100, 400 of groups; 150 of the columns to the right; in brackets
the percentile bootstrap; tests/trainer/metrics/test_segmentation.py):

                       Dice      IoU     boundary distance   pooled Dice   recall
    20 images         90 (84)  93 (90)       91 (87)
    40 images         92 (90)  94 (91)       94 (91)             92          94
    80 images         96 (93)  96 (94)       94 (93)
    200 images                                                   93          95
    20 groups of 8    95 (91)  94 (92)       92 (89)             91          93
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trainer.metrics.formulas import mean_over_classes, ratio
from trainer.metrics.groups import Groups
from trainer.metrics.metric import Metric, Order, Tally
from trainer.metrics.outcome import AnyOutcome
from trellis_contracts.tasks import SEGMENTATION


@dataclass(frozen=True)
class MaskOutcome(AnyOutcome):
    """A contender's masks of n test images with c classes, as numbers of pixels.

    labels: (n, c) of the true masks. predicted, both: (n, c) of the predicted ones, and of those
    that are right. distances: (n, c) of the boundaries, in pixels; NaN where there are not two.
    """

    family = SEGMENTATION

    labels: np.ndarray
    predicted: np.ndarray
    both: np.ndarray
    distances: np.ndarray
    groups: Groups | None = None

    @cached_property
    def dice(self) -> np.ndarray:
        """(n,) of each image; NaN of one without anything but background in both masks."""
        return self._of_image(dice)

    @cached_property
    def iou(self) -> np.ndarray:
        """(n,) like `dice`."""
        return self._of_image(iou)

    @cached_property
    def distance(self) -> np.ndarray:
        """(n,) distances of the boundaries, averaged over the classes with two."""
        return mean_over_classes(self.distances[:, 1:].T)

    @property
    def misses(self) -> np.ndarray:
        """(n,) 1 - Dice; 0 of an image without anything to find, in which nothing was found."""
        return 1 - np.where(np.isnan(self.dice), 1.0, self.dice)

    def of_class(self, place: int) -> "MaskOutcome":
        """Leave this class alone beside the background. place: from 1 on."""
        labels, predicted, both, distances = (
            part[:, [0, place]] for part in (self.labels, self.predicted, self.both, self.distances)
        )
        return MaskOutcome(labels, predicted, both, distances, self.groups)

    def constant(self, place: int) -> "MaskOutcome":
        """The outcome of an answer that decides for this class everywhere."""
        here = np.arange(self.labels.shape[1]) == place
        every = self.labels.sum(axis=1, keepdims=True)
        nowhere = np.full(self.distances.shape, np.nan)
        return MaskOutcome(self.labels, here * every, here * self.labels, nowhere, self.groups)

    def pooled(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(c - 1, b) pixels of the true masks, of the predicted ones and of both, of all images
        together, given (n, b) weights.
        """
        true, predicted, both = (
            part[:, 1:].T @ weights for part in (self.labels, self.predicted, self.both)
        )
        return true, predicted, both

    def _of_image(self, formula: "Formula") -> np.ndarray:
        parts = (part[:, 1:].T for part in (self.labels, self.predicted, self.both))
        return mean_over_classes(formula(*parts))


Formula = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Pixels of the true mask, of the predicted one and of both -> a score, NaN if undefined."""


def dice(true: np.ndarray, predicted: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Twice the common pixels by the sum of both masks' (Dice, Ecology 26, 1945)."""
    return ratio(2 * both, true + predicted)


def iou(true: np.ndarray, predicted: np.ndarray, both: np.ndarray) -> np.ndarray:
    """The common pixels by those that are in either mask (Jaccard's index)."""
    return ratio(both, true + predicted - both)


def precision(true: np.ndarray, predicted: np.ndarray, both: np.ndarray) -> np.ndarray:
    """The share of the predicted pixels that are right."""
    return ratio(both, predicted)


def recall(true: np.ndarray, predicted: np.ndarray, both: np.ndarray) -> np.ndarray:
    """The share of the true pixels that are found."""
    return ratio(both, true)


_POOLED: dict[str, Formula] = {
    "pooled_dice": dice,
    "pooled_iou": iou,
    "mask_precision": precision,
    "mask_recall": recall,
}


def _known_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(b,) means of (n,) values but NaN, one for each column of (n, b) weights."""
    known = ~np.isnan(values)
    return ratio(values[known] @ weights[known], weights[known].sum(axis=0))


def _of_images(
    name: str, title: str, description: str, values: Callable[[MaskOutcome], np.ndarray]
) -> Metric:
    """The mean of a number of each image."""
    distance = name == "boundary_distance"
    return Metric(
        name,
        title,
        "examples",
        "minimize" if distance else "maximize",
        description,
        lambda outcome: _once(_known_mean, values(outcome)),
        lambda outcome, weights: _known_mean(values(outcome), weights),
        interval="studentized bootstrap",
        chance=None if distance else _best_constant(values),
        terms=values if distance else lambda outcome: 1 - values(outcome),
    )


def _of_pixels(name: str, title: str, description: str, with_chance: bool = True) -> Metric:
    """A score of the pixels of all images together, averaged over the classes."""
    formula = _POOLED[name]

    def resampled(outcome: MaskOutcome, weights: np.ndarray) -> np.ndarray:
        return mean_over_classes(formula(*outcome.pooled(weights)))

    def point(outcome: MaskOutcome) -> float:
        return float(resampled(outcome, np.ones((len(outcome.labels), 1)))[0])

    chance = _largest_of_constants(point) if with_chance else None
    return Metric(name, title, "macro", "maximize", description, point, resampled, chance=chance)


def _once(mean: Callable[[np.ndarray, np.ndarray], np.ndarray], values: np.ndarray) -> float:
    return float(mean(values, np.ones((len(values), 1)))[0])


def _best_constant(
    values: Callable[[MaskOutcome], np.ndarray],
) -> Callable[[MaskOutcome], float]:
    return _largest_of_constants(lambda outcome: _once(_known_mean, values(outcome)))


def _largest_of_constants(
    point: Callable[[MaskOutcome], float],
) -> Callable[[MaskOutcome], float]:
    """The score of the same class everywhere, of the best one."""

    def chance(outcome: MaskOutcome) -> float:
        found = [point(outcome.constant(place)) for place in range(outcome.labels.shape[1])]
        return max((value for value in found if not math.isnan(value)), default=math.nan)

    return chance


SEGMENTATION_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _of_images(
            "dice",
            "Dice",
            "Dice coefficient of an image's masks, twice their common pixels by the sum of both, "
            "averaged over the classes but the background that occur in either, then over images.",
            lambda outcome: outcome.dice,
        ),
        _of_images(
            "iou",
            "IoU",
            "Intersection over union (Jaccard) of an image's masks, averaged like Dice.",
            lambda outcome: outcome.iou,
        ),
        _of_pixels(
            "pooled_dice",
            "pooled Dice",
            "Dice coefficient of the pixels of all images together, averaged over the classes but "
            "the background.",
        ),
        _of_pixels(
            "pooled_iou",
            "pooled IoU",
            "Intersection over union of the pixels of all images together, averaged over the "
            "classes but the background.",
        ),
        _of_pixels(
            "mask_precision",
            "precision of pixels",
            "Share of the pixels predicted for a class that are right, of all images together, "
            "averaged over the classes but the background.",
            with_chance=False,
        ),
        _of_pixels(
            "mask_recall",
            "recall of pixels",
            "Share of a class's pixels that are found, of all images together, averaged over the "
            "classes but the background.",
            with_chance=False,
        ),
        _of_images(
            "boundary_distance",
            "boundary distance",
            "95th percentile of the distance between a class's true and predicted boundary, in "
            "pixels of the dataset's images, averaged over the classes, then over the images, that "
            "have both.",
            lambda outcome: outcome.distance,
        ),
    )
}


def of_class(metric: Metric, name: str, place: int) -> Metric:
    """A metric of one class alone. place: the class's, from 1 on."""
    terms = metric.terms
    return replace(
        metric,
        name=f"{metric.name}@{name}",
        title=f"{metric.title} of {name}",
        point=lambda outcome: metric.point(outcome.of_class(place)),
        resampled=lambda outcome, weights: metric.resampled(outcome.of_class(place), weights),
        terms=terms and (lambda outcome: terms(outcome.of_class(place))),
    )


def exact(outcome: MaskOutcome) -> dict[str, float]:
    """Metrics of a split, without undefined ones."""
    found = {name: metric.point(outcome) for name, metric in SEGMENTATION_METRICS.items()}
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _sums(task, labels, outputs, weights):
    """Sum up Dice and IoU of the images, where defined, and how many are; then the pixels of each
    class: of the true masks, the predicted ones and both.
    """
    import tensorflow as tf

    def counts(chosen):
        return tf.reduce_sum(tf.one_hot(chosen, task.classes), [1, 2])

    masks, decided = tf.cast(labels, tf.int32), tf.argmax(outputs, -1, tf.int32)
    # Pixels that are wrong have no class: one_hot leaves them out.
    true, predicted, both = (
        tf.cast(counts(each), tf.float64)
        for each in (masks, decided, tf.where(masks == decided, masks, -1))
    )
    either = true + predicted - both
    occurs = tf.cast(either[:, 1:] > 0, tf.float64)
    classes = tf.reduce_sum(occurs, 1)
    weights = tf.cast(weights, tf.float64)

    def mean(scores):
        return tf.math.divide_no_nan(tf.reduce_sum(scores[:, 1:], 1), classes)

    dices = mean(tf.math.divide_no_nan(2 * both, true + predicted))
    ious = mean(tf.math.divide_no_nan(both, either))
    images = tf.cast(classes > 0, tf.float64)
    of_images = tf.stack([tf.reduce_sum(each * weights) for each in (dices, ious, images)])
    pixels = [tf.linalg.matvec(each, weights, True) for each in (true, predicted, both)]
    return tf.concat([of_images, *pixels], 0)


def _from_sums(task, sums, means, examples):
    dices, ious, images = sums[:3]
    found = {"dice": dices / images, "iou": ious / images} if images else {}
    pixels = sums[3:].reshape(3, task.classes)[:, 1:]
    for name, formula in _POOLED.items():
        if not math.isnan(value := float(mean_over_classes(formula(*pixels)))):
            found[name] = value
    return {name: float(value) for name, value in found.items()}


TALLIES = (Tally(lambda task: 3 + 3 * task.classes, _sums, _from_sums),)

ORDER = Order(lambda task: 0, lambda task, labels, outputs: None, lambda task, columns: {})
