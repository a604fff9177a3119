"""predict: one batch prediction by the champion, on its own machines.

Skipped for a model of BigQuery ML's: `publish` asks it by a query. AutoML's predicts on machines
that Google chooses.
"""

from typing import Any

from trellis.vertex.registry import AUTOML
from trellis.workflow.contracts.prediction_plan import PredictionPlan, Rows
from trellis.workflow.lookups import left, plans
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages, vertex_job
from trellis.workflow.stages.deploy.answers import ALL_CLASSES
from trellis.workflow.stages.operators import PredictOperator
from trellis.workflow.stages.planned import figure, planned

# The server reads all images of a request, 10 MB together at most (trainer.serving.limits).
_IMAGES_AT_ONCE = 8


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns {"name", "console", "output"}."""
    return PredictOperator(
        task_id="predict",
        batch_prediction_job=planned(
            experiment, platform, job, load=plans.load_prediction, needs=left.rows_to_predict
        ),
        at_most=planned(experiment, platform, figure("predict"), load=plans.load_prediction),
        limit=experiment.prediction.timeout.total_seconds(),
        usd_per_hour=_automl_usd_per_hour(experiment, platform),
        # A few refused instances must not fail the others; `result` counts them.
        partly=True,
        **vertex_job.arguments(experiment, platform, experiment.prediction.machines.replicas),
    )


def _automl_usd_per_hour(experiment: Experiment, platform: Platform) -> float | None:
    """US dollars an hour of the machines that Google chooses; None if they are not asked."""
    if not experiment.may_deploy_automl:
        return None
    return cost.automl_prediction(experiment, 1, platform.region)


def job(plan: PredictionPlan, platform: Platform) -> dict[str, Any] | None:
    """The BatchPredictionJob. It names the model's version, never an alias. None: a query
    predicts.
    """
    experiment, run, rows = plan.experiment, plan.run, plan.rows
    if rows is not None and rows.bqml is not None:
        return None
    by = _by_automl(rows) if plan.service == AUTOML else _by_server(experiment, platform, rows)
    io: dict[str, Any]
    if rows is None:
        io = {
            "input_config": {
                "instances_format": "jsonl",
                "gcs_source": {"uris": [run.instances]},
            },
            "output_config": {
                "predictions_format": "jsonl",
                "gcs_destination": {"output_uri_prefix": run.output_folder},
            },
        }
    else:
        io = {
            "input_config": {
                "instances_format": "bigquery",
                "bigquery_source": {"input_uri": f"bq://{run.snapshot}"},
            },
            "output_config": {
                "predictions_format": "bigquery",
                # Not the run's table: a failed job may have left it, and Vertex AI would refuse the
                # next job. Each job creates its own; `publish` makes the run's table from it.
                "bigquery_destination": {
                    "output_uri": f"bq://{platform.project}.{platform.dataset}"
                },
            },
        }
    return {
        "display_name": f"{experiment.name} predictions",
        "model": plan.model,
        **io,
        **by,
        "labels": job_messages.labels(experiment, platform),
        **job_messages.encryption(platform),
    }


def _by_automl(rows: Rows | None) -> dict[str, Any]:
    """Fields for a model of AutoML's. Of rows it returns each column that it does not know."""
    return {} if rows else {"model_parameters": ALL_CLASSES}


def _by_server(experiment: Experiment, platform: Platform, rows: Rows | None) -> dict[str, Any]:
    """Fields for a model that has a server: ours, or a program's."""
    machines = experiment.prediction.machines
    machine: dict[str, Any] = {"machine_type": machines.type}
    if machines.gpu:
        machine |= {"accelerator_type": machines.gpu, "accelerator_count": machines.gpus}
    # The model accepts only features; the key is returned with its prediction.
    keys = {"excluded_fields": ["key"]} if rows else {}
    fields: dict[str, Any] = {
        # Vertex AI gives up all instances of a request that fails: trainer.serve answers each by
        # itself, with an error in the place of its prediction.
        "model_parameters": {"each": True},
        "instance_config": {"instance_type": "object", **keys},
        "dedicated_resources": {
            "machine_spec": machine,
            "starting_replica_count": machines.replicas,
            "max_replica_count": machines.replicas,
        },
    }
    if images := 1 if rows is None else rows.images:
        size = max(1, _IMAGES_AT_ONCE // images)
        fields["manual_batch_tuning_parameters"] = {"batch_size": size}
    if account := platform.serving_account:
        fields["service_account"] = account
    return fields
