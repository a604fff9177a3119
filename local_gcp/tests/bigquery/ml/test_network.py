"""DNN_*: learns, with BigQuery's default shape, and its options have their effect."""

import numpy as np
import pyarrow as pa
import pytest

from .conftest import train

NO_SPLIT = {"data_split_method": "NO_SPLIT"}


def test_a_classifier_learns(cancer):
    model = train(
        cancer,
        "DNN_CLASSIFIER",
        hidden_units=[16, 8],
        learn_rate=0.01,
        data_split_method="CUSTOM",
        data_split_col="held",
    )
    assert model.first("EVALUATE")["roc_auc"] > 0.98
    assert [c.shape for c in model.trained.predictor.estimator.coefs_] == [
        (30, 16),
        (16, 8),
        (8, 1),
    ]


def test_a_regressor_predicts_in_the_labels_unit(diabetes):
    options = {"hidden_units": [32], "learn_rate": 0.01, "max_iterations": 60}
    model = train(diabetes, "DNN_REGRESSOR", **options, **NO_SPLIT)
    found = model.first("EVALUATE")
    assert found["r2_score"] > 0.5
    assert found["mean_squared_error"] == pytest.approx(model.trained.iterations[-1].loss)


@pytest.mark.parametrize(
    ("kind", "labels"), [("CLASSIFIER", list("aabbbbbb")), ("REGRESSOR", [1.0, 3.0] * 4)]
)
def test_of_a_feature_without_any_value_the_labels_alone_are_learned(kind, labels):
    """Such a feature has no categories, and so the matrix has no column."""
    rows = pa.table({"c": pa.array([None] * 8, pa.list_(pa.int64())), "label": labels})
    options = {"learn_rate": 0.1, "max_iterations": 50, "early_stop": False, **NO_SPLIT}
    model = train(rows, f"DNN_{kind}", **options)
    (found,) = set(model.ask("PREDICT", rows.drop("label"))["predicted_label"].to_pylist())
    assert found == "b" if kind == "CLASSIFIER" else found == pytest.approx(2, abs=0.2)


def test_the_default_layer_is_bigquerys(iris):
    # min(128, 150 rows / (10 * (4 inputs + 3 outputs)))
    model = train(iris, "DNN_CLASSIFIER", **NO_SPLIT)
    assert [c.shape for c in model.trained.predictor.estimator.coefs_] == [(4, 2), (2, 3)]


@pytest.mark.parametrize(
    "option",
    [
        {"activation_fn": "TANH"},
        {"batch_size": 8},
        {"optimizer": "SGD", "learn_rate": 0.1},
        {"learn_rate": 0.05},
        {"auto_class_weights": True},
    ],
    ids=lambda option: next(iter(option)),
)
def test_every_option_has_an_effect(cancer, option):
    rows = cancer.drop_columns(["held"])
    options = {"hidden_units": [4], "max_iterations": 5, **NO_SPLIT}
    plain = train(rows, "DNN_CLASSIFIER", **options)
    other = train(rows, "DNN_CLASSIFIER", **options, **option)
    assert np.abs(plain.positive(rows) - other.positive(rows)).max() > 0.01


def test_l2_shrinks_the_weights_of_plain_gradient_descent(cancer):
    options = {"hidden_units": [4], "optimizer": "SGD", "learn_rate": 0.1, "early_stop": False}
    small, large = (
        train(cancer.drop_columns(["held"]), "DNN_CLASSIFIER", l2_reg=l2, **options, **NO_SPLIT)
        for l2 in (0, 30)
    )
    sizes = [np.abs(m.trained.predictor.estimator.coefs_[0]).sum() for m in (small, large)]
    assert sizes[1] < 0.8 * sizes[0]
