"""Rows that count more than others: a row of weight k is as k rows."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from testbed.tables import write_table
from testbed.trainings import arguments
from trainer import dataset_description
from trainer.estimators import run
from trainer.training import class_weights
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset_features import NUMERIC
from trellis_contracts.hyperparameters import Hyperparameters

ROWS = 32
CHIEF, WORKER = PAIR = ("chief:0", "worker:0")


def datasets(folder, task):
    """Return one train split in two forms: 32 rows of weight 0.5 to 1.5, and 64 of which some are
    equal.
    """
    random = np.random.default_rng(3)
    times = np.repeat([1, 2, 3, 2], ROWS // 4)
    order = random.permutation(ROWS + 20)
    numbers = random.normal(size=ROWS + 20)
    target = numbers + 0.3 * random.normal(size=ROWS + 20)
    label = target.tolist() if task == "regression" else np.where(target > 0.6, "yes", "no")

    def write(name, rows, weights=None):
        files = {"train": [(len(rows) - 20) // 2] * 2, "validation": [10], "test": [10]}
        columns = {"a": (NUMERIC, numbers[rows].tolist()), "b": (NUMERIC, order[rows].tolist())}
        labels = [label[row] for row in rows]
        return write_table(folder / name, columns, labels, task=task, files=files, weights=weights)

    others = np.arange(ROWS, ROWS + 20)
    # What is not learned from may weigh anything.
    weights = [*(times / 2), *[7.0] * 20]
    weighted = write("weighted", np.arange(ROWS + 20), weights)
    repeated = write("repeated", np.concatenate([np.repeat(np.arange(ROWS), times), others]))
    known = dataset_description.load(weighted)
    # Standardized alike, which is by rows.
    same = dataclasses.replace(
        dataset_description.load(repeated), features=known.features, label=known.label
    )
    (folder / "repeated" / "dataset.json").write_text(same.to_json())
    return weighted, repeated


def trained(dataset, output, **flags):
    flags = {"outputs": "metrics", "units": 8, "epochs": 4, "learning_rate": 0.02, **flags}
    settings = parse_flags(arguments(dataset, output=output, **flags), "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text())


def losses(metrics):
    return [row["val_loss"] for row in metrics["history"]]


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({"task": "regression", "metric": "rmse"}, marks=pytest.mark.slow),
        {
            "task": "binary_classification",
            "class_weights": "balanced",
            "loss": "focal",
            "accumulation": 4,
            "clip_norm": 0.5,
        },
    ],
    ids=["regression", "classes"],
)
def test_a_row_of_weight_k_is_learned_from_as_k_rows_are(tmp_path, flags):
    """One step an epoch takes all rows, so that no order matters."""
    weighted, repeated = datasets(tmp_path, flags["task"])
    parts = flags.get("accumulation", 1)
    first = trained(weighted, tmp_path / "1", batch_size=ROWS // parts, **flags)
    second = trained(repeated, tmp_path / "2", batch_size=2 * ROWS // parts, **flags)
    assert losses(first) == pytest.approx(losses(second), rel=1e-4)


def test_balanced_classes_are_balanced_by_weight(tmp_path):
    weighted, repeated = datasets(tmp_path, "binary_classification")
    of = [
        class_weights.of(dataset_description.load(d), Hyperparameters(class_weights="balanced"))
        for d in (weighted, repeated)
    ]
    assert of[0] == pytest.approx(of[1])
    labels, sums = ["no"] * 3 + ["yes"], np.array([0.5, 0.5, 1, 1])
    known = compute_class_weight(
        "balanced", classes=np.array(["no", "yes"]), y=labels, sample_weight=sums
    )
    files = {"train": [4], "validation": [2], "test": [2]}
    columns = {"a": (NUMERIC, list(range(8)))}
    small = write_table(
        tmp_path / "small", columns, labels * 2, files=files, weights=[*sums, *sums]
    )
    found = class_weights.of(
        dataset_description.load(small), Hyperparameters(class_weights="balanced")
    )
    assert found == pytest.approx(known)


def test_probabilities_follow_the_weights_and_metrics_do_not(tmp_path):
    """Half of the equal rows are yes, with three times the weight: the model says three in four."""
    rows = 400
    labels = ["yes", "no"] * (rows // 2)
    columns = {"a": (NUMERIC, [0.0] * rows), "b": (NUMERIC, [float(n % 7) for n in range(rows)])}
    files = {"train": [rows - 80], "validation": [40], "test": [40]}
    dataset = write_table(
        tmp_path / "d", columns, labels, files=files, weights=[30.0, 10.0] * (rows // 2)
    )
    flags = {"task": "binary_classification", "epochs": 6, "batch_size": 16, "schedule": "cosine"}
    last = trained(dataset, tmp_path / "out", **flags)["history"][-1]
    # The mean of -log p over validation rows that count the same: half are yes.
    assert last["val_loss"] == pytest.approx(-np.log([0.75, 0.25]).mean(), abs=0.03)
    assert last["val_brier"] == pytest.approx((0.25**2 + 0.75**2) / 2, abs=0.01)
    assert last["val_accuracy"] == 0.5


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_workers_weigh_as_one_does(tmp_path, make_job):
    weighted, _ = datasets(tmp_path / "d", "binary_classification")
    flags = {
        "task": "binary_classification", "units": 8, "epochs": 4, "outputs": "metrics",
        "learning_rate": 0.02, "learning_rate_scaling": "none",
    }  # fmt: skip
    job = make_job(PAIR, weighted, batch_size=ROWS // 2, **flags)
    job.start()
    assert job.wait() == dict.fromkeys(PAIR, 0), job.log(CHIEF)
    alone = trained(weighted, tmp_path / "alone", batch_size=ROWS, **flags)
    assert losses(job.metrics) == pytest.approx(losses(alone), rel=1e-5)
