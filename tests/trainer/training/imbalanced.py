"""Rows of which few are of a class, and a training that needs no more than seconds for them."""

import numpy as np

from testbed.tables import write_table
from trellis_contracts.dataset_features import NUMERIC


def imbalanced(folder, rows, rare, files):
    """Rows of which some are of a class that two of six numbers hint at."""
    random = np.random.default_rng(2)
    labels = np.zeros(rows, int)
    labels[random.permutation(rows)[:rare]] = 1
    numbers = random.normal(size=(rows, 6))
    numbers[:, :2] += 1.3 * labels[:, np.newaxis]
    columns = {f"x{i}": (NUMERIC, numbers[:, i].tolist()) for i in range(6)}
    named = ["common" if label == 0 else "rare" for label in labels]
    return write_table(folder, columns, named, files=files)


SPARSE = {"epochs": 12, "learning_rate": 0.01, "units": 32, "early_stopping_patience": 0}
