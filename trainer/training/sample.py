"""One batch of a dataset's records: of a real dataset, or of a made-up one of any kind.

A made-up table has a feature of each kind, with NULLs in all of them, and a label that follows from
the first two: what a model has to take, before there is a dataset.
"""

import itertools
import math
import re
from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from trainer.stored import payloads_of, serialize
from trellis_contracts.dataset import Counts, DatasetDescription, Split
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    FIRST_TERM,
    IMAGE,
    NULL_TERM,
    NULL_TIMESTAMP,
    NUMERIC,
    QUANTILES,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    Event,
    Feature,
    Label,
    Statistics,
    TermStatistics,
)
from trellis_contracts.tasks import NUMBERS, OF_TIMES, TASKS

_EXAMPLES = 4096
_NULLS = 0.1
_TERMS = ("a", "b", "c")
_YEAR = 365 * 24 * 3600 * 1_000_000


def stored(address: str, dataset: DatasetDescription, count: int) -> list[bytes]:
    """The first records of a dataset's train split."""
    return [*itertools.islice(payloads_of(address, dataset, "train"), count)]


def images(
    shape: Sequence[int], task: str, classes: int, scale: str | None = None
) -> DatasetDescription:
    """The description of made-up images. shape: height, width, channels. classes: 0 of a
    regression. scale: as Feature's.
    """
    return _description((_image_feature("image", shape, scale),), task, classes)


def _image_feature(name: str, shape: Sequence[int], scale: str | None, column: str = "") -> Feature:
    dtype = "uint8" if scale is None else "uint16"
    return Feature(name, IMAGE, dtype, "png", tuple(shape), column, scale=scale)


OF_EACH_KIND = {
    "size": NUMERIC,
    "weight": NUMERIC,
    "smoker": BOOLEAN,
    "site": CATEGORICAL,
    "taken": TIMESTAMP,
    "pulse": SEQUENCE,
    "note": TEXT,
}
"""Features of a made-up table, and the kind of each."""


def rows(
    task: str,
    classes: int,
    features: Mapping[str, str] = OF_EACH_KIND,
    lengths: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    scale: str | None = None,
) -> DatasetDescription:
    """The description of a made-up table. classes: 0 of a regression. features: their kinds, by
    name. lengths: elements of those sequences that all have as many; of others 0 to 11. shapes: of
    the images; scale: as Feature's.
    """
    described: list[Feature] = []
    places = dict.fromkeys((NUMERIC, CATEGORICAL, TIMESTAMP), 0)
    for name, kind in features.items():
        if kind == IMAGE:
            column = re.sub(r"[^A-Za-z0-9_]", "_", name)
            described.append(_image_feature(name, (shapes or {})[name], scale, column))
            continue
        vector = NUMERIC if kind == BOOLEAN else kind
        index = places.get(vector)
        if index is not None:
            places[vector] += 1
        described.append(_feature(name, kind, index, (lengths or {}).get(name)))
    return _description(tuple(described), task, classes)


def _feature(name: str, kind: str, index: int | None, length: int | None) -> Feature:
    dtype = {CATEGORICAL: "int64", TIMESTAMP: "int64", TEXT: "string"}.get(kind, "float32")
    if kind == CATEGORICAL:
        terms = TermStatistics(_EXAMPLES, 400, 0, (2000, 1000, 696))
        return Feature(
            name, kind, dtype, column=name, index=index, vocabulary=_TERMS, statistics=terms
        )
    known = {
        BOOLEAN: _statistics(0.5, 0.5, 0, 1),
        TIMESTAMP: _statistics(2e9, 1e8, 1.5e9, 2.5e9),
        TEXT: _statistics(20, 8, 0, 40),
        SEQUENCE: _statistics(0, 1, -3, 3, (length, length, length) if length else (0, 11, 5.5)),
    }.get(kind, _statistics(0, 1, -3, 3))
    shape = (None,) if kind == SEQUENCE else ()
    return Feature(name, kind, dtype, shape=shape, column=name, index=index, statistics=known)


def made_up(dataset: DatasetDescription, count: int) -> list[bytes]:
    """Records of a made-up dataset."""
    random = np.random.default_rng(0)
    return [_record(dataset, f"example {n}".encode(), random) for n in range(count)]


def _description(features: tuple[Feature, ...], task: str, classes: int) -> DatasetDescription:
    names = tuple(f"class {number}" for number in range(classes))
    of_class = {name: _EXAMPLES // max(1, classes) for name in names}
    return DatasetDescription(
        fingerprint="made-up",
        source={},
        split=Split("made up"),
        features=features,
        classes=names,
        counts={split: Counts(_EXAMPLES, of_class) for split in ("train", "validation", "test")},
        files={},
        rejected=0,
        label=Label.of_masks(features[0]) if TASKS[task].of_pixels else _label(task),
        task=task,
    )


def _label(task: str) -> Label:
    if task in OF_TIMES:
        times = _statistics(500, 290, 0, 1000)
        return Label("label", "float32", "time", times, Event.of("event", times.quantiles, ()))
    if task in NUMBERS:
        return Label("label", "float32", "label", _statistics(0, 1, -3, 3))
    return Label()


def _answers(dataset: DatasetDescription) -> int:
    """Number of different labels: classes, or sets of them."""
    return 2 ** len(dataset.classes) if dataset.is_multilabel else len(dataset.classes)


def _statistics(
    mean: float,
    stddev: float,
    low: float,
    high: float,
    lengths: tuple[int, int, float] | tuple[()] = (),
) -> Statistics:
    quantiles = tuple(np.linspace(low, high, QUANTILES).tolist())
    return Statistics(_EXAMPLES, 400, mean, stddev, low, high, quantiles, *lengths)


def _noise(feature: Feature, bright: float, random: np.random.Generator) -> bytes:
    """The PNG file of a picture around a brightness from 0 to 255."""
    pixels = random.normal(bright, 20, feature.image_shape).clip(0, 255) * (feature.white / 255)
    return cv2.imencode(".png", pixels.astype(feature.dtype))[1].tobytes()


def _mask(feature: Feature, classes: int, random: np.random.Generator) -> tuple[bytes, bytes]:
    """The PNG files of a mask, and of a picture that is the brighter, the higher the class."""
    height, width, channels = feature.image_shape
    coarse = random.uniform(0, classes, (4, 4))
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    mask = smooth.clip(0, classes - 1).astype(np.uint8)
    bright = (mask + 0.5)[..., None].repeat(channels, 2) / classes
    noisy = random.normal(bright, 0.05).clip(0, 1) * feature.white
    mask_png, image_png = (
        cv2.imencode(".png", each)[1].tobytes() for each in (mask, noisy.astype(feature.dtype))
    )
    return mask_png, image_png


def _record(dataset: DatasetDescription, key: bytes, random: np.random.Generator) -> bytes:
    """The first two numbers give the label away, or else an image's brightness."""
    of_kind = dataset.features_of
    in_vector = of_kind(NUMERIC, BOOLEAN)
    drawn = [
        float(random.integers(2)) if feature.kind == BOOLEAN else random.normal()
        for feature in in_vector
    ]
    decisive = [v for v, f in zip(drawn, in_vector, strict=True) if f.kind == NUMERIC][:2]
    signal = sum(decisive) if decisive else random.normal()
    label = signal
    place = (1 + math.erf(signal / 2)) / 2  # evenly spread over 0..1
    if dataset.classes:
        answers = _answers(dataset)
        label = min(int(place * answers), answers - 1)
    labels = np.array([label])
    if dataset.label.event is not None:  # the larger they are, the sooner; half of all are censored
        labels = np.array([1000 * (1 - place), float(random.integers(2))])
    record: dict[str, np.ndarray | bytes] = {"key": key, "label": labels}
    if drawn:
        values = [math.nan if random.random() < _NULLS else value for value in drawn]
        record["numeric"] = np.array(values)
    if terms := of_kind(CATEGORICAL):
        ids = [FIRST_TERM + int(random.integers(len(_TERMS))) for _ in terms]
        ids = [NULL_TERM if random.random() < _NULLS else id_ for id_ in ids]
        record["categorical"] = np.array(ids)
    if times := of_kind(TIMESTAMP):
        moments = [45 * _YEAR + int(random.integers(_YEAR)) for _ in times]
        moments = [NULL_TIMESTAMP if random.random() < _NULLS else time for time in moments]
        record["timestamp"] = np.array(moments)
    for feature in of_kind(SEQUENCE):
        least = feature.number_statistics.min_length or 0
        elements = random.normal(size=random.integers(least, feature.longest + 1))
        record[f"sequence/{feature.column}"] = elements
    for feature in of_kind(TEXT):
        words = " ".join(random.choice(_TERMS, random.integers(0, 12))).encode()
        record[f"text/{feature.column}"] = words
    if dataset.entry.of_pixels:
        (feature,) = of_kind(IMAGE)
        mask, record[feature.record_name] = _mask(feature, len(dataset.classes), random)
        return serialize(record | {"label": mask})
    for feature in of_kind(IMAGE):
        bright = 255 / (1 + math.exp(-signal))
        record[feature.record_name] = _noise(feature, bright, random)
    return serialize(record)
