"""Trains on a dataset that is made here, and writes what a deployment needs of it.

    python train_challenger.py digits|breast_cancer|mixed gs://BUCKET/EXPERIMENT

Runs in the trainer's environment; leaves runs/1/leaderboard/challenger.json below that folder.
"""

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from testbed.tables import mixed_rows
from testbed.trainings import arguments, write_dataset
from tests.trainer.comparison.plans import plan_of
from tests.trainer.raw_tables import write_with_source
from trainer import storage
from trainer.comparison import challenger
from trainer.comparison.run_folder import read_run
from trainer.estimators import run
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

EXAMPLES = 20


def digits(folder):
    """Some of scikit-learn's digits."""
    data = load_digits()
    images = (data.images[..., np.newaxis] * 255 / 16).astype(np.uint8)
    files = {"train": [700], "validation": [100], "test": [100]}
    write_dataset(folder, images, data.target, files=files)


def breast_cancer(folder):
    """scikit-learn's 30 measurements of 569 samples."""
    data = load_breast_cancer()
    columns = {
        name.replace(" ", "_"): ("numeric", data.data[:, place].tolist())
        for place, name in enumerate(data.feature_names)
    }
    files = {"train": [455], "validation": [57], "test": [57]}
    write_with_source(folder, columns, data.target.tolist(), files)


def mixed(folder):
    """A regression on features of every kind, with NULLs in each."""
    columns, labels = mixed_rows(300)
    files = {"train": [240], "validation": [30], "test": [30]}
    labels = [100.0 + 20 * label for label in labels]
    write_with_source(folder, columns, labels, files, task="regression", vocabulary=5)


DATASETS = {
    "digits": (digits, "multiclass_classification"),
    "breast_cancer": (breast_cancer, "binary_classification"),
    "mixed": (mixed, "regression"),
}


def main(name, uri):
    """Make the dataset, train on it, describe the training."""
    make, task = DATASETS[name]
    dataset, run_uri = f"{uri}/datasets/1/", f"{uri}/runs/1/"
    make(storage.local_path(dataset))
    where = f"{run_uri}plan.json"
    storage.write_text(where, plan_of(dataset).to_json(where))
    argv = arguments(dataset, output=f"{run_uri}training/1/", task=task, epochs=5)
    settings = parse_flags(argv, "")
    assert run.train(settings, checked_dataset(settings)) == 0
    read = read_run(run_uri)
    where = f"{run_uri}leaderboard/{challenger.FILE_NAME}"
    found = challenger.of(read, read.contenders[0], EXAMPLES)
    storage.write_text(where, found.to_json(where))


if __name__ == "__main__":
    main(*sys.argv[1:])
