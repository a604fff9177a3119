"""Shared by the tests of BigQuery ML: real data, and models trained in this process."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from threadpoolctl import threadpool_limits

from local_gcp.bigquery.ml import functions, options, training
from local_gcp.bigquery.ml.training import Trained


class Model:
    """A trained model, asked as SQL would ask it."""

    def __init__(self, trained: Trained):
        self.trained = trained

    def ask(self, function: str, rows: pa.Table | None = None, **arguments) -> pa.Table:
        """ML.FUNCTION(MODEL m, rows, STRUCT(arguments)); its columns are those foretold."""
        given = None if rows is None else functions._given(rows)
        foretold = functions.fields(f"ML.{function}", self.trained, given, arguments)
        found = functions.call(f"ML.{function}", self.trained, rows, arguments)
        assert [f.name for f in foretold] == found.column_names
        assert [f.arrow for f in foretold] == found.schema.types
        return found

    def first(self, function: str, rows: pa.Table | None = None, **arguments) -> dict:
        """The first row."""
        return self.ask(function, rows, **arguments).slice(0, 1).to_pylist()[0]

    def positive(self, rows: pa.Table) -> np.ndarray:
        """The positive class's probability of each row."""
        name = f"predicted_{self.trained.label.name}_probs"
        return np.array([p[0]["prob"] for p in self.ask("PREDICT", rows)[name].to_pylist()])


def train(rows: pa.Table, model_type: str, **given) -> Model:
    """CREATE MODEL ... OPTIONS(model_type = ..., given) AS rows, without its process."""
    checked = options.check({"model_type": model_type, **given})
    with threadpool_limits(1, "openmp"):  # as the training process does with few rows
        return Model(training.train(rows, checked, lambda iteration: None))


def table(x: np.ndarray, **columns) -> pa.Table:
    """Features x0, x1, ... and further columns."""
    return pa.table({**{f"x{i}": x[:, i] for i in range(x.shape[1])}, **columns})


@pytest.fixture(scope="session")
def cancer() -> pa.Table:
    """569 rows: x0 to x29, label "benign" or "malignant", `held` is TRUE for about a fifth."""
    data = load_breast_cancer()
    label = np.array(["malignant", "benign"])[data.target]
    return table(data.data, label=label, held=np.random.default_rng(0).random(len(label)) < 0.2)


@pytest.fixture(scope="session")
def iris() -> pa.Table:
    """150 rows: x0 to x3, label 0, 1 or 2."""
    data = load_iris()
    return table(data.data, label=data.target)


@pytest.fixture(scope="session")
def diabetes() -> pa.Table:
    """442 rows: x0 to x9, label from 25 to 346."""
    data = load_diabetes(scaled=False)
    return table(data.data, label=data.target)
