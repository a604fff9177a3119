"""Descriptions of datasets, as the export writes them."""

import statistics
from collections import Counter


def numbers(values, missing=0):
    """Statistics of numbers: 21 quantiles by the nearest rank."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return {
        "count": len(ordered),
        "missing": missing,
        "mean": statistics.fmean(ordered),
        "stddev": statistics.pstdev(ordered),
        "min": ordered[0],
        "max": ordered[-1],
        "quantiles": [ordered[round(last * i / 20)] for i in range(21)],
    }


def numeric(name, values, missing=0, kind="numeric"):
    dtype = "int64" if kind == "timestamp" else "float32"
    shape = [None] if kind == "sequence" else []
    statistics_ = numbers(values, missing)
    if kind == "sequence":
        statistics_ |= {"min_length": 1, "max_length": 9, "mean_length": 3.0}
    found = {"name": name, "kind": kind, "dtype": dtype, "shape": shape, "column": name}
    return found | {"statistics": statistics_} | ({} if shape else {"index": 0})


def categorical(name, terms, keep=1000, missing=0):
    counts = Counter(terms).most_common()
    kept = counts[:keep]
    return {
        "name": name,
        "kind": "categorical",
        "dtype": "int64",
        "shape": [],
        "column": name,
        "index": 0,
        "vocabulary": [term for term, _ in kept],
        "statistics": {
            "count": len(terms),
            "missing": missing,
            "other": sum(count for _, count in counts[keep:]),
            "frequencies": [count for _, count in kept],
        },
    }


IMAGE = {
    "name": "image",
    "kind": "image",
    "dtype": "uint8",
    "encoding": "png",
    "rule": 2,
    "shape": [8, 8, 1],
}


def dataset(*features, classes=None, label=None, fingerprint="aa", examples=None):
    """A dataset.json whose train split has these features. label: values of a regression."""
    classes = {} if label else classes or {"a": 500, "b": 500}
    rows = examples or (len(label) if label else sum(classes.values()))
    split = {"examples": rows, "classes": classes}
    task = "regression" if label else "binary_classification"
    return {
        "schema": 2,
        "fingerprint": fingerprint,
        "task": None if features == (IMAGE,) else task,
        "source": {},
        "split": {"rule": "FARM_FINGERPRINT(key) mod 100"},
        "features": list(features),
        "label": {"name": "label", "dtype": "float32", "column": "y", "statistics": numbers(label)}
        if label
        else {"name": "label", "dtype": "int64", "column": "y"},
        "classes": list(classes),
        "counts": {"train": split, "validation": split, "test": split},
        "files": {"train": [], "validation": [], "test": []},
        "bytes": 0,
        "rejected": 0,
        "warnings": [],
    }
