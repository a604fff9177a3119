"""A model that is served, scored on the test split of a later run."""

import keras
import numpy as np
import pytest

from tests.trainer.raw_tables import write_with_source
from tests.trainer.training.tables import mixed_rows
from trainer import dataset_description, models
from trainer.hyperparameters import Hyperparameters
from trainer.scoring import ScoreError, score
from trainer.training import saved_model

TEST = 40
FILES = {"train": [120], "validation": [5], "test": [TEST - 15, 15]}
ROWS = 125 + TEST


def columns_and_labels():
    """Two tables: other rows to train on, the same rows (with the same keys) to test on."""
    columns, labels = mixed_rows(ROWS, seed=1)
    others, other_labels = mixed_rows(ROWS, seed=2)
    mixed = {
        name: (kind, others[name][1][: ROWS - TEST] + values[ROWS - TEST :])
        for name, (kind, values) in reversed(columns.items())
    }
    return (columns, labels), (mixed, other_labels[: ROWS - TEST] + labels[ROWS - TEST :])


@pytest.fixture(scope="module", params=["binary_classification", "regression"])
def served(request, tmp_path_factory):
    """A model with its dataset, and a later dataset: their addresses."""
    folder = tmp_path_factory.mktemp("scoring")
    (columns, labels), (later, later_labels) = columns_and_labels()
    options = {"files": FILES, "task": request.param}
    own = write_with_source(folder / "own", columns, labels, vocabulary=5, **options)
    new = write_with_source(folder / "new", later, later_labels, vocabulary=30, **options)
    dataset = dataset_description.load(own)
    keras.utils.set_random_seed(1)
    model = models.build("recurrent", dataset, Hyperparameters())
    # As if trained: else all terms would mean the same.
    for variable in model.weights:
        if variable.name == "embeddings":
            variable.assign(np.random.default_rng(2).normal(size=variable.shape))
    saved_model.export(model, dataset, folder / "model")
    return str(folder / "model"), own, new


def test_it_says_of_later_data_what_it_said_of_the_same_rows_before(served):
    model, own, new = served
    datasets = [dataset_description.load(address) for address in (own, new)]
    assert datasets[0].features != datasets[1].features
    keys, labels, answers = saved_model.predict(model, own, datasets[0], "test")
    by_key = {key.decode(): (label, row) for key, label, row in zip(keys, labels, answers)}
    for address, dataset in zip((own, new), datasets, strict=True):
        scored = score(model, address, dataset)
        assert set(scored.keys) == set(by_key)
        expected = [by_key[key] for key in scored.keys]
        assert scored.labels.tolist() == [label for label, _ in expected]
        found = scored.values if dataset.is_regression else scored.probabilities
        np.testing.assert_allclose(found, [row for _, row in expected], rtol=0, atol=1e-6)
