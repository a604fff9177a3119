"""A run over a table's rows made by hand: dataset, trainings, baselines as services leave them."""

import json

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.trainer.conftest import RunFolder
from trainer import predictions
from trainer.exporting import tfrecord
from trainer.prediction_forms.regression import Values
from trellis_contracts.dataset import (
    GROUP_RULE,
    HASH_RULE,
    Counts,
    DatasetDescription,
    Shard,
    Split,
    shard_name,
)
from trellis_contracts.dataset_features import IMAGE, Feature, Label, Statistics, TermStatistics
from trellis_contracts.tasks import REGRESSION

RANGES = {"train": (0, 80), "validation": (80, 90), "test": (90, 100)}


def statistics(values, missing=0, **lengths):
    values = np.asarray(values, float)
    return Statistics(
        count=len(values),
        missing=missing,
        mean=float(values.mean()),
        stddev=float(values.std()),
        min=float(values.min()),
        max=float(values.max()),
        quantiles=tuple(float(q) for q in np.quantile(values, np.linspace(0, 1, 21))),
        **lengths,
    )


def numeric(name, values, missing=0, kind="numeric", index=0):
    dtype = "int64" if kind == "timestamp" else "float32"
    column = name.replace(" ", "_")
    found = statistics(values, missing)
    return Feature(name, kind, dtype, column=column, index=index, statistics=found)


def categorical(name, frequencies, missing=0, other=0, index=0):
    ordered = dict(sorted(frequencies.items(), key=lambda item: (-item[1], item[0])))
    count = sum(ordered.values()) + other
    return Feature(
        name,
        "categorical",
        "int64",
        column=name,
        index=index,
        vocabulary=tuple(ordered),
        statistics=TermStatistics(count, missing, other, tuple(ordered.values())),
    )


def some_features(random, rows, count=6, shift=0.0):
    """Numbers, the first of them shifted, and one feature of every other kind."""
    numbers = [
        numeric(f"measure {i}", random.normal(10 * i + (i == 0) * shift, 1 + i, rows), index=i)
        for i in range(count)
    ]
    pulse = statistics(random.exponential(3, rows * 5), min_length=0, max_length=9, mean_length=5.0)
    return (
        *numbers,
        numeric("smoker", random.random(rows) < 0.3, missing=4, kind="boolean", index=count),
        categorical("site", {"left": 3 * rows // 5, "right": 2 * rows // 5}),
        numeric("taken", 1.7e9 + random.random(rows) * 86400, kind="timestamp"),
        Feature("pulse", "sequence", "float32", shape=(None,), column="pulse", statistics=pulse),
    )


def picture(row):
    """The PNG file of a row's image, another of each of the first 256 rows."""
    return cv2.imencode(".png", np.full((8, 8, 1), row % 256, np.uint8))[1].tobytes()


class TableRun(RunFolder):
    """A RunFolder with a dataset of a table's rows; classes [] make it a regression.

    groups: of each row, a number, if groups decide the split.
    """

    def __init__(self, root, labels, classes, keys=None, features=None, groups=None):
        self.groups = groups
        self.features = features or some_features(np.random.default_rng(0), 8 * len(labels))
        keys = keys or [f"row-{i:05d}" for i in range(len(labels))]
        super().__init__(root, labels, classes, keys=keys, images=[b""] * len(labels))

    def values(self, rank, values, keys=None, labels=None, **training):
        """Add a full training of a regression with its predictions."""
        regression = {"task": REGRESSION, "model": "dense", "metric": "rmse"}
        validation = {"rmse": 3.2, "mae": 2.5, "loss": 0.1}
        self.training(rank, **(regression | {"validation": validation} | training))
        predictions.write(
            self.path / "training" / str(rank) / "predictions.parquet",
            Values(
                self.keys if keys is None else keys,
                self.labels if labels is None else labels,
                values,
            ),
        )
        return self

    def baseline(self, name, raw=None, **changed):
        """Add a baseline: baseline.json, and `raw` as a Parquet file that BigQuery exported."""
        document = {
            "schema": 1,
            "name": name,
            "kind": name.partition("-")[0],
            "status": "succeeded",
            "reason": None,
            "model": f"projects/p/datasets/trellis/models/{name}",
            "options": {"model_type": "LOGISTIC_REG", "l2_reg": 0.1},
            "features_left_out": ["pulse"],
            "seconds": 41.26,
            "cost_usd": 0.0512,
            "feature_importance": [
                {"feature": "measure 0", "weight": -1.5, "what": "standardized weight"},
                {"feature": "measure 1", "weight": 2.5, "what": "standardized weight"},
            ],
            "evaluation": {"roc_auc": 0.99},
        }
        self._write(f"baselines/{name}/baseline.json", document | changed)
        if raw is not None:
            folder = self.path / "baselines" / name / "raw"
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(raw, folder / "predictions-000000000000.parquet")
        return self

    def exported(self, probabilities, keys=None, classes=None):
        """Probabilities as BigQuery exports them, the rows in another order than the split's."""
        keys = self.keys if keys is None else keys
        classes = self.classes if classes is None else classes
        rows = [
            [{"label": c, "prob": float(p)} for c, p in zip(classes, row, strict=True)]
            for row in probabilities
        ]
        table = pa.table({"key": keys, "probabilities": rows})
        return table.take(np.arange(len(keys))[::-1])

    def exported_values(self, values, keys=None):
        """Return the exported values of a regression."""
        return pa.table({"key": self.keys if keys is None else keys, "prediction": values})

    def previous(self, features, classes=None):
        """Add the dataset that the experiment used before."""
        folder = self.dataset.with_name("beef")
        folder.mkdir()
        description = self._description("beef", features, classes or self.classes, ())
        (folder / "dataset.json").write_text(description.to_json())
        plan = json.loads((self.path / "plan.json").read_text())
        return self.plan(plan | {"dataset": plan["dataset"] | {"previous": f"{folder}/"}})

    def _write_dataset(self):
        self.dataset.mkdir(parents=True)
        name = shard_name("test", 0, 1)
        columns = {
            "key": [key.encode() for key in self.keys],
            "label": self.labels.astype(np.int64 if self.classes else np.float32),
            "numeric": np.zeros((len(self.keys), 2), np.float32),
        }
        for feature in self.features:
            if feature.kind == IMAGE:
                columns[feature.record_name] = [picture(i) for i in range(len(self.keys))]
                addresses = [f"gs://b/{key}.png".encode() for key in self.keys]
                columns[feature.beside("uri")] = addresses
        if self.groups is not None:
            columns["group"] = np.asarray(self.groups, np.int64)
        content = b"".join(tfrecord.tfrecords(columns))
        (self.dataset / name).write_bytes(content)
        shards = (Shard(name, len(self.keys), len(content)),)
        description = self._description("f00d", self.features, self.classes, shards)
        (self.dataset / "dataset.json").write_text(description.to_json())

    def _description(self, fingerprint, features, classes, shards):
        n = len(self.keys)
        counts = np.bincount(self.labels, minlength=len(classes)) if classes else []
        by_class = {name: int(count) for name, count in zip(classes, counts, strict=True)}
        eightfold = {name: 8 * count for name, count in by_class.items()}
        task = f"{'binary' if len(classes) == 2 else 'multiclass'}_classification"
        return DatasetDescription(
            fingerprint=fingerprint,
            task=task if classes else REGRESSION,
            source={
                "columns": "gs://b/columns.json",
                "table": "p.d.t",
                "query": None,
                "partition": {"column": "day", "from": "2024-01-01", "to": "2024-01-02"},
                "rows": 570,
            },
            split=Split(HASH_RULE, RANGES)
            if self.groups is None
            else Split(GROUP_RULE, RANGES, by="patient"),
            features=tuple(features),
            label=Label("label", "int64", "malignant")
            if classes
            else Label("label", "float32", "weight", statistics(np.tile(self.labels, 8))),
            classes=tuple(classes),
            counts={
                "train": Counts(8 * n, eightfold),
                "validation": Counts(n, by_class),
                "test": Counts(n, by_class),
            },
            files={"train": (), "validation": (), "test": shards},
            rejected=0,
        )
