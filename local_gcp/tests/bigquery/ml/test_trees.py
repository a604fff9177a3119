"""BOOSTED_TREE_*: agreement with XGBoost called directly, and options that have their effect."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from .conftest import table, train

NO_SPLIT = {"data_split_method": "NO_SPLIT"}
# BigQuery ML's documented defaults, and those of XGBoost 0.9 that today's release changed.
DOCUMENTED = {
    "n_estimators": 20,
    "learning_rate": 0.3,
    "max_depth": 6,
    "min_child_weight": 1,
    "reg_alpha": 0,
    "reg_lambda": 1,
    "gamma": 0,
    "subsample": 1,
    "colsample_bytree": 1,
    "tree_method": "exact",
    "base_score": 0.5,
    "n_jobs": 1,
}


def imbalanced(**_):
    """1,000 rows with noise, one in eight positive."""
    random = np.random.default_rng(3)
    x = random.normal(size=(1000, 12))
    chance = x[:, 0] - x[:, 1] * x[:, 2] + random.normal(size=1000)
    return x, (chance > np.quantile(chance, 0.875)).astype(np.int64)


@pytest.mark.parametrize(
    "load",
    [
        load_breast_cancer,
        load_wine,
        pytest.param(load_digits, marks=pytest.mark.slow),  # ten classes of 1,797 rows
        load_iris,
        imbalanced,
    ],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_a_classifier_is_that_of_xgboost(load, weighted):
    x, y = load(return_X_y=True)
    model = train(
        table(x, label=y),
        "BOOSTED_TREE_CLASSIFIER",
        early_stop=False,
        auto_class_weights=weighted,
        **NO_SPLIT,
    )
    weights = (len(y) / (np.bincount(y) * len(np.unique(y))))[y] if weighted else np.ones(len(y))
    direct = xgboost.XGBClassifier(**DOCUMENTED).fit(x, y, sample_weight=weights)
    found = model.ask("PREDICT", table(x))["predicted_label_probs"].to_pylist()
    found = [[p["prob"] for p in sorted(row, key=lambda p: p["label"])] for row in found]
    # Sums of floats in another order of rows choose another of two splits that are equally good.
    assert np.abs(np.array(found) - direct.predict_proba(x)).mean() < 0.002


@pytest.mark.parametrize("load", [load_diabetes, load_digits, load_wine])
def test_a_regressor_is_that_of_xgboost(load):
    x, y = load(return_X_y=True)
    y = y.astype(float)
    model = train(table(x, label=y), "BOOSTED_TREE_REGRESSOR", early_stop=False, **NO_SPLIT)
    direct = xgboost.XGBRegressor(**DOCUMENTED).fit(x, y)
    found = model.ask("PREDICT", table(x))["predicted_label"].to_numpy()
    assert np.abs(found - direct.predict(x)).mean() < 0.002 * y.std()


def test_a_first_prediction_is_one_half(diabetes):
    model = train(
        diabetes, "BOOSTED_TREE_REGRESSOR", max_iterations=1, min_split_loss=1e12, l2_reg=0.0,
        learn_rate=1e-9, **NO_SPLIT
    )  # fmt: skip
    found = model.ask("PREDICT", diabetes)["predicted_label"].to_numpy()
    assert found == pytest.approx(np.full(diabetes.num_rows, 0.5), abs=1e-4)


def test_losses_have_the_classes_weights_and_count_from_1(cancer):
    """Check against a recorded training: both losses weighted, the first iteration is 1."""
    rows = cancer.drop_columns(["held"])
    model = train(rows, "BOOSTED_TREE_CLASSIFIER", auto_class_weights=True, max_iterations=2)
    trained = model.trained
    assert [i.index for i in trained.iterations] == [1, 2]
    labels, scores = trained.evaluated
    shares = np.bincount(labels) / len(labels)
    evaluated = -np.log(scores[np.arange(len(labels)), labels])
    balanced = np.mean([evaluated[labels == c].mean() for c in (0, 1)])
    assert len(labels) == trained.rows["evaluation"]
    assert trained.iterations[-1].eval_loss == pytest.approx(balanced, rel=0.03)
    assert model.first("EVALUATE")["log_loss"] == pytest.approx(evaluated.mean())
    assert shares.min() < 0.45


def test_early_stopping_looks_at_the_rows_held_back(cancer):
    model = train(
        cancer,
        "BOOSTED_TREE_CLASSIFIER",
        max_iterations=30,
        data_split_method="CUSTOM",
        data_split_col="held",
    )
    iterations = model.trained.iterations
    assert len(iterations) < 30
    assert model.trained.predictor.booster.num_boosted_rounds() == len(iterations)
    last, before = iterations[-1].eval_loss, iterations[-2].eval_loss
    assert before - last < 0.01 * before
    assert model.first("EVALUATE")["log_loss"] == pytest.approx(last)
    # The trees are those of a training that was asked for no more.
    short = train(
        cancer,
        "BOOSTED_TREE_CLASSIFIER",
        max_iterations=len(iterations),
        data_split_method="CUSTOM",
        data_split_col="held",
    )
    assert (model.positive(cancer) == short.positive(cancer)).all()


FEW = ["x0", "x1", "x2", "x3", "label"]
SHORT = {"early_stop": False, "max_iterations": 8, **NO_SPLIT}


@pytest.fixture(scope="module")
def plain(cancer):
    return train(cancer.select(FEW), "BOOSTED_TREE_CLASSIFIER", **SHORT)


@pytest.mark.parametrize(
    "option",
    [
        {"l2_reg": 100.0},
        {"max_tree_depth": 1},
        {"min_tree_child_weight": 60},
        {"learn_rate": 0.05},
        {"max_iterations": 2},
        {"auto_class_weights": True},
        {"colsample_bynode": 0.25},
        {"colsample_bytree": 0.25},
        {"colsample_bylevel": 0.25},
        {"subsample": 0.3},
        {"l1_reg": 5.0},
        {"min_split_loss": 5.0},
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"booster_type": "DART", "dropout": 0.5},
    ],
    ids=lambda option: next(iter(option)),
)
def test_every_option_has_an_effect(cancer, plain, option):
    rows = cancer.select(FEW)
    other = train(rows, "BOOSTED_TREE_CLASSIFIER", **{**SHORT, **option})
    assert np.abs(plain.positive(rows) - other.positive(rows)).max() > 0.01


@pytest.mark.parametrize("encoding", ["LABEL_ENCODING", "ONE_HOT_ENCODING"])
def test_categories_are_learned_and_unseen_ones_predicted(encoding):
    words = np.array(["a", "b", "c"])[np.arange(300) % 3]
    rows = table(np.zeros((300, 1)), word=words, label=words == "b")
    model = train(rows, "BOOSTED_TREE_CLASSIFIER", category_encoding_method=encoding, **NO_SPLIT)
    assert model.first("EVALUATE")["accuracy"] == 1
    unseen = table(np.zeros((2, 1)), word=["b", "new"])
    assert model.positive(unseen)[0] > 0.9
    important = model.ask("FEATURE_IMPORTANCE").to_pylist()
    weights = {row["feature"]: row["importance_weight"] for row in important}
    assert weights["x0"] == 0 < weights["word"]


def test_a_feature_without_any_value_leaves_trees_without_splits():
    """Such a feature has no categories, and so the matrix has no column."""
    rows = pa.table({"c": pa.array([None] * 8, pa.list_(pa.int64())), "label": list("aabbbbbb")})
    model = train(rows, "BOOSTED_TREE_CLASSIFIER", early_stop=False, **NO_SPLIT)
    found = model.ask("PREDICT", rows.drop("label"))["predicted_label"].to_pylist()
    assert found == ["b"] * 8


def test_importance_counts_splits_and_averages_gain_and_rows(cancer):
    rows = cancer.drop_columns(["held"])
    options = {"max_iterations": 1, "max_tree_depth": 1, **NO_SPLIT}
    model = train(rows, "BOOSTED_TREE_CLASSIFIER", **options)
    found = model.ask("FEATURE_IMPORTANCE").to_pylist()
    assert [row["feature"] for row in found] == [f"x{i}" for i in range(30)]
    (split,) = (row for row in found if row["importance_weight"])
    assert split["importance_weight"] == 1
    assert split["importance_cover"] == pytest.approx(569 / 4)  # the sum of p (1 - p), p = 0.5
    assert split["importance_gain"] > 0


def test_a_model_is_stored_and_read(cancer):
    model = train(cancer.select(FEW), "BOOSTED_TREE_CLASSIFIER", **SHORT).trained.predictor
    assert pickle.loads(pickle.dumps(model)).scores(np.zeros((1, 4))).shape == (1, 2)
