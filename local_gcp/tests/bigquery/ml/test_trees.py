"""BOOSTED_TREE_*: agreement with scikit-learn, and options that have their effect."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from .conftest import table, train

NO_SPLIT = {"data_split_method": "NO_SPLIT"}
SAME = {
    "learning_rate": 0.3,
    "max_iter": 20,
    "max_depth": 6,
    "max_leaf_nodes": None,
    "min_samples_leaf": 1,
    "l2_regularization": 1.0,
    "early_stopping": False,
}


def features(rows):
    return np.column_stack([rows[n].to_numpy() for n in rows.column_names if n.startswith("x")])


def test_a_classifier_agrees_with_scikit_learn(cancer):
    rows = cancer.drop_columns(["held"])
    model = train(rows, "BOOSTED_TREE_CLASSIFIER", early_stop=False, **NO_SPLIT)
    y = rows["label"].to_numpy(zero_copy_only=False)
    direct = HistGradientBoostingClassifier(**SAME).fit(features(rows), y)
    expected = direct.predict_proba(features(rows))[:, 1]
    assert model.positive(rows) == pytest.approx(expected, abs=1e-6)


def test_a_regressor_agrees_with_scikit_learn(diabetes):
    model = train(diabetes, "BOOSTED_TREE_REGRESSOR", early_stop=False, **NO_SPLIT)
    direct = HistGradientBoostingRegressor(**SAME).fit(
        features(diabetes), diabetes["label"].to_numpy()
    )
    found = model.ask("PREDICT", diabetes)["predicted_label"].to_numpy()
    assert found == pytest.approx(direct.predict(features(diabetes)), rel=1e-6)


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
    assert model.trained.predictor.estimator.n_iter_ == len(iterations)
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


def test_importance_counts_splits_and_averages_gain_and_rows(cancer):
    rows = cancer.drop_columns(["held"])
    options = {"max_iterations": 1, "max_tree_depth": 1, **NO_SPLIT}
    model = train(rows, "BOOSTED_TREE_CLASSIFIER", **options)
    found = model.ask("FEATURE_IMPORTANCE").to_pylist()
    assert [row["feature"] for row in found] == [f"x{i}" for i in range(30)]
    (split,) = (row for row in found if row["importance_weight"])
    assert split["importance_weight"] == 1
    assert split["importance_cover"] == 569
    assert split["importance_gain"] > 0
