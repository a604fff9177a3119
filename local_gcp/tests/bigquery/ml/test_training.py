"""From rows to a model: labels, what cannot be learned from, and that nothing leaks."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_gcp.bigquery.errors import BigQueryError

from .conftest import table, train

CUSTOM = {"data_split_method": "CUSTOM", "data_split_col": "held"}


def refused(rows, model_type="LOGISTIC_REG", **given):
    with pytest.raises(BigQueryError) as caught:
        train(rows, model_type, **given)
    assert caught.value.reason == "invalidQuery"
    return caught.value.message


SUPERVISED = [
    "LOGISTIC_REG",
    "LINEAR_REG",
    "BOOSTED_TREE_CLASSIFIER",
    "BOOSTED_TREE_REGRESSOR",
    "DNN_CLASSIFIER",
    "DNN_REGRESSOR",
]


@pytest.mark.parametrize("model_type", SUPERVISED)
@given(data=st.data())
@settings(max_examples=4)
def test_evaluation_rows_never_enter_fitting_or_preprocessing(model_type, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    x = rng.normal(size=(60, 2))
    held = np.arange(60) % 3 == 0
    label = (x[:, 0] > 0).astype(np.int64)

    def model(change):
        c = np.where(held & change, "only here", np.where(x[:, 1] > 0, "a", "b"))
        changed = x + 1000.0 * (held & change)[:, None]
        labels = np.where(held & change, 1 - label, label)
        rows = table(changed, c=c, label=labels, held=held)
        return train(rows, model_type, early_stop=False, max_iterations=3, **CUSTOM)

    one, other = model(np.zeros(60, bool)), model(np.ones(60, bool))
    probe = table(x, c=np.where(x[:, 1] > 0, "a", "b"))
    assert one.trained.encoder == other.trained.encoder
    assert one.ask("PREDICT", probe).equals(other.ask("PREDICT", probe))
    assert one.trained.evaluation != other.trained.evaluation
    assert one.trained.rows == {"training": 40, "evaluation": 20}


def test_the_label_must_be_there():
    assert refused(pa.table({"a": [1.0], "b": [1.0]})) == (
        "Unable to identify the label column in query statement. Either specify the label column "
        "using OPTIONS(input_label_cols=['your_label_col']) or name the label column in the data "
        "as 'label'."
    )


def test_a_constant_label_is_refused():
    rows = pa.table({"a": [1.0, 2.0, 3.0], "label": ["x", "x", None]})
    assert "only 1 unique label" in refused(rows)


def test_two_labels_of_which_one_is_only_held_back_are_one():
    rows = pa.table({"a": [1.0, 2.0, 3.0], "label": ["x", "x", "y"], "held": [False, False, True]})
    assert "only 1 unique label" in refused(rows, **CUSTOM)


def test_more_than_50_labels_are_refused():
    rows = pa.table({"a": np.arange(102.0), "label": np.arange(102) % 51})
    assert "had 51 unique labels" in refused(rows)


def test_no_rows_and_no_labelled_rows_are_refused():
    rows = pa.table({"a": [1.0, 2.0], "label": pa.array([None, None], pa.string())})
    for empty in (rows, rows.slice(0, 0)):
        assert "doesn't contain any rows" in refused(empty)


def test_rows_with_null_labels_are_not_used():
    x = np.arange(20.0)
    label = pa.array([None if i % 4 == 0 else i * 2.0 for i in range(20)])
    model = train(pa.table({"a": x, "label": label}), "LINEAR_REG", data_split_method="NO_SPLIT")
    assert model.trained.rows["training"] == 15
    predicted = model.ask("PREDICT", pa.table({"a": [4.0]}))["predicted_label"][0].as_py()
    assert predicted == pytest.approx(8)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_label_that_is_no_number_is_refused(bad):
    rows = pa.table({"a": [1.0, 2.0], "label": [1.0, bad]})
    assert "label contains NaN or infinite values" in refused(rows, "LINEAR_REG")


def test_a_regression_needs_numbers_and_a_classification_no_arrays():
    assert "STRING" in refused(pa.table({"a": [1.0], "label": ["x"]}), "LINEAR_REG")
    assert "ARRAY<INT64>" in refused(pa.table({"a": [1.0], "label": [[1]]}))


def test_a_model_without_features_is_refused():
    assert "no feature column" in refused(pa.table({"label": ["x", "y"]}))


def test_class_weights_must_name_every_label():
    rows = pa.table({"a": [1.0, 2.0], "label": [True, False]})
    assert "['false', 'true']" in refused(rows, class_weights=[("true", 2.0)])
    train(rows, "LOGISTIC_REG", class_weights=[("true", 2.0), ("false", 1.0)])


@pytest.mark.parametrize(
    ("labels", "type_"),
    [
        ([0, 1], pa.int64()),
        ([False, True], pa.bool_()),
        (["no", "yes"], pa.string()),
        ([0.5, 1.5], pa.float64()),
    ],
)
def test_predictions_have_the_labels_type(labels, type_):
    rows = pa.table({"a": [1.0, 2.0] * 10, "Class": labels * 10})
    model = train(rows, "LOGISTIC_REG", input_label_cols=["class"])
    found = model.ask("PREDICT", rows)
    assert found["predicted_Class"].type == type_
    assert found["predicted_Class"].to_pylist() == labels * 10


def test_instance_weights_count_like_repeated_rows(cancer):
    rows = cancer.drop_columns(["held"]).slice(0, 100)
    twice = np.arange(100) % 2
    repeated = pa.concat_tables([rows, rows.filter(pa.array(twice == 1))])
    weighted = rows.append_column("w", pa.array(1 + twice))
    options = {"max_iterations": 3, "min_tree_child_weight": 0, "data_split_method": "NO_SPLIT"}
    one = train(repeated, "BOOSTED_TREE_CLASSIFIER", **options)
    other = train(weighted, "BOOSTED_TREE_CLASSIFIER", instance_weight_col="w", **options)
    assert [f.name for f in other.trained.encoder.fields] == [f"x{i}" for i in range(30)]
    assert one.positive(rows) == pytest.approx(other.positive(rows), abs=1e-6)
