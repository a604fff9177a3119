"""ML.WEIGHTS, TRAINING_INFO, FEATURE_INFO: what a model says of itself."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

from .conftest import train

NO_SPLIT = {"data_split_method": "NO_SPLIT"}


def weights(model, **arguments):
    return {row["processed_input"]: row for row in model.ask("WEIGHTS", **arguments).to_pylist()}


def test_weights_are_those_of_the_columns_as_they_came(cancer):
    rows = cancer.drop_columns(["held"])
    model = train(rows, "LOGISTIC_REG", **NO_SPLIT)
    found = model.ask("WEIGHTS")
    assert found.column_names == ["processed_input", "weight", "category_weights"]
    pair = pa.struct([("category", pa.string()), ("weight", pa.float64())])
    assert found["category_weights"].type == pa.list_(pair)
    by_name = weights(model)
    assert list(by_name) == [f"x{i}" for i in range(30)] + ["__INTERCEPT__"]
    margin = by_name["__INTERCEPT__"]["weight"] + sum(
        by_name[f"x{i}"]["weight"] * rows[f"x{i}"].to_numpy() for i in range(30)
    )
    assert expit(margin) == pytest.approx(model.positive(rows), abs=1e-9)


def test_standardised_weights_are_comparable(cancer):
    rows = cancer.drop_columns(["held"])
    model = train(rows, "LOGISTIC_REG", **NO_SPLIT)
    plain, standard = weights(model), weights(model, standardize=True)
    spread = rows["x3"].to_numpy().std()
    assert standard["x3"]["weight"] == pytest.approx(plain["x3"]["weight"] * spread)


@pytest.mark.parametrize("encoding", ["ONE_HOT_ENCODING", "DUMMY_ENCODING"])
def test_categories_have_weights_of_their_own(encoding):
    rows = pa.table({"word": ["a", "b", "b", None] * 50, "label": [1.0, 2.0, 2.0, 6.0] * 50})
    model = train(rows, "LINEAR_REG", category_encoding_method=encoding, **NO_SPLIT)
    row = weights(model)["word"]
    assert row["weight"] is None
    by_category = {c["category"]: c["weight"] for c in row["category_weights"]}
    intercept = weights(model)["__INTERCEPT__"]["weight"]
    assert {c: w + intercept for c, w in by_category.items()} == pytest.approx(
        {"a": 1, "b": 2, "_null_filler": 6}
    )
    if encoding == "DUMMY_ENCODING":
        assert by_category["b"] == 0


def test_many_classes_have_a_row_each(iris):
    found = train(iris, "LOGISTIC_REG").ask("WEIGHTS")
    assert found.column_names[-1] == "class_label"
    inputs = ["x0", "x1", "x2", "x3", "__INTERCEPT__"]
    expected = [(name, label) for label in ("0", "1", "2") for name in inputs]
    pairs = zip(found["processed_input"], found["class_label"], strict=True)
    assert [(a.as_py(), b.as_py()) for a, b in pairs] == expected


def test_training_info(cancer):
    split = {"data_split_method": "CUSTOM", "data_split_col": "held"}
    found = train(cancer, "LOGISTIC_REG", **split).ask("TRAINING_INFO")
    assert found.column_names == [
        "training_run",
        "iteration",
        "loss",
        "eval_loss",
        "learning_rate",
        "duration_ms",
    ]
    assert found["iteration"].to_pylist() == list(range(len(found)))[::-1]
    assert set(found["training_run"].to_pylist()) == {0}
    assert found["eval_loss"].null_count == 0
    alone = train(cancer.drop_columns(["held"]), "LOGISTIC_REG", **NO_SPLIT).ask("TRAINING_INFO")
    assert alone["eval_loss"].null_count == len(alone)


def test_feature_info_is_of_the_training_rows():
    rows = pa.table(
        {
            "number": [1.0, 2.0, 6.0, None, 1000.0],
            "word": ["a", "b", "b", None, "held"],
            "vector": [[1.0, 2.0]] * 5,
            "label": [1, 2, 3, 4, 5],
            "held": [False] * 4 + [True],
        }
    )
    split = {"data_split_method": "CUSTOM", "data_split_col": "held"}
    found = train(rows, "LINEAR_REG", **split).ask("FEATURE_INFO").to_pylist()
    assert [row["input"] for row in found] == ["number", "word", "vector"]
    number, word, vector = found
    assert (number["min"], number["max"], number["mean"], number["median"]) == (1, 6, 3, 2)
    assert number["stddev"] == pytest.approx(np.std([1, 2, 6]))
    assert number["null_count"] == 1
    assert number["category_count"] is None
    assert (word["category_count"], word["null_count"], word["mean"]) == (2, 1, None)
    assert vector["dimension"] == 2
