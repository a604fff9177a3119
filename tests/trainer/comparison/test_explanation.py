import dataclasses

import numpy as np
import pytest

from tests.trainer.table_run import categorical, numeric, statistics
from trainer.comparison.explanation import specification
from trainer.dataset_description import DatasetDescription, Feature, Split, Statistics

NOTHING = Statistics(0, 5, 0.0, 0.0, 0.0, 0.0, (0.0,) * 21)


def dataset(*features, task="binary_classification"):
    return DatasetDescription(
        fingerprint="f00d",
        source={},
        split=Split("column ML_USE"),
        features=features,
        classes=() if task == "regression" else ("no", "yes"),
        counts={},
        files={},
        rejected=0,
        task=task,
    )


def sequence(name):
    known = statistics([1.0, 2.0], min_length=0, max_length=2, mean_length=1.0)
    return Feature(name, "sequence", "float32", shape=(None,), column=name, statistics=known)


def inputs(*features):
    found = specification(dataset(*features))["metadata"]["inputs"]
    return {column: metadata["inputBaselines"] for column, metadata in found.items()}


def test_baselines_are_what_is_ordinary_in_the_train_split():
    assert inputs(
        numeric("radius mean", [1.0, 2.0, 6.0]),
        numeric("smoker", [0, 0, 1], kind="boolean"),
        numeric("adult", [0, 1, 1], kind="boolean"),
        categorical("site", {"left": 3, "right": 5}),
        numeric("taken", np.array([1709164800, 1709251200.5]), kind="timestamp"),
    ) == {
        "radius_mean": [3.0],
        "smoker": [False],
        "adult": [True],
        "site": ["right"],
        "taken": ["2024-02-29T12:00:00.250000Z"],
    }


@pytest.mark.parametrize("kind", ["numeric", "boolean", "timestamp"])
def test_of_a_feature_without_values_null_is_ordinary(kind):
    unknown = dataclasses.replace(numeric("x", [1.0], kind=kind), statistics=NOTHING)
    assert inputs(unknown, categorical("site", {}, missing=5)) == {"x": [None], "site": [None]}


def test_what_has_no_single_value_is_left_out():
    assert list(inputs(sequence("pulse"), numeric("age", [1.0]))) == ["age"]
    assert specification(dataset(sequence("pulse"))) is None
    assert specification(dataset(Feature("image", "image", "uint8", "png", (8, 8, 1)))) is None


@pytest.mark.parametrize(
    ("task", "output"), [("regression", "value"), ("multiclass_classification", "probabilities")]
)
def test_the_output_is_a_field_of_the_predictions(task, output):
    found = specification(dataset(numeric("age", [1.0]), task=task))
    assert found["metadata"]["outputs"] == {output: {}}
    assert found["parameters"] == {"sampledShapleyAttribution": {"pathCount": 10}}
