"""Masks: scores by class, the best, median and worst images, and errors by size of the objects.

An object is a region of one class in a true mask whose pixels touch, also at corners. Examples and
objects are of the winner; its masks lie beside its predictions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from trainer import masks, storage
from trainer.comparison.held_out_split import HeldOutSplit
from trainer.masks import MaskError
from trainer.metrics import segmentation
from trainer.metrics.segmentation import MaskOutcome
from trainer.report import pictures
from trainer.report.contenders import ContenderStyle
from trellis_contracts import layout
from trellis_contracts.charts import ACCENT, chart, layer, number
from trellis_contracts.dataset_features import Feature

_EACH = 4
"""Examples of each kind: best, median and worst."""

_IMAGES = 1000
"""Images whose objects are looked at: more say the same, and each is two files to read."""

_SEED = 5
_BINS = 5
_SHOWN = 9
_SIZE = (430, 260)
FOUND = 0.5
"""An object is found if at least this share of its pixels has its class in the predicted mask."""


@dataclass(frozen=True)
class OfClass:
    """A class in a contender's masks: pooled Dice, IoU, precision and recall of its pixels, the
    mean boundary distance, and the images in which it is; None where undefined.
    """

    contender: str
    name: str
    images: int
    dice: float | None
    iou: float | None
    precision: float | None
    recall: float | None
    distance: float | None


@dataclass(frozen=True)
class Example:
    """A test image. picture: as a data URI, "" without its mask. dice: None of one without anything
    in both masks.
    """

    key: str
    dice: float | None
    picture: str


@dataclass(frozen=True)
class OfSize:
    """Objects of a class with `low` to `high` pixels: how many, the share that is found, and the
    share of their pixels that has their class.
    """

    name: str
    low: int
    high: int
    objects: int
    found: float
    pixels: float


@dataclass(frozen=True)
class SegmentationSection:
    """The template's data. figures: objects/CLASS, share of the found objects by size. examples:
    best, median and worst. sizes: of the objects of each class. extra: predicted regions that touch
    no true pixel of their class, by class. images: whose objects were looked at. empty: images
    without anything but background in the true mask.
    """

    classes: Sequence[OfClass]
    examples: Mapping[str, Sequence[Example]]
    sizes: Sequence[OfSize]
    extra: Mapping[str, int]
    images: int
    empty: int
    figures: Mapping[str, dict[str, Any]]


def segmentation_section(
    outcomes: Mapping[str, MaskOutcome],
    styles: Sequence[ContenderStyle],
    split: HeldOutSplit,
    features: Sequence[Feature],
    winner: str,
) -> SegmentationSection:
    """Lay out the contenders' masks; the winner is the first of `styles`. winner: its folder."""
    best = outcomes[styles[0].name]
    pairs = _Pairs(split, winner)
    image = pictures.image_of(features)
    drawn = _drawn(len(split))
    objects, extra = _objects(pairs, drawn, split.classes)
    sizes = [
        size
        for place, name in enumerate(split.classes)
        if place
        for size in _by_size(name, objects[objects[:, 0] == place])
    ]
    return SegmentationSection(
        classes=[
            row for style in styles[:_SHOWN] for row in _of_classes(style.name, outcomes, split)
        ],
        examples={
            kind: [_example(pairs, best, split, int(place), image) for place in places]
            for kind, places in _chosen(best).items()
        },
        sizes=sizes,
        extra=extra,
        images=len(drawn),
        empty=int(np.count_nonzero(best.labels[:, 1:].sum(axis=1) == 0)),
        figures={
            f"objects/{name}": _figure(name, [one for one in sizes if one.name == name])
            for name in split.classes[1:]
            if any(one.name == name for one in sizes)
        },
    )


class _Pairs:
    """True and predicted masks by the place of their example. folder: of the predicted ones."""

    def __init__(self, split: HeldOutSplit, folder: str):
        self._split, self._folder = split, folder

    def __getitem__(self, place: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Both masks of the example at a place; None if the predicted one is gone: a report is no
        reason to fail.
        """
        split = self._split
        path = storage.local_path(layout.mask(self._folder, str(split.keys[place])))
        try:
            predicted = masks.decode(path.read_bytes(), len(split.classes))
        except (OSError, MaskError):
            return None
        return masks.decode(split.feature(place, "label"), len(split.classes)), predicted


def _of_classes(
    contender: str, outcomes: Mapping[str, MaskOutcome], split: HeldOutSplit
) -> Iterator[OfClass]:
    outcome = outcomes[contender]
    true, predicted, both = outcome.pooled(np.ones((len(split), 1)))
    formulas = {
        "dice": segmentation.dice,
        "iou": segmentation.iou,
        "precision": segmentation.precision,
        "recall": segmentation.recall,
    }
    scores = {name: formula(true, predicted, both)[:, 0] for name, formula in formulas.items()}
    for place, name in enumerate(split.classes[1:], start=1):
        distances = outcome.distances[:, place]
        known = distances[np.isfinite(distances)]
        yield OfClass(
            contender,
            name,
            int(np.count_nonzero(outcome.labels[:, place])),
            distance=float(known.mean()) if len(known) else None,
            **{name: _defined(float(values[place - 1])) for name, values in scores.items()},
        )


def _defined(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _chosen(outcome: MaskOutcome) -> dict[str, np.ndarray]:
    """The places of the examples to show, those of each kind by rising Dice but the best."""
    known = np.flatnonzero(np.isfinite(outcome.dice))
    order = known[np.argsort(outcome.dice[known], kind="stable")]
    middle = max(0, (len(order) - _EACH) // 2)
    return {
        "worst": order[:_EACH],
        "median": order[middle : middle + _EACH],
        "best": order[::-1][:_EACH],
    }


def _example(
    pairs: _Pairs, outcome: MaskOutcome, split: HeldOutSplit, place: int, image: Feature | None
) -> Example:
    found = pairs[place]
    picture = ""
    if found is not None and image is not None:
        picture = pictures.overlaid(split.feature(place, image.record_name), *found)
    return Example(str(split.keys[place]), _defined(float(outcome.dice[place])), picture)


def _drawn(count: int) -> np.ndarray:
    """The places of the images whose objects are looked at."""
    if count <= _IMAGES:
        return np.arange(count)
    return np.sort(np.random.default_rng(_SEED).choice(count, _IMAGES, replace=False))


def _objects(
    pairs: _Pairs, places: np.ndarray, classes: Sequence[str]
) -> tuple[np.ndarray, dict[str, int]]:
    """(n, 3) of n objects: class, pixels, and those of them that are predicted to be of it; and the
    number of predicted regions that touch no true one, by class.
    """
    found: list[tuple[int, int, int]] = []
    extra = dict.fromkeys(classes[1:], 0)
    for place in places:
        if (pair := pairs[int(place)]) is None:
            continue
        true, predicted = pair
        for of, name in enumerate(classes[1:], start=1):
            here, there = true == of, predicted == of
            found += [(of, size, hit) for size, hit in _regions(here, there)]
            extra[name] += sum(not hit for _, hit in _regions(there, here))
    return np.array(found, np.int64).reshape(-1, 3), extra


def _regions(mask: np.ndarray, other: np.ndarray) -> Iterator[tuple[int, int]]:
    """The pixels of each region of a mask, and how many of them the other one has."""
    count, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=8)
    sizes = np.bincount(labels.ravel(), minlength=count)
    hits = np.bincount(labels[other], minlength=count)
    yield from zip(sizes[1:].tolist(), hits[1:].tolist(), strict=True)


def _by_size(name: str, objects: np.ndarray) -> Iterator[OfSize]:
    """Fifths of the objects by size; fewer where many have the same."""
    sizes = objects[:, 1]
    if not len(sizes):
        return
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, _BINS + 1)[1:-1], method="higher"))
    bins = np.searchsorted(edges, sizes, side="left")
    for place in np.unique(bins):
        some = objects[bins == place]
        shares = some[:, 2] / some[:, 1]
        yield OfSize(
            name,
            int(some[:, 1].min()),
            int(some[:, 1].max()),
            len(some),
            float(np.mean(shares >= FOUND)),
            float(some[:, 2].sum() / some[:, 1].sum()),
        )


def _figure(name: str, sizes: Sequence[OfSize]) -> dict[str, Any]:
    rows = [
        {"size": float(np.sqrt(one.low * one.high)), "found": one.found, "pixels": one.pixels}
        for one in sizes
    ]
    x = number("size", "pixels of the object", type="log", axis={"tickCount": 5})
    y = number("found", "share found", domain=[0, 1], axis={"tickCount": 5})
    ends = "; ".join(f"{one.low} to {one.high} pixels: {one.found:.0%} found" for one in sizes)
    return chart(
        [
            layer("line", {"x": x, "y": y}, color=ACCENT),
            layer("circle", {"x": x, "y": y}, color=ACCENT, opacity=1, size=60),
        ],
        f"share of the objects of {name} that are found, by their size: {ends}",
        width=_SIZE[0],
        height=_SIZE[1],
        rows=rows,
    )
