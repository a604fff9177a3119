"""export: a Dataflow job writes the rows, with their images, as a TFRecord dataset.

Skipped if the dataset exists. A new dataset emits an event of the experiment's dataset Asset, with
its fingerprint, so that other DAGs can be scheduled on it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost, dataflow
from trellis.workflow.spec import job_images, sharding
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import figure, planned
from trellis.workflow.stages.pools import slots
from trellis.workflow.stages.stage import Row, Stage, Usd
from trellis_contracts import VERSION

if TYPE_CHECKING:
    from trellis.workflow.stages.run_jobs import RunJobs


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    from trellis.workflow.contracts import assets
    from trellis.workflow.lookups import left
    from trellis.workflow.stages.operators import ExportOperator

    return ExportOperator(
        task_id="export",
        project_id=platform.project,
        location=platform.region,
        gcp_conn_id=platform.connection,
        body=planned(experiment, platform, body, needs=left.rows),
        commit_mark=planned(experiment, platform, job_messages.dataset_mark),
        at_most=planned(experiment, platform, figure("export")),
        per_hour=dataflow.per_hour,
        outlets=[assets.dataset(experiment.name, platform)],
        outlet_extra=planned(experiment, platform, announcement),
        generation=experiment.generation,
        poll_sleep=platform.poll_seconds,
        # A table's extract is skipped if it exists.
        trigger_rule="none_failed",
        **slots(platform.pools.dataflow, platform.dataflow.max_workers),
    )


def announcement(plan: Plan, platform: Platform) -> dict[str, str]:
    """The Asset extra of a new dataset's event."""
    return {"uri": plan.dataset.uri, "fingerprint": plan.dataset.fingerprint}


def job_prefix(experiment: Experiment) -> str:
    """Prefix of the names of the stage's jobs."""
    return f"{experiment.name}-export"


def body(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The launch request of a run's export."""
    flags = {
        # Everything else is in the description of the columns.
        "source": layout.dataset_columns(plan.dataset.uri),
        "output": plan.dataset.uri,
        "fingerprint": plan.dataset.fingerprint,
        "shards": sharding.flag(plan.experiment),
    }
    labels = job_messages.labels(plan.experiment, platform)
    return launch(platform, job_prefix(plan.experiment), labels, flags)


def launch(
    platform: Platform, name: str, labels: dict[str, str], flags: dict[str, str]
) -> dict[str, Any]:
    """A launch request: the flags of trainer.export, and the job's resources.

    The template is part of the request, so that no file in a bucket must match the image's version.
    """
    image = job_images.of_export(platform)
    limit = int(platform.dataflow.timeout.total_seconds())
    environment = {
        "tempLocation": f"gs://{platform.bucket}/dataflow/",
        "stagingLocation": f"gs://{platform.bucket}/dataflow/",
        "machineType": platform.dataflow.machine_type,
        "maxWorkers": platform.dataflow.max_workers,
        "sdkContainerImage": image,
        # Dataflow itself enforces the time limit, even if Airflow is down.
        "additionalExperiments": [f"max_workflow_runtime_walltime_seconds={limit}"],
        "additionalUserLabels": labels,
        "serviceAccountEmail": platform.service_account,
        **_network(platform),
        "kmsKeyName": platform.encryption_key,
    }
    return {
        "launchParameter": {
            "jobName": name,
            "containerSpec": {"image": image, "sdkInfo": {"language": "PYTHON"}},
            "parameters": {**flags, "contracts": VERSION},
            "environment": {field: value for field, value in environment.items() if value},
        }
    }


def _network(platform: Platform) -> dict[str, str]:
    """Network of the workers in Dataflow's form: a network by its bare name, or a subnetwork.

    A network in custom mode, or of another project, is found by its subnetwork only.
    https://docs.cloud.google.com/dataflow/docs/guides/specifying-networks
    """
    where: dict[str, str] = {}
    if platform.subnetwork:
        where["subnetwork"] = platform.subnetwork
    elif platform.network:
        where["network"] = platform.network.rsplit("/", 1)[-1]
    if platform.private_addresses:
        where["ipConfiguration"] = "WORKER_IP_PRIVATE"
    return where


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    ((kind, name),) = experiment.source.named(platform).items()
    rows = "the rows of a query" if kind == "query" else f"`{name}`"
    what = f"writes {rows} as TFRecords (Dataflow); skipped if this dataset exists already"
    yield "export", what


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    if plan.dataset.exists:
        yield "dataset", f"{plan.dataset.uri} is there and is reused: no export"
    else:
        yield "export", f"makes {plan.dataset.uri}"


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    machines, hours = platform.dataflow, cost.hours(platform.dataflow.timeout)
    usd = dataflow.per_hour(machines.machine_type, machines.max_workers, platform.region)
    return {"export": usd * hours}


def _spent(jobs: "RunJobs") -> Usd:
    return {"export": jobs.dataflow_usd("export", job_prefix(jobs.plan.experiment))}


STAGE = Stage(
    name="export",
    where="Dataflow",
    writes=["*.tfrecord", "dataset.json"],
    tasks=lambda dag: task(dag.experiment, dag.platform),
    page=_page,
    dry_run=_dry_run,
    at_most=_at_most,
    spent=_spent,
    jobs=lambda plan: {"dataflow": int(not plan.dataset.exists)},
    advice={
        "export": "If images are at fault, rejected.jsonl beside the dataset lists them: fix the "
        "manifest and trigger a new run. If the fault was Google's, clear this task."
    },
)
