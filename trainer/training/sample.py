"""One batch of a dataset's records: of a real dataset, or of a made-up one of any kind.

A made-up table has a feature of each kind, with NULLs in all of them, and a label that follows from
the first two: what a model has to take, before there is a dataset.
"""

import math
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from trainer import storage
from trainer.dataset_description import REGRESSION, Counts, DatasetDescription, Split
from trainer.dataset_features import (
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
    Feature,
    Label,
    Statistics,
    TermStatistics,
)
from trainer.training.records import example, numbers

_EXAMPLES = 4096
_NULLS = 0.1
_TERMS = ("a", "b", "c")
_YEAR = 365 * 24 * 3600 * 1_000_000


def stored(address: str, dataset: DatasetDescription, count: int) -> list[bytes]:
    """The first records of a dataset's train split."""
    paths = [str(storage.local_path(uri)) for uri in dataset.uris(address, "train")]
    return [record.numpy() for record in tf.data.TFRecordDataset(paths).take(count)]


def images(shape: Sequence[int], task: str, classes: int) -> DatasetDescription:
    """The description of made-up images. shape: height, width, channels. classes: 0 of a
    regression.
    """
    features = (Feature("image", IMAGE, "uint8", "png", tuple(shape)),)
    return _description(features, task, classes)


def rows(task: str, classes: int) -> DatasetDescription:
    """The description of a made-up table. classes: 0 of a regression."""
    known = _statistics(0, 1, -3, 3)
    terms = TermStatistics(_EXAMPLES, 400, 0, (2000, 1000, 696))
    features = (
        Feature("size", NUMERIC, "float32", column="size", index=0, statistics=known),
        Feature("weight", NUMERIC, "float32", column="weight", index=1, statistics=known),
        Feature(
            "smoker", BOOLEAN, "float32", column="smoker", index=2,
            statistics=_statistics(0.5, 0.5, 0, 1),
        ),
        Feature(
            "site", CATEGORICAL, "int64", column="site", index=0, vocabulary=_TERMS,
            statistics=terms,
        ),
        Feature(
            "taken", TIMESTAMP, "int64", column="taken", index=0,
            statistics=_statistics(2e9, 1e8, 1.5e9, 2.5e9),
        ),
        Feature(
            "pulse", SEQUENCE, "float32", shape=(None,), column="pulse",
            statistics=_statistics(0, 1, -3, 3, (0, 12, 6.0)),
        ),
        Feature("note", TEXT, "string", column="note", statistics=_statistics(20, 8, 0, 40)),
    )  # fmt: skip
    return _description(features, task, classes)


def made_up(dataset: DatasetDescription, count: int) -> list[bytes]:
    """Records of a made-up dataset."""
    random = np.random.default_rng(0)
    make = _image if dataset.kind == "image" else _row
    return [make(dataset, random) for _ in range(count)]


def _description(features: tuple[Feature, ...], task: str, classes: int) -> DatasetDescription:
    names = tuple(f"class {number}" for number in range(classes))
    regression = task == REGRESSION
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
        label=Label("label", "float32", "label", _statistics(0, 1, -3, 3))
        if regression
        else Label(),
        task=task,
    )


def _answers(dataset: DatasetDescription) -> int:
    """How many different labels there can be: classes, or sets of them."""
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


def _image(dataset: DatasetDescription, random: np.random.Generator) -> bytes:
    """Noise, the brighter the higher the class or the number."""
    label: float
    answers = _answers(dataset)
    if dataset.is_regression:
        label, kind = random.normal(), tf.float32
        bright = 255 / (1 + math.exp(-label))
    else:
        label, kind = int(random.integers(answers)), tf.int64
        bright = 255 * (label + 1) / (answers + 1)
    pixels = random.normal(bright, 20, dataset.features[0].image_shape).clip(0, 255)
    png = tf.io.encode_png(pixels.astype(np.uint8)).numpy()
    image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[png]))
    return example({"image": image, "label": numbers(np.array([label]), kind)})


def _row(dataset: DatasetDescription, random: np.random.Generator) -> bytes:
    size, weight = random.normal(size=2)
    if dataset.is_regression:
        label, kind = size + weight, tf.float32
    else:
        place = (1 + math.erf((size + weight) / 2)) / 2  # evenly spread over 0..1
        answers = _answers(dataset)
        label, kind = min(int(place * answers), answers - 1), tf.int64
    smoker = float(random.integers(2))
    term = FIRST_TERM + int(random.integers(len(_TERMS)))
    time = 45 * _YEAR + int(random.integers(_YEAR))
    pulse = random.normal(size=random.integers(0, 12))
    note = " ".join(random.choice(_TERMS, random.integers(0, 12))).encode()
    numeric = [math.nan if random.random() < _NULLS else v for v in (size, weight, smoker)]
    return example(
        {
            "numeric": numbers(np.array(numeric), tf.float32),
            "categorical": numbers(
                np.array([NULL_TERM if random.random() < _NULLS else term]), tf.int64
            ),
            "timestamp": numbers(
                np.array([NULL_TIMESTAMP if random.random() < _NULLS else time]), tf.int64
            ),
            "sequence/pulse": numbers(pulse, tf.float32),
            "text/note": tf.train.Feature(bytes_list=tf.train.BytesList(value=[note])),
            "label": numbers(np.array([label]), kind),
        }
    )
