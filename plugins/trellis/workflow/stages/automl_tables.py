"""AutoML's input from a table (its rows with their splits), and the jobs that use it.

The rows carry their split (predefined split), and the batch prediction reads exactly the test
rows, so that AutoML is scored on the same examples as every other contender.
"""

from typing import Any

from trellis.workflow import sql
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.contracts.table import Feature, Table
from trellis.workflow.pricing import queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis_contracts.columns import WEIGHT

# Documented with the classes of google.cloud.aiplatform.schema.
_METADATA = "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml"
_TASK = "gs://google-cloud-aiplatform/schema/trainingjob/definition/automl_tabular_1.0.0.yaml"


def views(plan: Plan, platform: Platform) -> dict[str, Any] | None:
    """The query job that creates two views of the snapshot, all rows and the test rows; None if
    AutoML is switched off for the run.
    """
    if plan.experiment.baselines.automl is None:
        return None
    statement = sql.render(
        "automl_views",
        snapshot=job_messages.snapshot(plan, platform),
        training=_training(plan, platform),
        test=_test(plan, platform),
        features=_table(plan).of_baselines(),
        weight=_table(plan).weight is not None,
        encryption_key=platform.encryption_key,
    )
    limit = queries.limit(plan.query_bytes)
    return job_messages.query(plan.experiment, platform, statement, **limit)


def dataset(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The Dataset: the first of the views."""
    uri = f"bq://{_training(plan, platform)}"
    return {
        "display_name": display_name(plan.experiment),
        "metadata_schema_uri": _METADATA,
        "metadata": {"inputConfig": {"bigquerySource": {"uri": uri}}},
        **common(plan, platform),
    }


def pipeline(plan: Plan, platform: Platform, dataset: str) -> dict[str, Any]:
    """The TrainingPipeline. dataset: resource name of what `dataset` made."""
    table = _table(plan)
    name = display_name(plan.experiment)
    return {
        "display_name": name,
        "training_task_definition": _TASK,
        "training_task_inputs": {
            "predictionType": "regression" if table.regression else "classification",
            "targetColumn": "label",
            **({"weightColumnName": WEIGHT} if table.weight else {}),
            "trainBudgetMilliNodeHours": milli_node_hours(plan.experiment),
            # Listed explicitly, or the split column would be a feature.
            "transformations": [_transformation(feature) for feature in table.of_baselines()],
        },
        "input_data_config": {
            "predefined_split": {"key": "ml_use"},
            "dataset_id": dataset.rpartition("/")[2],
        },
        "model_to_upload": {"display_name": name},
        **common(plan, platform),
    }


def prediction(plan: Plan, platform: Platform, model: str) -> dict[str, Any]:
    """The BatchPredictionJob of the test rows. model: resource name of what `pipeline` made."""
    return {
        "display_name": display_name(plan.experiment),
        "model": model,
        "input_config": {
            "instances_format": "bigquery",
            "bigquery_source": {"input_uri": f"bq://{_test(plan, platform)}"},
        },
        "output_config": {
            "predictions_format": "bigquery",
            "bigquery_destination": {"output_uri": f"bq://{platform.project}.{platform.dataset}"},
        },
        **common(plan, platform),
    }


def test_rows(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The query job that creates the table of the test rows alone."""
    statement = sql.render(
        "automl_test",
        snapshot=job_messages.snapshot(plan, platform),
        test=_test(plan, platform),
        features=_table(plan).of_baselines(),
        encryption_key=platform.encryption_key,
    )
    limit = queries.limit(plan.query_bytes)
    return job_messages.query(plan.experiment, platform, statement, **limit)


def export(
    plan: Plan, platform: Platform, predicted: str, folder: str | None = None
) -> dict[str, Any]:
    """The query job that exports the predictions. predicted: their table, PROJECT.DATASET.TABLE.
    folder: of the contender; None: of the run's own baseline.
    """
    from trellis.workflow.lookups import own_dataset

    statement = sql.render(
        "automl_export",
        output=predicted,
        folder=folder or plan.run.baseline("automl"),
        regression=_table(plan).regression,
    )
    limit = own_dataset.read_limit(platform, predicted)
    return job_messages.query(plan.experiment, platform, statement, **limit)


def display_name(experiment: Experiment) -> str:
    """The display name of dataset, pipeline, model and batch prediction."""
    return f"{experiment.name} AutoML"


def common(plan: Plan, platform: Platform) -> dict[str, Any]:
    """Fields common to all of them."""
    labels = job_messages.labels(plan.experiment, platform)
    return {"labels": labels, **job_messages.encryption(platform)}


def milli_node_hours(experiment: Experiment) -> int:
    """The budget in AutoML's unit."""
    assert experiment.baselines.automl is not None
    return round(experiment.baselines.automl.node_hours * 1000)


def _training(plan: Plan, platform: Platform) -> str:
    return platform.own_table(f"automl_{plan.dataset.fingerprint}")


def _test(plan: Plan, platform: Platform) -> str:
    return platform.own_table(f"automl_{plan.dataset.fingerprint}_test")


def _table(plan: Plan) -> Table:
    return plan.table


def _transformation(feature: Feature) -> dict[str, Any]:
    kind = "categorical" if feature.kind == "boolean" else feature.kind
    # Rows with missing values are kept: every contender learns from the same rows.
    allowed = {} if kind == "categorical" else {"invalidValuesAllowed": True}
    return {kind: {"columnName": feature.column, **allowed}}
