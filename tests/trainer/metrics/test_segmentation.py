"""Metrics of masks, against their definitions, against MONAI and scikit-image, and resampled."""

import math

import numpy as np
import pytest
import tensorflow as tf

from trainer.comparison import bootstrap, samples
from trainer.comparison.scoreboard import measured
from trainer.metrics import masks, segmentation
from trainer.metrics.boundaries import boundary_distance
from trainer.metrics.groups import Groups
from trainer.metrics.segmentation import SEGMENTATION_METRICS, MaskOutcome
from trainer.training.objectives.segmentation import Segmentation
from trellis_contracts.hyperparameters import Hyperparameters

CLASSES = 3


def disc(row, column, radius, side=32):
    rows, columns = np.mgrid[:side, :side]
    return (rows - row) ** 2 + (columns - column) ** 2 <= radius**2


def drawn(seed, count=12):
    """True and predicted masks (count, 32, 32) of up to two discs; the last two have none."""
    random = np.random.default_rng(seed)
    true, found = np.zeros((2, count, 32, 32), np.uint8)
    for n in range(count - 2):
        for place in (1, 2):
            row, column, radius = random.uniform([6, 6, 2], [26, 26, 7])
            moved = random.normal(0, 1.5, 3)
            if random.random() < 0.85:
                true[n][disc(row, column, radius)] = place
            if random.random() < 0.85:
                found[n][disc(row + moved[0], column + moved[1], radius + moved[2])] = place
    found[-1, 3:5, 3:5] = 1
    return true, found


def outcome(true, found):
    counts = masks.pixels(true, CLASSES)
    return MaskOutcome(counts, *masks.compared(true, found, CLASSES).swapaxes(0, 1))


def test_dice_and_iou_are_those_of_each_image_averaged():
    true, found = drawn(0)
    dices, ious = [], []
    for one, other in zip(true, found, strict=True):
        of_class = []
        for place in (1, 2):
            here, there = one == place, other == place
            if (here | there).any():
                both = (here & there).sum()
                every = here.sum() + there.sum()
                of_class.append((2 * both / every, both / (here | there).sum()))
        if of_class:
            dices.append(np.mean([dice for dice, _ in of_class]))
            ious.append(np.mean([iou for _, iou in of_class]))
    exact = segmentation.exact(outcome(true, found))
    assert len(dices) == 11  # one image has background alone in both masks
    assert exact["dice"] == pytest.approx(np.mean(dices))
    assert exact["iou"] == pytest.approx(np.mean(ious))


def test_pooled_scores_are_those_of_all_pixels():
    from sklearn import metrics

    true, found = drawn(1)
    pairs, of = (true.ravel(), found.ravel()), {"labels": [1, 2], "average": "macro"}
    exact = segmentation.exact(outcome(true, found))
    assert exact["pooled_dice"] == pytest.approx(metrics.f1_score(*pairs, **of))
    assert exact["pooled_iou"] == pytest.approx(metrics.jaccard_score(*pairs, **of))
    assert exact["mask_precision"] == pytest.approx(metrics.precision_score(*pairs, **of))
    assert exact["mask_recall"] == pytest.approx(metrics.recall_score(*pairs, **of))


def test_a_boundary_is_as_far_as_a_region_is_moved():
    square = np.zeros((40, 40), bool)
    square[10:20, 10:20] = True
    assert boundary_distance(square, square) == 0
    assert boundary_distance(square, np.roll(square, 3, axis=1)) == 3
    stray = square.copy()
    stray[39, 39] = True  # one pixel of 37 is less than 5 percent of the boundary
    assert boundary_distance(square, stray) == 0
    assert math.isnan(boundary_distance(square, np.zeros_like(square)))


def test_a_region_at_the_edge_of_the_image_ends_there():
    left, all_of_it = np.zeros((20, 20), bool), np.ones((20, 20), bool)
    left[:, :10] = True
    assert boundary_distance(left, all_of_it) == 10


@pytest.mark.parametrize("name", SEGMENTATION_METRICS)
def test_resampled_values_are_those_of_the_drawn_images(name):
    metric, whole = SEGMENTATION_METRICS[name], outcome(*drawn(2))
    random = np.random.default_rng(3)
    weights = random.multinomial(12, [1 / 12] * 12, size=40).T.astype(float)
    for column, value in enumerate(metric.resampled(whole, weights)):
        rows = np.repeat(np.arange(12), weights[:, column].astype(int))
        assert value == pytest.approx(metric.point(whole.subset(rows)), nan_ok=True)


def test_a_class_by_itself_leaves_the_others_out():
    true, found = drawn(4)
    alone = segmentation.of_class(SEGMENTATION_METRICS["dice"], "nucleus", 2)
    of_one = [np.where(part == 2, 1, 0).astype(np.uint8) for part in (true, found)]
    assert alone.point(outcome(true, found)) == pytest.approx(
        SEGMENTATION_METRICS["dice"].point(outcome(*of_one))
    )
    assert alone.name == "dice@nucleus"


def test_chance_is_the_best_class_everywhere():
    true, found = drawn(5)
    whole = outcome(true, found)
    same = [segmentation.exact(outcome(true, np.full_like(found, c))).get("dice") for c in range(3)]
    assert SEGMENTATION_METRICS["dice"].chance(whole) == pytest.approx(max(filter(None, same)))


def test_an_image_without_anything_that_is_left_empty_is_no_miss():
    whole = outcome(*drawn(6))
    assert math.isnan(whole.dice[-2])
    assert whole.misses[-2] == 0
    assert whole.misses[-1] == 1  # something was predicted where there is nothing


def test_sums_over_batches_are_the_metrics_of_the_split():
    """The second batch is filled up."""
    true, found = drawn(7)
    random = np.random.default_rng(8)
    logits = np.eye(CLASSES)[found] * 4 + random.normal(0, 0.1, (*found.shape, CLASSES))
    aim = Segmentation(Described(), Hyperparameters())
    sums = np.zeros(aim.tallies)
    for places in (np.arange(7), np.array([7, 8, 9, 10, 11, 0, 0])):
        weights = np.ones(7) if places[-1] == 6 else np.array([1, 1, 1, 1, 1, 0, 0])
        batch = tf.constant(true[places]), tf.constant(logits[places], tf.float32)
        sums += aim.tally(*batch, tf.constant(weights, tf.float32)).numpy()
    figures = aim.tallied(sums, {}, 12)
    expected = segmentation.exact(outcome(true, found))
    del expected["boundary_distance"]
    assert figures == pytest.approx(expected)


def simulated(count, size, seed):
    """The pixels of images in groups of a size, in which regions and their quality are alike."""
    random = np.random.default_rng(seed)
    of = np.arange(count) // size
    pixels = np.exp(random.normal(6, 0.7, of[-1] + 1))[of] * np.exp(random.normal(0, 0.3, count))
    logits = random.normal(1.5, 0.8, of[-1] + 1)[of] + random.normal(0, 0.5, count)
    quality = 1 / (1 + np.exp(-logits))
    true = np.round(np.where(random.random(count) < 0.05, 0, pixels))
    both = np.round(true * quality)
    found = both + np.round(pixels * (1 - quality) * random.uniform(0, 1, count))
    beside = 10_000 - true, 10_000 - found, 10_000 - true - found + both
    parts = [np.stack(pair, axis=1) for pair in zip(beside, (true, found, both), strict=True)]
    distance = 6 * (1 - quality) * random.exponential(1, count)
    known = np.where((true > 0) & (found > 0), distance, np.nan)
    distances = np.stack([np.full(count, np.nan), known], axis=1)
    return MaskOutcome(*parts, distances, Groups.named(of) if size > 1 else None)


def test_few_images_have_wider_intervals_than_percentiles_within_the_metrics_bounds():
    """Dice's interval reaches further down, a distance's further up; none leaves [0, 1]."""
    true, found = drawn(9)
    whole = outcome(true, found)
    chosen = [SEGMENTATION_METRICS[name] for name in ("dice", "boundary_distance")]
    chosen.append(segmentation.of_class(SEGMENTATION_METRICS["dice"], "nucleus", 2))
    resampled = samples.draw({"": whole}, chosen)[""]
    estimates = measured(whole, chosen, lambda metric: 6)
    for metric in chosen:
        estimate = estimates[metric.name]
        low, high = bootstrap.interval(resampled[metric.name].plain, 0.95)
        if metric.goal == "maximize":
            assert 0 <= estimate.low < low
            assert estimate.high <= 1
        else:
            assert estimate.high > high
        assert estimate.low < estimate.value < estimate.high
    none = outcome(np.zeros_like(true), found)
    assert measured(none, chosen[:1], lambda metric: 6)["dice"].interval == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "size"), [(40, 1), (200, 1), (160, 8)])
def test_intervals_cover_the_true_value(count, size):
    names = ("dice", "iou", "pooled_dice", "mask_recall", "boundary_distance")
    chosen = [SEGMENTATION_METRICS[name] for name in names]
    every = simulated(200_000, size, 10**6)
    true = {metric.name: metric.point(every) for metric in chosen}
    hits = dict.fromkeys(names, 0)
    for seed in range(150):
        found = measured(simulated(count, size, seed), chosen, lambda metric: 6)
        for name in names:
            hits[name] += found[name].low <= true[name] <= found[name].high
    assert min(hits.values()) >= 0.85 * 150, hits
    assert max(hits.values()) <= 0.99 * 150, hits


class Described:
    """What the objective reads of a dataset."""

    classes = ("background", "cell", "nucleus")
