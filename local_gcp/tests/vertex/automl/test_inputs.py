"""Fields of AutoML's training pipelines."""

import pytest

from local_gcp.vertex.automl import inputs
from local_gcp.vertex.automl.inputs import Transformation
from local_gcp.wire import RpcError

# As the SDK sends it: camelCase, unset values as None, numbers as doubles.
TABLE = {
    "targetColumn": "label",
    "transformations": [
        {"auto": {"column_name": "a"}},
        {"numeric": {"columnName": "b"}},
        {"timestamp": {"column_name": "c", "time_format": "unix-seconds",
                       "invalid_values_allowed": True}},
        {"repeatedNumeric": {"columnName": "d", "invalidValuesAllowed": True}},
    ],
    "trainBudgetMilliNodeHours": 1500.0,
    "weightColumnName": None,
    "disableEarlyStopping": False,
    "optimizationObjective": None,
    "predictionType": "classification",
    "optimizationObjectiveRecallValue": None,
    "optimizationObjectivePrecisionValue": None,
}  # fmt: skip


def test_a_table_as_the_sdk_sends_it():
    found = inputs.tabular(TABLE, "inputs")
    assert found.budget == 5400
    assert found.early_stopping
    assert found.transformations == (
        Transformation("a"),
        Transformation("b", "numeric", nullable=False),
        Transformation("c", "timestamp", "unix-seconds"),
        Transformation("d", "repeated_numeric"),
    )


def test_inputs_are_answered_as_google_writes_them():
    assert inputs.answered(TABLE) == {
        "targetColumn": "label",
        "transformations": [
            {"auto": {"columnName": "a"}},
            {"numeric": {"columnName": "b"}},
            {
                "timestamp": {
                    "columnName": "c",
                    "timeFormat": "unix-seconds",
                    "invalidValuesAllowed": True,
                }
            },
            {"repeatedNumeric": {"columnName": "d", "invalidValuesAllowed": True}},
        ],
        "trainBudgetMilliNodeHours": "1500",
        "predictionType": "classification",
    }
    assert inputs.tabular(inputs.answered(TABLE), "inputs") == inputs.tabular(TABLE, "inputs")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trainBudgetMilliNodeHours": 999}, "999 is not from 1000 to 72000"),
        ({"trainBudgetMilliNodeHours": "much"}, "is not a whole number"),
        ({"predictionType": "ranking"}, "'ranking' is not one of"),
        ({"targetColumn": None}, "inputs.targetColumn; Message: Required field is not set"),
        ({"optimizationObjective": "minimize-rmse"}, "'minimize-rmse' is not one of"),
        (
            {"optimizationObjective": "maximize-precision-at-recall"},
            "RecallValue; Message: Required",
        ),
        ({"optimizationObjectiveRecallValue": 0.5}, "does not use it"),
        ({"transformations": [{"repeated_text": {"column_name": "a"}}]}, "does not emulate"),
        ({"transformations": [{"auto": {"column_name": "label"}}]}, "cannot be a feature"),
        ({"transformations": [{"auto": {"column_name": "a"}}] * 2}, "has a transformation already"),
        ({"transformations": [{"auto": {"column": "a"}}]}, "columnName; Message: Required"),
        ({"additionalExperiments": ["probabilistic_inference"]}, "does not emulate"),
        ({"trainBudget": 1000}, "inputs.train_budget; Message: There is no such field"),
    ],
)
def test_a_table_that_is_refused(changes, words):
    with pytest.raises(RpcError, match=words):
        inputs.tabular({**TABLE, **changes}, "inputs")


def test_images_share_their_node_hours():
    sent = {"modelType": "CLOUD", "budgetMilliNodeHours": 8000.0, "multiLabel": False}
    found = inputs.image_classification({**sent, "disableEarlyStopping": True}, "inputs")
    assert (found.budget, found.nodes, found.early_stopping) == (3600, 8, False)
    mobile = {"modelType": "MOBILE_TF_VERSATILE_1", "budgetMilliNodeHours": 1000}
    assert inputs.image_classification(mobile, "inputs").budget == 3600
    assert inputs.image_classification({}, "inputs").budget == 24 * 3600


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"modelType": "CLOUD", "budgetMilliNodeHours": 1000}, "1000 is not from 8000 to 800000"),
        ({"multiLabel": True}, "does not emulate inputs.multiLabel"),
        ({"baseModelId": "1"}, "does not emulate inputs.baseModelId"),
        ({"modelType": "VIT"}, "does not emulate inputs.modelType 'VIT'"),
    ],
)
def test_images_that_are_refused(sent, words):
    with pytest.raises(RpcError, match=words):
        inputs.image_classification(sent, "inputs")
