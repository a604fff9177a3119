"""Writes datasets of table rows by the description in trellis_contracts.dataset.

From raw columns, so that a test knows what a client would send for a row of the dataset. Slow and
plain: the export's own code is tested elsewhere, and against the same description.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import google_crc32c
import numpy as np
import tensorflow as tf

from trellis_contracts.dataset import SPLITS, Counts, DatasetDescription, Shard, Split, shard_name
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    FIRST_TERM,
    IMAGE,
    NULL_TERM,
    NULL_TIMESTAMP,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    UNKNOWN_TERM,
    VECTORS,
    Feature,
    Label,
    Statistics,
    TermStatistics,
    Weight,
)

# Its kind, and a value for each row; NULL is None. An image: its pixels (height, width, channels),
# uint8 or uint16, in RGB order.
Column = tuple[str, Sequence[Any]]


def write_table(
    folder: Path,
    columns: Mapping[str, Column],
    label: Sequence[Any],
    *,
    task: str = "binary_classification",
    files: Mapping[str, Sequence[int]],
    vocabulary: int = 1000,
    weights: Sequence[float] | None = None,
    names: Mapping[str, str] | None = None,
) -> str:
    """Write rows as trainer.export would; returns the address.

    Timestamps are microseconds since 1970. files: rows in each file of each split, dealt out in
    the order of the rows; a row's key is its number. weights: of each row. names: in the source, of
    the columns that have another name there. The files that the test split's images were made of
    are in originals/COLUMN/.
    """
    folder.mkdir(parents=True)
    rows = range(sum(files["train"]))
    indices = dict.fromkeys(VECTORS, 0)
    features = []
    for name, (kind, values) in columns.items():
        vector = next((v for v, kinds in VECTORS.items() if kind in kinds), None)
        index = None if vector is None else indices[vector]
        if vector:
            indices[vector] += 1
        features.append(_feature(name, kind, index, [values[row] for row in rows], vocabulary))
    regression = task == "regression"
    classes = () if regression else tuple(sorted({str(value) for value in label}))
    labels = [float(v) if regression else classes.index(str(v)) for v in label]
    counts, shards, first = {}, {}, 0
    for split in SPLITS:
        shards[split], begin = [], first
        for number, size in enumerate(files[split]):
            path = folder / shard_name(split, number, len(files[split]))
            with tf.io.TFRecordWriter(str(path)) as writer:
                for row in range(first, first + size):
                    values = {name: column[1][row] for name, column in columns.items()}
                    weight = None if weights is None else weights[row]
                    stored = example(features, values, str(row), labels[row], regression, weight)
                    if split == "test":
                        stored = _with_originals(folder, features, values, str(row), stored)
                    writer.write(stored)
            shards[split].append(Shard(path.name, size, path.stat().st_size))
            first += size
        of_split = labels[begin:first]
        named = {name: of_split.count(place) for place, name in enumerate(classes)}
        counts[split] = Counts(first - begin, named)
    in_train = _statistics([labels[row] for row in rows]) if regression else None
    named = tuple(
        dataclasses.replace(feature, name=(names or {}).get(feature.column, feature.name))
        for feature in features
    )
    description = DatasetDescription(
        fingerprint=folder.name,
        source={"table": "p.d.t"},
        split=Split("FARM_FINGERPRINT(key) mod 100"),
        features=named,
        classes=classes,
        counts=counts,
        files={split: tuple(shards[split]) for split in SPLITS},
        rejected=0,
        label=Label("label", "float32" if regression else "int64", "target", in_train),
        task=task,
        weight=None if weights is None else _weight(label, [weights[row] for row in rows], classes),
    )
    (folder / "dataset.json").write_text(description.to_json())
    return str(folder)


def _weight(label, values, classes) -> Weight:
    sums = dict.fromkeys(classes, 0.0)
    for name, value in zip(label, values, strict=False):
        if classes:
            sums[str(name)] += value
    return Weight("counts_for", _statistics(values), sums)


def example(features, values, key, label, regression, weight=None) -> bytes:
    """A row as a record."""
    stored = {"key": _bytes(key.encode())}
    vectors = {name: [] for name in VECTORS}
    for feature in features:
        value = values[feature.column]
        if feature.kind in (NUMERIC, BOOLEAN):
            vectors[NUMERIC].append(math.nan if value is None else float(value))
        elif feature.kind == TIMESTAMP:
            vectors[TIMESTAMP].append(NULL_TIMESTAMP if value is None else value)
        elif feature.kind == CATEGORICAL:
            vectors[CATEGORICAL].append(_term(feature, value))
        elif feature.kind == TEXT:
            stored[f"text/{feature.column}"] = _bytes((value or "").encode())
        elif feature.kind == IMAGE:
            stored[f"image/{feature.column}"] = _bytes(png(value))
        else:
            stored[f"sequence/{feature.column}"] = _floats(value or [])
    for name, vector in vectors.items():
        if vector:
            stored[name] = _floats(vector) if name == NUMERIC else _integers(vector)
    if weight is not None:
        stored["weight"] = _floats([weight])
    stored["label"] = _floats([label]) if regression else _integers([label])
    return tf.train.Example(features=tf.train.Features(feature=stored)).SerializeToString()


def _with_originals(folder: Path, features, values, key: str, record: bytes) -> bytes:
    """The record with the names of the files that its images were made of, which are written."""
    found = tf.train.Example.FromString(record)
    for feature in features:
        if feature.kind == IMAGE:
            data = png(values[feature.column])
            path = folder / "originals" / feature.column / f"{key}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            stored = found.features.feature
            stored[f"uri/{feature.column}"].CopyFrom(_bytes(str(path).encode()))
            crc = google_crc32c.value(data)
            stored[f"crc32c/{feature.column}"].CopyFrom(_integers([crc]))
    return found.SerializeToString()


def png(pixels: np.ndarray) -> bytes:
    """Pixels (height, width, channels), of three channels RGB, as a PNG file."""
    if pixels.shape[-1] == 3:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    return cv2.imencode(".png", pixels)[1].tobytes()


def _term(feature: Feature, value: str | None) -> int:
    if value is None:
        return NULL_TERM
    known = value in feature.vocabulary
    return FIRST_TERM + feature.vocabulary.index(value) if known else UNKNOWN_TERM


def _feature(name, kind, index, values, vocabulary) -> Feature:
    present = [value for value in values if value is not None]
    missing = len(values) - len(present)
    if kind == CATEGORICAL:
        counts = {term: present.count(term) for term in sorted(set(present))}
        kept = sorted(counts, key=lambda term: (-counts[term], term))[:vocabulary]
        frequencies = tuple(counts[term] for term in kept)
        known = TermStatistics(len(present), missing, len(present) - sum(frequencies), frequencies)
        return Feature(name, kind, "int64", None, (), name, index, tuple(kept), known)
    if kind == SEQUENCE:
        lengths = [len(value or []) for value in values]
        elements = [element for value in present for element in value]
        known = _statistics(
            elements, 0, min(lengths), max(lengths), sum(lengths) / max(1, len(lengths))
        )
        return Feature(name, kind, "float32", None, (None,), name, None, None, known)
    if kind == IMAGE:
        dtype, shape = str(values[0].dtype), values[0].shape
        scale = "full" if dtype == "uint16" else None
        return Feature(name, kind, dtype, "png", shape, name, resize="stretch", scale=scale)
    if kind == TEXT:
        known = _statistics([float(len(value)) for value in present], missing)
        return Feature(name, kind, "string", None, (), name, None, None, known)
    unit = 1e-6 if kind == TIMESTAMP else 1
    known = _statistics([value * unit for value in present], missing)
    dtype = "int64" if kind == TIMESTAMP else "float32"
    return Feature(name, kind, dtype, None, (), name, index, None, known)


def _statistics(values, missing=0, *lengths) -> Statistics:
    array = np.array(values or [0.0], np.float64)
    quantiles = tuple(np.quantile(array, np.linspace(0, 1, 21)).tolist())
    numbers = (float(f(array)) for f in (np.mean, np.std, np.min, np.max))
    return Statistics(len(values), missing, *numbers, quantiles, *lengths)


def _bytes(value: bytes) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _floats(values) -> tf.train.Feature:
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def _integers(values) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def mixed_rows(count: int, seed: int = 0) -> tuple[dict[str, Column], list[int]]:
    """Raw columns of every kind, with NULLs in each, and classes 0 and 1 that depend on some."""
    random = np.random.default_rng(seed)

    def some_null(values: list) -> list:
        return [None if random.random() < 0.1 else value for value in values]

    size = random.normal(1e6, 3.0, count)  # large, compared with its spread
    site = random.choice(["links", "rechts", "", "ümlaut", "0:links"], count).tolist()
    pulses = [random.normal(60, 9, random.integers(0, 12)).tolist() for _ in range(count)]
    columns = {
        "size": (NUMERIC, some_null(size.tolist())),
        "class": (NUMERIC, some_null(random.lognormal(0, 2, count).tolist())),
        "smoker": (BOOLEAN, some_null((random.random(count) < 0.3).tolist())),
        "site": (CATEGORICAL, some_null(site)),
        "_ward": (CATEGORICAL, some_null([f"w{ward}" for ward in random.integers(0, 40, count)])),
        "taken": (TIMESTAMP, some_null(random.integers(-(10**15), 2 * 10**15, count).tolist())),
        "pulse": (SEQUENCE, some_null(pulses)),
    }
    words = ("kein", "Befund", "BEFUND.", "größe", "2,5", "cm", "", "日本")
    notes = [" ".join(random.choice(words, random.integers(0, 9))) for _ in range(count)]
    columns["note"] = (TEXT, some_null(notes))
    labels = ((size > 1e6) ^ (np.array(site) == "links")).astype(int)
    return columns, labels.tolist()


def pictured_rows(count: int, seed: int = 0) -> tuple[dict[str, Column], list[int]]:
    """Rows with an image and columns, and classes 0 and 1 that neither tells alone.

    A picture has stripes along or across; the class is whether they are along, but the opposite
    where the row's number is below 0.
    """
    random = np.random.default_rng(seed)
    along, number = random.random(count) < 0.5, random.normal(0, 1, count)
    pictures = []
    for vertical in along:
        stripes = 255 * (np.arange(16) // 2 % 2)
        picture = np.tile(stripes, (16, 1)) + random.normal(0, 20, (16, 16))
        picture = picture if vertical else picture.T
        pictures.append(picture.clip(0, 255).astype(np.uint8)[..., np.newaxis])
    columns = {
        "photo": (IMAGE, pictures),
        "number": (NUMERIC, number.tolist()),
        "site": (CATEGORICAL, random.choice(["left", "right"], count).tolist()),
    }
    return columns, (along ^ (number < 0)).astype(int).tolist()
