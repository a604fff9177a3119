"""Files of a run on a table, as its tasks and jobs write them."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEYS = [f"k{i}" for i in range(6)]


SHARES = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7], [0.5, 0.5], [0.1, 0.9]])


LABELS = [0, 1, 1, 1, 0, 1]


def predictions(classes=("healthy", "ill"), threshold=None, **columns):
    """predictions.parquet as the trainer writes it."""
    kind = {"classes": json.dumps(classes)} if classes else {"task": "regression"}
    metadata = {"schema": "1", **kind}
    if threshold:
        metadata["threshold"] = json.dumps(threshold)
    made = {"key": pa.array(KEYS), **columns}
    if classes:
        made |= {
            "label": pa.array(LABELS, pa.int32()),
            "probabilities": pa.array(SHARES.tolist(), pa.list_(pa.float32())),
        }
    sink = io.BytesIO()
    pq.write_table(pa.table(made, metadata=metadata), sink)
    return sink.getvalue()


def epochs(count):
    return [
        {"epoch": e, "learning_rate": 0.1, "seconds": 1.0, "loss": 1 / e, "val_loss": 1.1 / e}
        for e in range(1, count + 1)
    ]


def metrics(history):
    sha = "0" * 64
    replica = {"steps": 1, "examples": 1, "weights_sha256": sha, "last_weights_sha256": sha}
    return {
        "schema": 1,
        "model": "dense",
        "task": "binary_classification",
        "metric": "accuracy",
        "hyperparameters": {"units": 8},
        "seed": 0,
        "strategy": "single",
        "epochs_run": len(history),
        "best_epoch": 1,
        "history": history,
        "validation": {"accuracy": 0.9},
        "test": None,
        "replicas": {"0": replica},
        "weights_sha256": sha,
        "parameters": 9,
        "dataset": {"uri": "gs://b/d/", "fingerprint": "3f2a"},
    }


TRAINED = {
    "model": "dense",
    "parameters": 9,
    "seed": 0,
    "strategy": "single",
    "epochs_run": 3,
    "best_epoch": 1,
    "validation": {"accuracy": 0.9},
    "replicas": 1,
    "weights_sha256": "0" * 64,
}


TRIAL = {"state": "SUCCEEDED", "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z"}


TRIALS = {
    "schema": 1,
    "job": "j",
    "metric": "accuracy",
    "goal": "maximize",
    "trials": [
        {"id": "1", "parameters": {"units": 8}, "final": None, **TRIAL},
        {
            "id": "2",
            "parameters": {"units": 16},
            "final": {"step": 3, "value": 0.9, "loss": 0.2},
            **TRIAL,
        },
    ],
    "chosen": [{"rank": 1, "trial": "2", "parameters": {"units": 16}, "value": 0.9}],
}


_COLUMN = {"name": "x", "type": "STRING"}


TABLE = {
    "key": _COLUMN,
    "label": _COLUMN,
    "partition": None,
    "features": [{"name": "x", "column": "x", "type": "STRING", "kind": "text"}],
    "regression": False,
    "split_by": None,
    "weight": None,
    "kept": [],
    "rejected": None,
}
