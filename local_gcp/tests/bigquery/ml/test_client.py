"""BigQuery ML end to end: the official client, a real server, the breast-cancer table."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

PROGRAM = Path(__file__).parent / "programs" / "breast_cancer.py"
pytestmark = pytest.mark.slow  # bigquery/test_rest.py makes and asks one model the quick way

TYPES = ["logistic_reg", "boosted_tree_classifier", "dnn_classifier"]


@pytest.fixture(scope="module")
def bucket(local_gcp):
    folder = local_gcp.buckets / "bqml-client"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def found(local_gcp, bucket):
    return json.loads(local_gcp.run(PROGRAM, "bqml_client", bucket.name))


@pytest.mark.parametrize("model_type", TYPES)
def test_every_function_answers(found, model_type):
    model = found["models"][model_type]
    assert model["statement"] == "CREATE_MODEL"
    for name in ("evaluate", "evaluate_test", "strict"):
        (row,) = model[name]
        assert list(row) == ["precision", "recall", "accuracy", "f1_score", "log_loss", "roc_auc"]
    assert model["evaluate_test"][0]["roc_auc"] > 0.95
    assert model["strict"][0]["recall"] <= model["evaluate_test"][0]["recall"]
    right = sum(row["malignant"] == row["predicted_malignant"] for row in model["predict"])
    accuracy = right / len(model["predict"])
    assert accuracy == pytest.approx(model["evaluate_test"][0]["accuracy"])
    assert [list(row) for row in model["confusion"]] == [["expected_label", "no", "yes"]] * 2
    assert sum(row["no"] + row["yes"] for row in model["confusion"]) == len(model["predict"])
    assert model["roc"][-1]["recall"] == 1
    assert [row["threshold"] for row in model["roc_at"]] == pytest.approx([0.6, 0.4, 0.2])
    first = 1 if model_type.startswith("boosted_tree") else 0
    iterations = [row["iteration"] for row in model["training"]]
    assert iterations == list(range(first, first + len(iterations)))
    assert len(model["features"]) == 30


@pytest.mark.parametrize("model_type", TYPES)
def test_exported_predictions_are_those_of_the_query(found, bucket, model_type):
    exported = pq.read_table(bucket / model_type / "raw").to_pylist()
    predicted = found["models"][model_type]["predict"]
    assert {row["key"]: row["probabilities"] for row in exported} == {
        row["sample_id"]: row["predicted_malignant_probs"] for row in predicted
    }


def test_what_was_learned_can_be_read(found):
    assert found["weights"][-1]["processed_input"] == "__INTERCEPT__"
    assert len(found["weights"]) == 31
    assert len(found["importance"]) == 30
    assert found["importance"][0]["importance_gain"] > 0


def test_the_resource(found):
    resource = found["resource"]
    assert resource["type"] == "LOGISTIC_REGRESSION"
    assert resource["labels"] == ["malignant"]
    assert len(resource["features"]) == 30
    assert resource["options"]["labelClassWeights"] == {"no": 1.0, "yes": 1.5}
    assert found["listed"] == sorted(TYPES)
    assert found["left"] == ["boosted_tree_classifier"]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("no label", "Unable to identify the label column"),
        ("constant", "only 1 unique label"),
        ("unknown option", "Unknown option: speed"),
        ("not emulated", "NUM_TRIALS"),
        ("exists", "Already Exists: Model"),
        ("missing column", "is not found in the input data to the PREDICT function"),
        ("no model", "Not found: Model"),
        ("dropped", "Not found: Model"),
    ],
)
def test_errors_are_bigquerys(found, case, words):
    assert words in found["errors"][case]
