"""A run's folder made by hand: what export, tuning and training leave, without running them."""

import json
import math

import cv2
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from testbed.trainings import originals
from trainer import predictions
from trainer.comparison import bootstrap
from trainer.exporting import tfrecord
from trainer.metrics.outcome import Outcome
from trainer.prediction_forms.classification import Predictions
from trellis_contracts import VERSION
from trellis_contracts.dataset import Counts, DatasetDescription, Shard, Split, shard_name
from trellis_contracts.dataset_features import Feature

EPOCHS = 6

_TEXT = {"type": "STRING"}
_IMAGE = {"name": "image", "column": "image", "type": "STRING", "kind": "image", "image": {}}
OF_MANIFEST = {
    "key": {"name": "key"} | _TEXT,
    "label": {"name": "label"} | _TEXT,
    "rejected": {"name": "rejected"} | _TEXT,
    "partition": None,
    "features": [_IMAGE],
    "regression": False,
    "split_by": None,
    "weight": None,
    "kept": [],
}
"""A plan's table of images that a manifest lists."""


def write_tfrecord(path, keys, images, labels, files):
    """Write examples of a test split as the export does, and the files that they are made of."""
    columns = {
        "key": [key.encode() for key in keys],
        "image": images,
        "label": np.asarray(labels, np.int64),
        **originals(path.parent, keys, files),
    }
    path.write_bytes(tfrecord.frame(tfrecord.serialize_examples(columns)))


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def a_classifier(labels, classes, skill, seed, confidence=1.0):
    """(n, c) probabilities of a classifier that is the better the larger its skill."""
    logits = np.random.default_rng(seed).normal(size=(len(labels), classes))
    logits[np.arange(len(labels)), labels] += skill
    return softmax(logits * confidence)


def epochs(skill, count=EPOCHS):
    """A plausible history of metrics.json."""
    history = []
    for epoch in range(1, count + 1):
        loss = 2.0 * math.exp(-skill * epoch / 6) + 0.02
        accuracy = 1 - loss / 3
        history.append(
            {
                "epoch": epoch,
                "loss": loss,
                "accuracy": accuracy,
                "val_loss": loss * 1.1 + 0.002 * epoch,
                "val_accuracy": accuracy - 0.02,
                "learning_rate": 0.001,
                "seconds": 1.5,
            }
        )
    return history


class RunFolder:
    """Builds a run's folder below `root`; every method returns the folder for chaining.

    images: as the dataset stores them; files: what they were made of, default the same.
    """

    def __init__(self, root, labels, classes, keys=None, images=None, files=None, shape=(8, 8, 1)):
        self.labels = np.asarray(labels)
        self.classes = [str(name) for name in classes]
        self.keys = keys or [f"images/{i:05d}.png" for i in range(len(self.labels))]
        self.images = images or [
            cv2.imencode(".png", np.full((8, 8, 1), label % 256, np.uint8))[1].tobytes()
            for label in self.labels
        ]
        self.files = files or self.images
        self.shape = shape
        self.dataset = root / "digits" / "datasets" / "f00d"
        self.path = root / "digits" / "runs" / "manual__2026-01-01"
        self.chosen = []
        self.trials = []
        self._write_dataset()
        self.plan({})

    @property
    def uri(self):
        return f"{self.path}/"

    def plan(self, changed):
        """Write plan.json, with some fields changed; of an object the fields that are named."""
        document = {
            "schema": 1,
            "contracts": VERSION,
            "experiment": "digits",
            "description": "",
            "run": "gs://research/digits/runs/manual__2026-01-01/",
            "run_id": "manual__2026-01-01T00:00:00+00:00",
            "created": "2026-01-01T00:00:03+00:00",
            "data_interval": {
                "start": "2025-12-25T00:00:00+00:00",
                "end": "2026-01-01T00:00:00+00:00",
            },
            "configuration": {
                "owner": "vision-lab",
                "source": {"images": {"manifest": "gs://research/digits/manifest.csv"}},
                "model": "convolutional",
                "task": "multiclass_classification",
                "tune": {
                    "maximize": "accuracy",
                    "trials": 6,
                    "parallel": 2,
                    "epochs": 4,
                    "search": {
                        "learning_rate": {"from": 1e-4, "to": 1e-1, "scale": "log"},
                        "layers": {"from": 1, "to": 3},
                        "optimizer": {"choose": ["adam", "sgd"]},
                    },
                },
                "train": {"top": 2, "epochs": 25, "machines": {"workers": 2}},
            },
            "model_files": {},
            "image_files": {},
            "images": {},
            "dataset": {
                "uri": f"{self.dataset}/",
                "fingerprint": "f00d",
                "exists": False,
                "source": "gs://research/digits/manifest.csv",
                "statement": "SELECT 1",
                "partition": None,
                "examples": None,
                "classes": None,
                "previous": None,
            },
            "table": OF_MANIFEST,
            "baselines": [],
            "rates": {"training": 0.44, "trial": 0.22},
            "jobs": {"dataflow": 1, "tuning": 1, "custom": 3, "automl": 0, "batch": 0},
            "cost": {"at_most_usd": 1.92, "stages": {}, "assumptions": "", "serving": None},
            "reuse": {"digests": {}, "steps": {}, "remark": None},
            "shares": {},
        }
        for name, value in changed.items():
            before = document.get(name)
            merge = isinstance(value, dict) and isinstance(before, dict)
            document[name] = before | value if merge else value
        return self._write("plan.json", document)

    def trial(
        self, number, value, rank=None, state="SUCCEEDED", skill=2.0, history=4, **parameters
    ):
        """Add a tuning trial to trials.json, with its epochs."""
        trial = {
            "id": str(number),
            "state": state,
            "parameters": parameters,
            "final": None if value is None else {"step": history, "value": value, "loss": 0.5},
            "start": "2026-01-01T00:01:00+00:00",
            "end": "2026-01-01T00:01:40+00:00",
        }
        self.trials.append(trial)
        if rank:
            self.chosen.append(
                {"rank": rank, "trial": str(number), "parameters": parameters, "value": value}
            )
        if history:
            changed = {"hyperparameters": parameters, "test": None}
            self._write(f"tuning/{number}/metrics.json", self._metrics(skill, history) | changed)
        document = {
            "schema": 1,
            "job": "projects/1/locations/europe-west4/hyperparameterTuningJobs/7",
            "metric": "accuracy",
            "goal": "maximize",
            "trials": self.trials,
            "chosen": self.chosen,
        }
        return self._write("trials.json", document)

    def contender(
        self, rank, probabilities, keys=None, labels=None, classes=None, threshold=None, **training
    ):
        """Add a full training with its predictions."""
        self.training(rank, **training)
        predictions.write(
            self.path / "training" / str(rank) / "predictions.parquet",
            Predictions(
                keys=self.keys if keys is None else keys,
                labels=self.labels if labels is None else labels,
                probabilities=probabilities,
                classes=self.classes if classes is None else classes,
                threshold=threshold,
            ),
        )
        return self

    def training(self, rank, skill=2.0, count=EPOCHS, **changed):
        """Add a full training's metrics.json alone."""
        return self._write(f"training/{rank}/metrics.json", self._metrics(skill, count) | changed)

    def frozen(self, columns, keys=None):
        """Write the test split's frozen rows as BigQuery extracts them, among others' and in
        another order. columns: beside key, split and label; keys: other keys than the split's.
        """
        keys = self.keys if keys is None else keys
        labels = [self.classes[label] for label in self.labels]
        values = {"label": labels, **columns}
        rows = pd.DataFrame({name: list(one)[: len(keys)] for name, one in values.items()})
        rows = rows.assign(key=keys, split="test")
        others = rows.assign(key=[f"other-{key}" for key in keys], split="train")
        self.rows = pd.concat([others, rows], ignore_index=True).sample(frac=1, random_state=1)
        folder = self.dataset / "source"
        folder.mkdir(exist_ok=True)
        table = pa.Table.from_pandas(self.rows, preserve_index=False)
        pq.write_table(table, folder / "rows-000000000000.parquet")
        return self

    @property
    def table(self):
        """The table in plan.json."""
        return json.loads((self.path / "plan.json").read_text())["table"]

    def _metrics(self, skill, count):
        replica = {
            "steps": 440,
            "examples": 14080,
            "weights_sha256": "ab" * 32,
            "last_weights_sha256": "cd" * 32,
        }
        return {
            "schema": 1,
            "model": "convolutional",
            "task": "multiclass_classification",
            "metric": "accuracy",
            "hyperparameters": {"learning_rate": 0.003, "layers": 2.0, "optimizer": "adam"},
            "seed": 7,
            "strategy": "multi_worker",
            "epochs_run": count,
            "best_epoch": max(1, count - 1),
            "history": epochs(skill, count),
            "validation": {"accuracy": 0.97, "loss": 0.1},
            "test": {"accuracy": 0.97, "loss": 0.1},
            "replicas": {"chief:0": replica, "worker:0": replica},
            "weights_sha256": "ab" * 32,
            "parameters": 34_826,
            "dataset": {"uri": f"{self.dataset}/", "fingerprint": "f00d"},
        }

    def _write(self, name, document):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
        return self

    def _write_dataset(self):
        self.dataset.mkdir(parents=True)
        halves = [range(0, len(self.keys), 2), range(1, len(self.keys), 2)]
        shards = []
        for index, half in enumerate(halves):
            name = shard_name("test", index, 2)
            write_tfrecord(
                self.dataset / name,
                [self.keys[i] for i in half],
                [self.images[i] for i in half],
                self.labels[half],
                [self.files[i] for i in half],
            )
            shards.append(Shard(name, len(half), (self.dataset / name).stat().st_size))
        counts = np.bincount(self.labels, minlength=len(self.classes))
        by_class = dict(zip(self.classes, map(int, counts), strict=True))
        test = Counts(len(self.labels), by_class)
        train = Counts(8 * len(self.labels), {name: 8 * n for name, n in by_class.items()})
        description = DatasetDescription(
            fingerprint="f00d",
            source={"manifest": "gs://research/digits/manifest.csv", "lines": 1797},
            split=Split(
                "FARM_FINGERPRINT(key) mod 100",
                {"train": (0, 80), "validation": (80, 90), "test": (90, 100)},
            ),
            features=(Feature("image", "image", "uint8", "png", self.shape),),
            classes=tuple(self.classes),
            counts={"train": train, "validation": test, "test": test},
            files={"train": (), "validation": (), "test": tuple(shards)},
            rejected=2,
        )
        (self.dataset / "dataset.json").write_text(description.to_json())


@pytest.fixture
def run_folder(tmp_path):
    """A function that makes a run's folder: labels, number of classes -> RunFolder."""

    def make(labels, classes, **options):
        names = classes if isinstance(classes, list) else range(classes)
        return RunFolder(tmp_path, labels, names, **options)

    return make


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the report's figures undrawn: a third of the time of a comparison of which a test reads
    something else.
    """
    monkeypatch.setattr("trainer.report.page._drawn", lambda figure: "")


def _few_resamples():
    """Score 100 resamples in place of 2,000, where a test does not read how wide an interval is."""
    draw = bootstrap.draw

    def drawn(n, resamples=100, seed=bootstrap.SEED, groups=None):
        return draw(n, min(resamples, 100), seed, groups)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "draw", drawn)
        yield


few_resamples = pytest.fixture(_few_resamples)
few_resamples_in_module = pytest.fixture(scope="module")(_few_resamples)


@pytest.fixture(scope="session")
def two_contenders():
    """A population of 100,000 examples with the outcomes of a better and a worse contender.

    They share part of their mistakes, as models trained on one dataset do.
    """
    random = np.random.default_rng(3)
    labels = random.integers(0, 4, 100_000)
    shared = random.normal(size=(len(labels), 4))

    def contender(skill):
        logits = shared + random.normal(scale=0.7, size=shared.shape)
        logits[np.arange(len(labels)), labels] += skill
        return Outcome(labels, softmax(logits))

    return contender(2.3), contender(2.0)


@pytest.fixture(scope="session")
def classifier():
    """The function that makes a classifier's probabilities: labels, classes, skill, seed."""
    return a_classifier


@pytest.fixture
def table_run(tmp_path):
    """A function that makes the folder of a run over a table's rows: labels, classes -> TableRun.

    classes: names, or none for a regression.
    """
    from tests.trainer.table_run import TableRun

    def make(labels, classes=(), **options):
        return TableRun(tmp_path, labels, classes, **options)

    return make
