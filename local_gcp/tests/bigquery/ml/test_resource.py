"""REST's Model resource of each kind of model (test_models has a binary classifier's)."""

import json

import pytest

from local_gcp.bigquery.ml import resource

from .conftest import train


@pytest.mark.parametrize(
    ("model_type", "options", "rest_type", "metrics"),
    [
        (
            "LINEAR_REG",
            {},
            "LINEAR_REGRESSION",
            {
                "regressionMetrics": [
                    "meanAbsoluteError",
                    "meanSquaredError",
                    "meanSquaredLogError",
                    "medianAbsoluteError",
                    "rSquared",
                ]
            },
        ),
        (
            "LOGISTIC_REG",
            {},
            "LOGISTIC_REGRESSION",
            {
                "multiClassClassificationMetrics": [
                    "aggregateClassificationMetrics",
                    "confusionMatrixList",
                ]
            },
        ),
    ],
)
def test_metrics_have_googles_names(iris, model_type, options, rest_type, metrics):
    made = resource.of(train(iris, model_type, **options).trained, "2024-01-03T00:00:00Z")
    json.dumps(made, allow_nan=False)
    assert made["modelType"] == rest_type
    (run,) = made["trainingRuns"]
    found = run["evaluationMetrics"]
    assert {name: sorted(values) for name, values in found.items()} == metrics
    assert [r["index"] for r in run["results"]] == list(range(len(run["results"])))
    assert isinstance(run["results"][0]["durationMs"], str)  # an int64


def test_a_confusion_matrix_of_many_classes(iris):
    made = resource.of(train(iris, "LOGISTIC_REG").trained, "2024-01-03T00:00:00Z")
    metrics = made["trainingRuns"][0]["evaluationMetrics"]["multiClassClassificationMetrics"]
    (matrix,) = metrics["confusionMatrixList"]
    assert [row["actualLabel"] for row in matrix["rows"]] == ["0", "1", "2"]
    counts = [int(e["itemCount"]) for row in matrix["rows"] for e in row["entries"]]
    assert sum(counts) == 150


@pytest.mark.parametrize(
    ("rows", "strategy"), [(150, "NORMAL_EQUATION"), (30, "BATCH_GRADIENT_DESCENT")]
)
def test_the_strategy_is_the_one_that_was_taken(iris, rows, strategy):
    """For four features, 40 rows are enough for the normal equation."""
    made = resource.of(train(iris.slice(0, rows), "LINEAR_REG").trained, "2024-01-03T00:00:00Z")
    assert made["trainingRuns"][0]["trainingOptions"]["optimizationStrategy"] == strategy
