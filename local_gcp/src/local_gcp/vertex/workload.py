"""Makes the program of a replica from a worker pool of the API.

Sources: https://cloud.google.com/vertex-ai/docs/training/code-requirements (environment variables)
and the field comments of CustomJobSpec, ContainerSpec and PythonPackageSpec.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from google.cloud import aiplatform_v1 as api

from local_gcp.field_errors import invalid_field
from local_gcp.jobs.images import Image, ImageError, find_image
from local_gcp.jobs.run import Pool, Program, Spec
from local_gcp.project import PROJECT_NUMBER

_INSTALLER = Path(__file__).with_name("python_package.py")
_DAY = 86400.0
_SPOT = (api.Scheduling.Strategy.SPOT, api.Scheduling.Strategy.LOW_COST)

ACCELERATORS = "LOCAL_GCP_ACCELERATORS"
"""Variable of a job with the number of accelerators that its machine would have on Vertex AI: the
program may use as many devices of the CPU in their place."""


def run_spec(
    spec: api.CustomJobSpec,
    job_id: str,
    location: str,
    trial: str | None = None,
    field: str = "job_spec",
) -> Spec:
    """The run for `spec`; raises INVALID_ARGUMENT if an image is unknown.

    `job_id`: numeric id of the CustomJob (a trial has one of its own). `trial`: id of the trial.
    `location`: us-central1. `field`: where the spec is in the request, for error messages.
    `data`: variables that lead to a managed dataset (AIP_TRAINING_DATA_URI, ...).
    """
    service = service_environment(spec, job_id, location, trial)
    pools: list[Pool | None] = []
    notes: list[str] = []
    for number, pool in enumerate(spec.worker_pool_specs):
        where = f"{field}.worker_pool_specs[{number}]"
        pools.append(_pool(pool, service, where, notes) if pool else None)
    if spec.tensorboard:
        notes.append(
            f"nothing is uploaded to {spec.tensorboard}; the logs are in AIP_TENSORBOARD_LOG_DIR"
        )
    scheduling = spec.scheduling
    flex = scheduling.strategy == api.Scheduling.Strategy.FLEX_START
    wait = scheduling.max_wait_duration.total_seconds()
    if flex and "max_wait_duration" not in scheduling:
        wait = _DAY
    return Spec(
        pools=pools,
        timeout=scheduling.timeout.total_seconds() or 7 * _DAY,
        max_wait=wait or None if flex else None,
        spot=scheduling.strategy in _SPOT,
        restart_job_on_worker_restart=scheduling.restart_job_on_worker_restart,
        disable_retries=scheduling.disable_retries,
        trial=trial,
        notes=list(dict.fromkeys(notes)),
    )


def service_environment(
    spec: api.CustomJobSpec, job_id: str, location: str, trial: str | None
) -> dict[str, str]:
    """Variables that Vertex AI sets in every replica, other than those about the cluster."""
    environment = {
        "CLOUD_ML_JOB_ID": job_id,
        "CLOUD_ML_PROJECT_ID": str(PROJECT_NUMBER),  # the SDK resolves it as a number
        "CLOUD_ML_REGION": location,
    }
    if trial is not None:
        environment["CLOUD_ML_TRIAL_ID"] = trial
    base = spec.base_output_directory.output_uri_prefix.rstrip("/")
    if base:
        base = f"{base}/{trial}" if trial is not None else base
        environment |= {
            "AIP_MODEL_DIR": f"{base}/model/",
            "AIP_CHECKPOINT_DIR": f"{base}/checkpoints/",
            "AIP_TENSORBOARD_LOG_DIR": f"{base}/logs/",
        }
    if spec.tensorboard:
        environment["AIP_TENSORBOARD_RESOURCE_NAME"] = spec.tensorboard
    return environment


def _pool(
    pool: api.WorkerPoolSpec, service: Mapping[str, str], field: str, notes: list[str]
) -> Pool:
    if "container_spec" in pool:
        task = pool.container_spec
        image = _image(task.image_uri, f"{field}.container_spec.image_uri")
        argv = image.command(task.command, task.args)
        if not argv:
            raise invalid_field(
                f"{field}.container_spec.command",
                f"images.yaml has no entrypoint for {task.image_uri}, and the job has none.",
            )
        uri, cwd = task.image_uri, image.workdir
    else:
        task = pool.python_package_spec
        image = _image(task.executor_image_uri, f"{field}.python_package_spec.executor_image_uri")
        if image.runs_by:
            raise invalid_field(
                f"{field}.python_package_spec",
                f"{image.bin} runs in containers, which get no Python packages here: use a "
                "container_spec.",
            )
        packages = [argument for uri in task.package_uris for argument in ("--package", uri)]
        argv = ["python3", str(_INSTALLER), *packages, "--", task.python_module, *task.args]
        uri, cwd = task.executor_image_uri, "/"
    notes.append(f"{uri} runs with {image.bin}")
    accelerators = {}
    if count := pool.machine_spec.accelerator_count:
        kind = api.AcceleratorType(pool.machine_spec.accelerator_type).name
        notes.append(f"{count} x {kind} requested: runs on CPU here")
        accelerators[ACCELERATORS] = str(count)
    own = {variable.name: variable.value for variable in task.env}
    # `own` last: it may refer to the rest
    environment = {**image.environment(), **service, **accelerators, **own}
    return Pool(Program(argv, environment, cwd), pool.replica_count)


def _image(uri: str, field: str) -> Image:
    try:
        return find_image(uri)
    except ImageError as error:
        raise invalid_field(field, str(error)) from None
