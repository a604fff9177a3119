"""BigQuery ML's models as emulated, against scikit-learn and XGBoost on the same rows.

Each model learns from 70 % of a data set and is scored on the rest, three times. The
references have BigQuery ML's documented defaults. `pytest -s` prints the scores.
"""

import numpy as np
import pytest
import xgboost
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .conftest import table, train

CLASSES = {"breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
NUMBERS = {"diabetes": load_diabetes, "digits as a number": load_digits, "wine's ash": load_wine}
ALL_ROWS = {"data_split_method": "NO_SPLIT", "early_stop": False}


def scores(data, model_type, reference, **options):
    """(mean held-out score as emulated, the reference's): accuracy, or R2 of a regression."""
    x, y = data
    classifies = model_type.endswith(("CLASSIFIER", "LOGISTIC_REG"))
    score = accuracy_score if classifies else r2_score
    found = []
    for seed in range(3):
        parts = train_test_split(
            x, y, test_size=0.3, random_state=seed, stratify=y if classifies else None
        )
        x_train, x_test, y_train, y_test = parts
        model = train(table(x_train, label=y_train), model_type, **ALL_ROWS, **options)
        ours = model.ask("PREDICT", table(x_test))["predicted_label"].to_numpy()
        theirs = reference().fit(x_train, y_train).predict(x_test)
        found.append([score(y_test, ours), score(y_test, theirs)])
    mean = np.mean(found, axis=0)
    print(f"\n{model_type}: emulated {mean[0]:.4f}, reference {mean[1]:.4f}")
    return mean


def classes(name):
    return CLASSES[name](return_X_y=True)


def numbers(name):
    x, y = NUMBERS[name](return_X_y=True)
    if name == "wine's ash":  # one of the columns by the others
        x, y = np.delete(x, 2, axis=1), x[:, 2]
    return x, y.astype(float)


def boosted(kind):
    """XGBoost with the defaults of CREATE MODEL for boosted trees."""
    return lambda: kind(
        n_estimators=20, learning_rate=0.3, max_depth=6, reg_lambda=1, tree_method="exact",
        base_score=0.5, n_jobs=1
    )  # fmt: skip


def network(kind):
    return make_pipeline(
        StandardScaler(),
        kind(hidden_layer_sizes=(32,), batch_size=32, max_iter=200, n_iter_no_change=200,
             random_state=0),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_boosted_classifiers(name):
    ours, xgb = scores(classes(name), "BOOSTED_TREE_CLASSIFIER", boosted(xgboost.XGBClassifier))
    assert ours == pytest.approx(xgb, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_boosted_regressors(name):
    ours, xgb = scores(numbers(name), "BOOSTED_TREE_REGRESSOR", boosted(xgboost.XGBRegressor))
    assert ours == pytest.approx(xgb, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_logistic_regressions(name):
    def reference():
        return make_pipeline(StandardScaler(), LogisticRegression(C=1, max_iter=5000))

    ours, sklearn = scores(classes(name), "LOGISTIC_REG", reference, l2_reg=1, max_iterations=200)
    assert ours == pytest.approx(sklearn, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_linear_regressions(name):
    ours, sklearn = scores(numbers(name), "LINEAR_REG", LinearRegression)
    assert ours == pytest.approx(sklearn, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_dnn_classifiers(name):
    options = {"hidden_units": [32], "batch_size": 32, "max_iterations": 200}
    ours, sklearn = scores(
        classes(name), "DNN_CLASSIFIER", lambda: network(MLPClassifier), **options
    )
    assert ours == pytest.approx(sklearn, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_dnn_regressors(name):
    def reference():
        return TransformedTargetRegressor(network(MLPRegressor), transformer=StandardScaler())

    options = {"hidden_units": [32], "batch_size": 32, "max_iterations": 200}
    ours, sklearn = scores(numbers(name), "DNN_REGRESSOR", reference, **options)
    assert ours == pytest.approx(sklearn, abs=0.05)
