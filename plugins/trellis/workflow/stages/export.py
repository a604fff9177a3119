"""export: a manifest's images, or a table's rows, as a TFRecord dataset, by a Dataflow job.

Skipped when the dataset is there already. A new dataset is announced as an event of the
experiment's dataset Asset, with its fingerprint, so that other DAGs can be scheduled on it.
"""

from typing import Any

from airflow.sdk import Asset

from dataflow.operators import FlexTemplateOperator
from research import layout
from research.experiment import Experiment
from research.jobs import labels
from research.plan import Plan
from research.platform import Platform
from research.trainer_schema import load as load_schema


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    return FlexTemplateOperator(
        task_id="export",
        project_id=platform.project,
        location=platform.region,
        gcp_conn_id=platform.connection,
        body="{{ ti.xcom_pull(task_ids='plan')['export'] }}",
        commit_mark="{{ ti.xcom_pull(task_ids='plan')['commit_mark'] }}",
        outlets=[dataset_asset(experiment, platform)],
        outlet_extra="{{ ti.xcom_pull(task_ids='plan')['dataset'] }}",
        generation=experiment.generation,
        poll_sleep=platform.poll_seconds,
        # A table's extract that is there already was skipped.
        trigger_rule="none_failed",
    )


def dataset_asset(experiment: Experiment, platform: Platform) -> Asset:
    """The Asset that stands for the experiment's newest dataset."""
    return Asset(
        name=f"{experiment.name} dataset",
        uri=f"gs://{platform.bucket}/{experiment.name}/datasets",
        group="dataset",
    )


def body(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The launch request: the flags of trainer.export, and what the job may use.

    The template is given in the request itself, so that there is no file in a bucket to keep in
    step with the image.
    """
    schema = load_schema()
    image = platform.image("export", schema.image_tag)
    limit = int(platform.dataflow.timeout.total_seconds())
    environment = {
        "tempLocation": f"gs://{platform.bucket}/dataflow/",
        "stagingLocation": f"gs://{platform.bucket}/dataflow/",
        "machineType": platform.dataflow.machine_type,
        "maxWorkers": platform.dataflow.max_workers,
        "sdkContainerImage": image,
        # Dataflow itself ends a job that runs too long: the limit holds whatever else dies.
        "additionalExperiments": [f"max_workflow_runtime_walltime_seconds={limit}"],
        "additionalUserLabels": labels(plan, platform),
        "serviceAccountEmail": platform.service_account,
        "network": platform.network,
        "kmsKeyName": platform.encryption_key,
    }
    return {
        "launchParameter": {
            "jobName": f"{plan.experiment.name}-export",
            "containerSpec": {"image": image, "sdkInfo": {"language": "PYTHON"}},
            "parameters": {
                "output": plan.dataset,
                "fingerprint": plan.fingerprint,
                "shards": str(plan.experiment.source.shards),
                **(_image_flags(plan, platform) if plan.table is None else _table_flags(plan)),
            },
            "environment": {name: value for name, value in environment.items() if value},
        }
    }


def _image_flags(plan: Plan, platform: Platform) -> dict[str, str]:
    source = plan.experiment.source
    height, width = source.size
    split = source.split
    return {
        "source": platform.uri(source.images),
        "image_size": f"{height}x{width}",
        "channels": str(source.channels),
        "encoding": source.encoding,
        "max_rejected": str(source.max_rejected),
        "split_fractions": f"{split.train},{split.validation},{split.test}",
    }


def _table_flags(plan: Plan) -> dict[str, str]:
    # All else stands in the description of the columns.
    return {"source": layout.dataset_columns(plan.dataset)}
