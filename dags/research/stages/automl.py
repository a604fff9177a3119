"""automl: a model that Vertex AI AutoML finds on the same rows, and its predictions of test rows.

For a table: views -> dataset -> train -> predict -> export. The split goes with the rows
(predefined split), and the batch prediction reads exactly the test rows.

For images: images -> dataset (with its import) -> train -> predict, see `automl_images`.
"""

from typing import Any

from airflow.sdk import TaskGroup

from bigquery.operators import BigQueryJobOperator
from research import jobs, sql
from research.experiment import Experiment
from research.plan import Plan
from research.platform import Platform
from research.stages import automl_images
from research.table import Feature
from vertex.datasets import DatasetOperator
from vertex.operators import BatchPredictionJobOperator, TrainingPipelineOperator

NAME = "automl"

# Documented with the classes of google.cloud.aiplatform.schema.
_TABULAR = "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml"
_TABULAR_TASK = (
    "gs://google-cloud-aiplatform/schema/trainingjob/definition/automl_tabular_1.0.0.yaml"
)
_PLANNED = "ti.xcom_pull(task_ids='plan').get('automl', {})"


class ExportOperator(BigQueryJobOperator):
    """Exports the batch prediction's table, whose name is known once it is there."""

    def _configuration(self, context: Any) -> dict[str, Any]:
        predicted = context["ti"].xcom_pull(task_ids=f"{NAME}.predict")
        query = self.configuration["query"]
        statement = query["query"].replace(_OUTPUT, predicted["output"])
        return {**self.configuration, "query": {**query, "query": statement}}


# Stands in a planned statement for the table that does not exist yet.
_OUTPUT = "AUTOML_OUTPUT"


def tasks(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow tasks; skipped when the run does without."""
    common = {
        "project_id": platform.project,
        "gcp_conn_id": platform.connection,
        "generation": experiment.generation,
        "poll_interval": platform.poll_seconds,
    }
    in_bigquery = {**common, "location": platform.location}
    in_vertex = {**common, "region": platform.region}
    with TaskGroup(NAME) as group:
        if experiment.source.kind == "image":
            ready = automl_images.task(experiment, platform)
        else:
            ready = BigQueryJobOperator(
                task_id="views", configuration=f"{{{{ {_PLANNED}.get('views') }}}}", **in_bigquery
            )
        dataset = DatasetOperator(
            task_id="dataset",
            dataset=f"{{{{ {_PLANNED}.get('dataset') }}}}",
            import_configs=f"{{{{ {_PLANNED}.get('imports') }}}}",
            **in_vertex,
        )
        train = TrainingOperator(
            task_id="train",
            training_pipeline=f"{{{{ {_PLANNED}.get('pipeline') }}}}",
            **in_vertex,
        )
        predict = PredictionOperator(
            task_id="predict",
            batch_prediction_job=f"{{{{ {_PLANNED}.get('prediction') }}}}",
            **in_vertex,
        )
        ready >> dataset >> train >> predict
        if experiment.source.kind == "table":
            predict >> ExportOperator(
                task_id="export",
                configuration=f"{{{{ {_PLANNED}.get('export') }}}}",
                **in_bigquery,
            )
    return group


class TrainingOperator(TrainingPipelineOperator):
    """Trains on the dataset of the task before."""

    def execute(self, context: Any) -> Any:
        name = context["ti"].xcom_pull(task_ids=f"{NAME}.dataset")["name"]
        self.training_pipeline["input_data_config"]["dataset_id"] = name.rsplit("/", 1)[-1]
        return super().execute(context)


class PredictionOperator(BatchPredictionJobOperator):
    """Predicts with the model of the task before."""

    def execute(self, context: Any) -> Any:
        trained = context["ti"].xcom_pull(task_ids=f"{NAME}.train")
        self.batch_prediction_job["model"] = trained["model"]
        return super().execute(context)


def jobs_of(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The messages of all tasks: {"views", "dataset", "pipeline", "prediction", "export"}."""
    if plan.table is None:
        return automl_images.jobs_of(plan, platform, milli_node_hours(plan.experiment))
    training = platform.own_table(f"automl_{plan.fingerprint}")
    test = platform.own_table(f"automl_{plan.fingerprint}_test")
    name = f"{plan.experiment.name} AutoML"
    features = plan.table.of_baselines()
    views = sql.render(
        "automl_views",
        snapshot=jobs.snapshot(plan, platform),
        training=training,
        test=test,
        features=features,
    )
    export = sql.render(
        "automl_export",
        output=_OUTPUT,
        folder=plan.run.baseline(NAME),
        regression=plan.table.regression,
    )
    common = {"labels": jobs.labels(plan, platform), **jobs.encryption(platform)}
    return {
        "views": jobs.query(plan, platform, views),
        "dataset": {
            "display_name": name,
            "metadata_schema_uri": _TABULAR,
            "metadata": {"inputConfig": {"bigquerySource": {"uri": f"bq://{training}"}}},
            **common,
        },
        "pipeline": pipeline(plan, name, features) | common,
        "prediction": {
            "display_name": name,
            "input_config": {
                "instances_format": "bigquery",
                "bigquery_source": {"input_uri": f"bq://{test}"},
            },
            "output_config": {
                "predictions_format": "bigquery",
                "bigquery_destination": {
                    "output_uri": f"bq://{platform.project}.{platform.dataset}"
                },
            },
            **common,
        },
        "export": jobs.query(plan, platform, export),
    }


def pipeline(plan: Plan, name: str, features: list[Feature]) -> dict[str, Any]:
    """The TrainingPipeline, but for its dataset."""
    assert plan.table is not None
    return {
        "display_name": name,
        "training_task_definition": _TABULAR_TASK,
        "training_task_inputs": {
            "predictionType": "regression" if plan.table.regression else "classification",
            "targetColumn": "label",
            "trainBudgetMilliNodeHours": milli_node_hours(plan.experiment),
            # Named one by one, or the split would be a feature.
            "transformations": [_transformation(feature) for feature in features],
        },
        "input_data_config": {"predefined_split": {"key": "ml_use"}},
        "model_to_upload": {"display_name": name},
    }


def milli_node_hours(experiment: Experiment) -> int:
    """The budget in AutoML's unit."""
    return round(experiment.baselines.automl.node_hours * 1000)


def _transformation(feature: Feature) -> dict[str, Any]:
    kind = "categorical" if feature.kind == "boolean" else feature.kind
    # A row that lacks a value is kept: every contender learns from the same rows.
    allowed = {} if kind == "categorical" else {"invalidValuesAllowed": True}
    return {kind: {"columnName": feature.column, **allowed}}
