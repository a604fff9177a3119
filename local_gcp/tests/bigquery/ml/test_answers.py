"""ML.PREDICT, EVALUATE, CONFUSION_MATRIX, ROC_CURVE: BigQuery's columns, right numbers."""

import math

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics

from local_gcp.bigquery.errors import BigQueryError

from .conftest import table, train

CUSTOM = {"data_split_method": "CUSTOM", "data_split_col": "held"}


@pytest.fixture(scope="module")
def binary(cancer):
    return train(cancer, "LOGISTIC_REG", **CUSTOM)


@pytest.fixture(scope="module")
def multiclass(iris):
    return train(iris, "LOGISTIC_REG", early_stop=False)


@pytest.fixture(scope="module")
def held(cancer):
    return cancer.filter(cancer["held"])


def refused(call, *words):
    with pytest.raises(BigQueryError) as caught:
        call()
    assert all(word in caught.value.message for word in words), caught.value.message
    return caught.value.reason


def test_binary_predictions_give_the_positive_class_first_and_pass_the_input_on(binary, held):
    found = binary.ask("PREDICT", held)
    assert found.column_names == [
        "predicted_label",
        "predicted_label_probs",
        *held.column_names,
    ]
    pair = pa.struct([("label", pa.string()), ("prob", pa.float64())])
    assert found["predicted_label_probs"].type == pa.list_(pair)
    assert found.select(held.column_names).equals(held)
    for row in found.to_pylist():
        positive, negative = row["predicted_label_probs"]
        assert (positive["label"], negative["label"]) == ("malignant", "benign")
        assert positive["prob"] + negative["prob"] == pytest.approx(1)
        assert row["predicted_label"] == ("malignant" if positive["prob"] >= 0.5 else "benign")


def test_multiclass_predictions_give_the_most_probable_class_first(multiclass, iris):
    for row in multiclass.ask("PREDICT", iris).to_pylist():
        probabilities = [p["prob"] for p in row["predicted_label_probs"]]
        assert probabilities == sorted(probabilities, reverse=True)
        assert row["predicted_label_probs"][0]["label"] == row["predicted_label"]
        assert sum(probabilities) == pytest.approx(1)


def test_the_threshold_is_the_positive_classs(binary, held):
    probabilities = binary.positive(held)
    for threshold in (0.01, 0.5, 0.99):
        found = binary.ask("PREDICT", held, threshold=threshold)["predicted_label"]
        assert [p == "malignant" for p in found.to_pylist()] == list(probabilities >= threshold)


def test_prediction_needs_no_label_and_no_rows(binary, held):
    assert len(binary.ask("PREDICT", held.drop_columns(["label", "held"]))) == len(held)
    nothing = binary.ask("PREDICT", held.slice(0, 0))
    assert nothing.num_rows == 0
    assert nothing.column_names[:2] == ["predicted_label", "predicted_label_probs"]


def test_a_model_can_be_fed_with_anothers_predictions_only_under_another_name(binary, held):
    once = binary.ask("PREDICT", held)
    refused(lambda: binary.ask("PREDICT", once), "Duplicate", "predicted_label")
    binary.ask(
        "PREDICT", once.rename_columns([f"a_{c}" if "pred" in c else c for c in once.column_names])
    )


def test_evaluation_of_two_classes_is_the_positive_ones(binary, held):
    truth = np.array(held["label"].to_pylist()) == "malignant"
    probabilities = binary.positive(held)
    chosen = probabilities >= 0.5
    expected = {
        "precision": metrics.precision_score(truth, chosen),
        "recall": metrics.recall_score(truth, chosen),
        "accuracy": metrics.accuracy_score(truth, chosen),
        "f1_score": metrics.f1_score(truth, chosen),
        "log_loss": metrics.log_loss(truth, probabilities),
        "roc_auc": metrics.roc_auc_score(truth, probabilities),
    }
    found = binary.ask("EVALUATE", held)
    assert found.column_names == list(expected)
    assert set(found.schema.types) == {pa.float64()}
    assert found.to_pylist()[0] == pytest.approx(expected)
    # Without input: on the rows that were held back when the model was made.
    assert binary.first("EVALUATE") == pytest.approx(expected)


def test_the_threshold_moves_precision_and_recall(binary, held):
    low, high = (binary.first("EVALUATE", held, threshold=t) for t in (0.001, 0.999999))
    assert low["recall"] > high["recall"]
    assert low["roc_auc"] == high["roc_auc"]
    never = binary.first("EVALUATE", held, threshold=1.1)
    assert math.isnan(never["precision"])
    assert never["recall"] == 0


def test_evaluation_of_many_classes_is_the_mean_over_them(multiclass, iris):
    found = multiclass.first("EVALUATE", iris)
    rows = multiclass.ask("PREDICT", iris)
    truth, chosen = iris["label"].to_numpy(), rows["predicted_label"].to_numpy()
    assert found["precision"] == metrics.precision_score(truth, chosen, average="macro")
    assert found["f1_score"] == metrics.f1_score(truth, chosen, average="macro")
    by_class = np.array(
        [
            [p["prob"] for p in sorted(row, key=lambda p: p["label"])]
            for row in rows["predicted_label_probs"].to_pylist()
        ]
    )
    auc = metrics.roc_auc_score(truth, by_class, multi_class="ovr", average="macro")
    assert found["roc_auc"] == pytest.approx(auc)
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, by_class))


def test_evaluation_of_a_regression(diabetes):
    model = train(diabetes, "LINEAR_REG", data_split_method="NO_SPLIT")
    found = model.ask("EVALUATE")
    assert found.column_names == [
        "mean_absolute_error",
        "mean_squared_error",
        "mean_squared_log_error",
        "median_absolute_error",
        "r2_score",
        "explained_variance",
    ]
    truth = diabetes["label"].to_numpy()
    values = model.ask("PREDICT", diabetes)["predicted_label"].to_numpy()
    row = found.to_pylist()[0]
    assert row["mean_squared_log_error"] == pytest.approx(
        metrics.mean_squared_log_error(truth, values)
    )
    assert row["r2_score"] == pytest.approx(metrics.r2_score(truth, values))
    assert model.first("EVALUATE", diabetes) == pytest.approx(row)


def test_rows_without_a_label_are_not_evaluated_and_unknown_labels_are_wrong(binary, held):
    labels = held["label"].to_pylist()
    with_null = held.set_column(30, "label", pa.array([None, *labels[1:]]))
    assert binary.first("EVALUATE", with_null) == pytest.approx(
        binary.first("EVALUATE", held.slice(1))
    )
    strange = held.set_column(30, "label", pa.array(["unsure", *labels[1:]]))
    rows = binary.ask("CONFUSION_MATRIX", strange).to_pylist()
    assert [row["expected_label"] for row in rows] == ["benign", "malignant", "unsure"]
    assert rows[2]["benign"] + rows[2]["malignant"] == 1
    found = binary.first("EVALUATE", strange)
    assert found["accuracy"] < 1
    assert found["log_loss"] > binary.first("EVALUATE", held)["log_loss"]


def test_evaluating_nothing_gives_a_row_of_nulls(binary, held):
    assert set(binary.first("EVALUATE", held.slice(0, 0)).values()) == {None}


def test_the_confusion_matrix_has_a_row_per_label_and_a_column_per_class(binary, held):
    found = binary.ask("CONFUSION_MATRIX", held)
    assert found.column_names == ["expected_label", "benign", "malignant"]
    truth = held["label"].to_pylist()
    chosen = binary.ask("PREDICT", held)["predicted_label"].to_pylist()
    expected = metrics.confusion_matrix(truth, chosen)
    assert [[row["benign"], row["malignant"]] for row in found.to_pylist()] == expected.tolist()
    assert found.equals(binary.ask("CONFUSION_MATRIX"))
    loose = binary.ask("CONFUSION_MATRIX", held, threshold=0.0).to_pylist()
    assert [row["benign"] for row in loose] == [0, 0]


def test_labels_that_are_no_column_names_are_made_into_some(iris):
    model = train(iris, "LOGISTIC_REG")
    assert model.ask("CONFUSION_MATRIX").column_names == ["expected_label", "_0", "_1", "_2"]
    assert model.ask("CONFUSION_MATRIX")["expected_label"].type == pa.int64()
    odd = np.array(["a b", "a-b", "über"])[iris["label"].to_numpy()]
    model = train(iris.set_column(4, "label", pa.array(odd)), "LOGISTIC_REG")
    assert model.ask("CONFUSION_MATRIX").column_names == ["expected_label", "a_b", "a_b_1", "_ber"]


def test_the_roc_curve(binary, held):
    found = binary.ask("ROC_CURVE", held)
    assert found.column_names == [
        "threshold",
        "recall",
        "false_positive_rate",
        "true_positives",
        "false_positives",
        "true_negatives",
        "false_negatives",
    ]
    assert found.schema.types == [pa.float64()] * 3 + [pa.int64()] * 4
    rows = found.to_pylist()
    thresholds = [row["threshold"] for row in rows]
    assert thresholds == sorted(thresholds, reverse=True)
    assert (rows[-1]["recall"], rows[-1]["false_positive_rate"]) == (1, 1)
    truth = np.array(held["label"].to_pylist()) == "malignant"
    for row in rows:
        chosen = binary.positive(held) >= row["threshold"]
        assert row["true_positives"] == (truth & chosen).sum()
        assert row["false_positive_rate"] == (~truth & chosen).sum() / (~truth).sum()
    asked = binary.ask("ROC_CURVE", held, thresholds=[0.4, 0.5, 0.6])
    assert asked["threshold"].to_pylist() == [0.6, 0.5, 0.4]
    area = np.trapezoid([r["recall"] for r in rows], [r["false_positive_rate"] for r in rows])
    assert area == pytest.approx(binary.first("EVALUATE", held)["roc_auc"], abs=0.02)


def test_what_a_function_is_not_for_is_refused(binary, multiclass, diabetes, held, iris):
    linear = train(diabetes, "LINEAR_REG")
    refused(lambda: multiclass.ask("ROC_CURVE"), "ML.ROC_CURVE", "binary")
    refused(lambda: linear.ask("CONFUSION_MATRIX"), "LINEAR_REG")
    refused(lambda: binary.ask("FEATURE_IMPORTANCE"), "LOGISTIC_REG")
    refused(lambda: binary.ask("PREDICT"), "requires input")
    refused(lambda: binary.ask("WEIGHTS", held), "no input")
    refused(lambda: binary.ask("EVALUATE", threshold=0.4), "input data only")
    refused(lambda: multiclass.ask("PREDICT", iris, threshold=0.4), "binary")
    refused(lambda: binary.ask("PREDICT", held, top=3), "Unknown argument top")
    assert refused(lambda: binary.ask("CENTROIDS")) == "notImplemented"
    refused(lambda: binary.ask("EVALUATE", held.drop_columns(["label"])), "label", "EVALUATE")
    assert refused(lambda: binary.ask("EXPLAIN_PREDICT", held)) == "notImplemented"
    assert refused(lambda: binary.ask("PREDICT", held, trial_id=1)) == "notImplemented"


def test_wrong_columns_are_refused_before_anything_runs(binary):
    from local_gcp.bigquery.ml import functions
    from local_gcp.bigquery.schema import Field

    refused(
        lambda: functions.fields("ML.PREDICT", binary.trained, (Field("x0", "FLOAT64"),), {}),
        "Column x1 is not found in the input data to the PREDICT function.",
    )


def test_names_ignore_case(diabetes):
    model = train(diabetes, "LINEAR_REG")
    upper = diabetes.rename_columns([n.upper() for n in diabetes.column_names])
    assert model.first("EVALUATE", upper) == model.first("EVALUATE", diabetes)
    assert model.ask("PREDICT", upper).column_names == ["predicted_label", *upper.column_names]


def test_regression_predictions_are_one_column(diabetes):
    model = train(diabetes, "LINEAR_REG")
    rows = table(np.zeros((2, 10)), key=["a", "b"])
    found = model.ask("PREDICT", rows)
    assert found.column_names == ["predicted_label", *rows.column_names]
    assert found["predicted_label"].type == pa.float64()


def test_arguments_may_come_as_texts_and_wrong_ones_are_refused(binary, held):
    assert binary.first("EVALUATE", held, threshold="0.9") == binary.first(
        "EVALUATE", held, threshold=0.9
    )
    refused(lambda: binary.ask("EVALUATE", held, threshold="high"), "threshold", "FLOAT64")
    refused(lambda: binary.ask("ROC_CURVE", held, thresholds=0.5), "thresholds", "ARRAY<FLOAT64>")
    refused(lambda: binary.ask("WEIGHTS", standardize="yes"), "standardize", "BOOL")
