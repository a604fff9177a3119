"""LOGISTIC_REG and LINEAR_REG against scikit-learn fitted directly on the same rows."""

import itertools

import numpy as np
import pyarrow.compute as pc
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .conftest import table, train

ALL = {"data_split_method": "NO_SPLIT"}
TO_THE_END = {**ALL, "early_stop": False, "max_iterations": 500}


def features(rows):
    names = [n for n in rows.column_names if n.startswith("x")]
    return np.column_stack([rows[n].to_numpy() for n in names])


def standardized(rows):
    return StandardScaler().fit_transform(features(rows))


@pytest.mark.parametrize("weights", [None, "balanced"])
def test_binary_agrees_with_scikit_learn(cancer, weights):
    rows = cancer.drop_columns(["held"])
    model = train(rows, "LOGISTIC_REG", l2_reg=10, auto_class_weights=bool(weights), **TO_THE_END)
    x, y = standardized(rows), rows["label"].to_numpy(zero_copy_only=False) == "malignant"
    direct = LogisticRegression(C=1 / 10, class_weight=weights, tol=1e-8, max_iter=10_000)
    expected = direct.fit(x, y).predict_proba(x)[:, 1]
    assert np.abs(model.positive(rows) - expected).max() < 1e-3


def test_multiclass_agrees_with_scikit_learn(iris):
    model = train(iris, "LOGISTIC_REG", l2_reg=5, **TO_THE_END)
    x, y = standardized(iris), iris["label"].to_numpy()
    expected = LogisticRegression(C=1 / 5, tol=1e-8, max_iter=10_000).fit(x, y).predict_proba(x)
    for probabilities, wanted in zip(
        model.ask("PREDICT", iris)["predicted_label_probs"].to_pylist(), expected, strict=True
    ):
        found = {p["label"]: p["prob"] for p in probabilities}
        assert [found[c] for c in range(3)] == pytest.approx(wanted, abs=1e-3)


def test_l1_agrees_with_scikit_learn_and_removes_features(cancer):
    rows = cancer.drop_columns(["held"])
    model = train(rows, "LOGISTIC_REG", l1_reg=20, **TO_THE_END)
    x, y = standardized(rows), rows["label"].to_numpy(zero_copy_only=False) == "malignant"
    direct = LogisticRegression(
        l1_ratio=1, C=1 / 20, solver="saga", tol=1e-7, max_iter=20_000, random_state=0
    ).fit(x, y)
    assert np.abs(model.positive(rows) - direct.predict_proba(x)[:, 1]).max() < 5e-3
    own = model.trained.predictor.weights[:, 0] != 0
    assert (own == (direct.coef_[0] != 0)).all()
    assert 0 < own.sum() < 30


def test_the_defaults_stop_early_and_still_rank_as_well_as_scikit_learn(cancer):
    model = train(cancer, "LOGISTIC_REG", data_split_method="CUSTOM", data_split_col="held")
    held = cancer["held"].to_numpy(zero_copy_only=False)
    x, y = standardized(cancer), cancer["label"].to_numpy(zero_copy_only=False) == "malignant"
    direct = LogisticRegression().fit(x[~held], y[~held]).predict_proba(x[held])[:, 1]
    assert len(model.trained.iterations) < 20
    own = model.positive(cancer)[held]
    assert roc_auc_score(y[held], own) > roc_auc_score(y[held], direct) - 0.005


def test_each_iteration_of_the_line_search_takes_the_best_of_four_rates(cancer):
    model = train(cancer.drop_columns(["held"]), "LOGISTIC_REG", **ALL)
    rates = [i.learn_rate for i in model.trained.iterations]
    ratios = np.divide(rates, [0.1, *rates[:-1]])
    assert set(ratios) <= {2.0, 1.0, 0.5, 0.25}
    losses = [i.loss for i in model.trained.iterations]
    assert losses == sorted(losses, reverse=True)


def test_a_constant_rate_is_kept_and_decides_how_far_training_gets(cancer):
    rows = cancer.drop_columns(["held"])
    slow, fast = (
        train(rows, "LOGISTIC_REG", learn_rate_strategy="CONSTANT", learn_rate=rate, **ALL).trained
        for rate in (0.01, 1.0)
    )
    assert {i.learn_rate for i in slow.iterations} == {0.01}
    assert slow.iterations[-1].loss > 2 * fast.iterations[-1].loss


def test_early_stopping_ends_after_the_first_iteration_with_too_little_progress(cancer):
    rows = cancer.drop_columns(["held"])
    losses = [
        i.loss
        for i in train(
            rows, "LOGISTIC_REG", min_rel_progress=0.1, max_iterations=100, **ALL
        ).trained.iterations
    ]
    progress = [1 - after / before for before, after in itertools.pairwise(losses)]
    assert all(p >= 0.1 for p in progress[:-1])
    assert progress[-1] < 0.1


@pytest.mark.parametrize("l2", [0, 30])
def test_linear_regression_solves_the_normal_equation(diabetes, l2):
    model = train(diabetes, "LINEAR_REG", l2_reg=l2, **ALL)
    x, y = standardized(diabetes), diabetes["label"].to_numpy()
    expected = (Ridge(alpha=l2) if l2 else LinearRegression()).fit(x, y).predict(x)
    found = model.ask("PREDICT", diabetes)["predicted_label"].to_numpy()
    assert found == pytest.approx(expected)
    (only,) = model.trained.iterations
    assert only.learn_rate is None


def test_gradient_descent_of_a_linear_regression_arrives_at_the_same_weights(diabetes):
    descent = train(
        diabetes, "LINEAR_REG", optimize_strategy="BATCH_GRADIENT_DESCENT", l2_reg=30, **TO_THE_END
    )
    solved = train(diabetes, "LINEAR_REG", l2_reg=30, **ALL)
    assert len(descent.trained.iterations) > 1
    assert descent.trained.predictor.weights == pytest.approx(
        solved.trained.predictor.weights, abs=0.05
    )


def test_few_rows_or_l1_are_reasons_for_gradient_descent(diabetes):
    few = train(diabetes.slice(0, 60), "LINEAR_REG", **ALL)
    assert len(few.trained.iterations) > 1
    assert len(train(diabetes, "LINEAR_REG", l1_reg=0.1, **ALL).trained.iterations) > 1


def test_without_an_intercept_there_is_none(diabetes):
    for strategy in ("NORMAL_EQUATION", "BATCH_GRADIENT_DESCENT"):
        model = train(
            diabetes, "LINEAR_REG", fit_intercept=False, optimize_strategy=strategy, **ALL
        )
        assert model.trained.predictor.intercept == 0


def test_class_weights_move_the_probabilities(cancer):
    rows = cancer.drop_columns(["held"])
    plain = train(rows, "LOGISTIC_REG", **ALL).positive(rows).mean()
    heavy = train(rows, "LOGISTIC_REG", class_weights=[("benign", 1.0), ("malignant", 20.0)], **ALL)
    assert heavy.positive(rows).mean() > plain + 0.02


def test_the_order_of_rows_does_not_matter(cancer):
    shuffled = cancer.take(np.random.default_rng(1).permutation(len(cancer)))
    one, other = (train(rows, "LOGISTIC_REG").trained for rows in (cancer, shuffled))
    assert (one.predictor.weights == other.predictor.weights).all()
    assert one.rows == {"training": 455, "evaluation": 114}


def test_a_constant_feature_has_no_weight(iris):
    x = np.column_stack([features(iris), np.full(len(iris), 7.0)])
    model = train(table(x, label=iris["label"]), "LOGISTIC_REG", **ALL)
    assert (model.trained.predictor.weights[4] == 0).all()


def categories(rows, **columns):
    """The rows with a category of each seventh, ninth ... part."""
    for name, parts in columns.items():
        rows = rows.append_column(name, [[f"{name}{i * i % parts}" for i in range(len(rows))]])
    return rows


def one_hot(rows, *names):
    """Standardised numbers, and one column for each category, as BigQuery ML has them."""
    encoder = OneHotEncoder(sparse_output=False)
    chosen = np.column_stack([rows[name].to_numpy() for name in names])
    return np.hstack([standardized(rows), encoder.fit_transform(chosen)])


@pytest.mark.parametrize("columns", [{"a": 2}, {"a": 7}, {"a": 5, "b": 11, "c": 23}])
@pytest.mark.parametrize("l2", [0, 1e-6, 30])
@pytest.mark.parametrize("category", ["ONE_HOT_ENCODING", "DUMMY_ENCODING"])
def test_linear_regression_with_categories(diabetes, columns, l2, category):
    plain = diabetes.select([n for n in diabetes.column_names if n != "x1"])
    rows = categories(plain, **columns)
    model = train(rows, "LINEAR_REG", l2_reg=l2, category_encoding_method=category, **ALL)
    found = model.ask("PREDICT", rows)["predicted_label"].to_numpy()
    assert np.abs(model.trained.predictor.weights).max() < 1000
    if l2 and category == "DUMMY_ENCODING":
        return  # which category is left out decides what is regularised
    x, y = one_hot(rows, *columns), rows["label"].to_numpy()
    # Without regularisation many weights predict the same: least norm, as gelsd finds it.
    direct = Ridge(alpha=l2, solver="cholesky") if l2 else LinearRegression()
    assert found == pytest.approx(direct.fit(x, y).predict(x), rel=1e-6, abs=1e-4)


def test_logistic_regression_with_categories(cancer):
    rows = categories(cancer.drop_columns(["held"]), a=5, b=11)
    model = train(rows, "LOGISTIC_REG", l2_reg=10, **TO_THE_END)
    y = rows["label"].to_numpy(zero_copy_only=False) == "malignant"
    x = one_hot(rows, "a", "b")
    expected = LogisticRegression(C=1 / 10, tol=1e-8, max_iter=10_000).fit(x, y).predict_proba(x)
    assert np.abs(model.positive(rows) - expected[:, 1]).max() < 2e-3


def test_linear_regression_with_columns_that_depend_on_each_other(diabetes):
    x = features(diabetes)
    twice = table(np.hstack([x, x[:, :3], np.full((len(x), 1), 5.0)]), label=diabetes["label"])
    model = train(twice, "LINEAR_REG", **ALL)
    expected = LinearRegression().fit(x, diabetes["label"].to_numpy()).predict(x)
    assert model.ask("PREDICT", twice)["predicted_label"].to_numpy() == pytest.approx(expected)
    assert np.abs(model.trained.predictor.weights).max() < 1000


@pytest.mark.parametrize("model_type", ["LOGISTIC_REG", "DNN_CLASSIFIER"])
@pytest.mark.parametrize("positive", [0.01, 0.2])
def test_class_weights_decide_when_a_training_stops_not_the_reported_losses(model_type, positive):
    """Check against a recorded training with AUTO_CLASS_WEIGHTS, whose last losses are
    ML.EVALUATE's.
    """
    random = np.random.default_rng(7)
    x = random.normal(size=(4000, 6))
    margin = x[:, 0] + 0.5 * x[:, 1] + random.normal(size=4000)
    rows = table(x, label=margin > np.quantile(margin, 1 - positive), held=np.arange(4000) % 4 == 0)
    model = train(
        rows,
        model_type,
        auto_class_weights=True,
        data_split_method="CUSTOM",
        data_split_col="held",
    )
    held, last = rows.filter(rows["held"]), model.trained.iterations[-1]
    learned = rows.filter(pc.invert(rows["held"]))
    assert last.eval_loss == pytest.approx(model.first("EVALUATE", held)["log_loss"])
    assert last.loss == pytest.approx(model.first("EVALUATE", learned)["log_loss"])
    scores = model.positive(held)
    y = held["label"].to_numpy(zero_copy_only=False)
    best = LogisticRegression(class_weight="balanced").fit(
        np.column_stack([learned[f"x{i}"] for i in range(6)]), learned["label"].to_numpy(False)
    )
    reached = best.predict_proba(np.column_stack([held[f"x{i}"] for i in range(6)]))[:, 1]
    assert roc_auc_score(y, scores) > roc_auc_score(y, reached) - 0.03
    # Balanced, about as many rows of each class are found: not one class for all.
    assert (scores[y] > 0.5).mean() > 0.5
    assert (scores[~y] < 0.5).mean() > 0.5
