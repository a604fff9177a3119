"""Builds the command that a flex template's launcher would run, for the local machine.

On Google Cloud the image's launcher runs the program in $FLEX_TEMPLATE_PYTHON_PY_FILE with the
launch's parameters as flags, with `--runner=DataflowRunner`, project, region and job name; the
program submits the pipeline to the service, which runs it on workers. Here the same program gets
`--runner=DirectRunner`, Beam's name for the machine on which it is started.
"""

from __future__ import annotations

from google.cloud import dataflow_v1beta3 as api

from local_gcp.jobs.images import Image, ImageError, find_image
from local_gcp.jobs.run import Pool, Program, Spec
from local_gcp.wire import invalid_argument, not_emulated

PROGRAM = "FLEX_TEMPLATE_PYTHON_PY_FILE"
"""Variable in a Python flex template's image: the file with the pipeline."""

# Beam itself would try to download a program for this runner, Prism. A job has no network but this
# machine (local_gcp.jobs), so that fails, and Beam works without it.
_LOCAL_RUNNER = ("--runner=DirectRunner", "--direct_running_mode=in_memory")

_EMULATED = {
    "temp_location",
    "staging_location",
    "additional_user_labels",
    "additional_pipeline_options",
}
"""Fields of the runtime environment with an effect here."""
_OF_WORKERS = {
    "additional_experiments",
    "autoscaling_algorithm",
    "disk_size_gb",
    "flexrs_goal",
    "ip_configuration",
    "kms_key_name",
    "launcher_machine_type",
    "machine_type",
    "max_workers",
    "network",
    "num_workers",
    "service_account_email",
    "subnetwork",
    "worker_region",
    "worker_zone",
    "zone",
}
"""Fields that choose machines, which are this one here; the job's log names them. Others, which
would change what the pipeline does, are refused."""


def run_spec(
    template: api.ContainerSpec, launch: api.LaunchFlexTemplateParameter, project: str, region: str
) -> Spec:
    """The run for a launch; raises INVALID_ARGUMENT if the image is unknown."""
    image = _image(template.image)
    environment = launch.environment
    _check_environment(environment, template.image)
    options = [
        *_LOCAL_RUNNER,
        f"--project={project}",
        f"--region={region}",
        f"--job_name={launch.job_name}",
    ]
    for name in ("temp_location", "staging_location"):
        if value := getattr(environment, name):
            options.append(f"--{name}={value}")
    flags = [f"--{name}={value}" for name, value in launch.parameters.items()]
    arguments = [*flags, *options, *environment.additional_pipeline_options]
    argv = image.command(["python", image.env[PROGRAM]], arguments)
    program = Program(argv, image.environment(), image.workdir)
    return Spec([Pool(program)], disable_retries=True, cluster=False, notes=_notes(image, launch))


def _check_environment(environment: api.FlexTemplateRuntimeEnvironment, image: str) -> None:
    for field, value in type(environment).pb(environment).ListFields():
        # Workers run in the template's image, unless another is given.
        same = field.name == "sdk_container_image" and value == image
        if field.name not in _EMULATED | _OF_WORKERS and not same:
            raise not_emulated(f"the field launch_parameter.environment.{field.name}")


def _image(uri: str) -> Image:
    field = "launch_parameter.container_spec.image"
    try:
        image = find_image(uri)
    except ImageError as error:
        raise invalid_argument(field, str(error)) from None
    if PROGRAM not in image.env:
        raise invalid_argument(
            field,
            f"images.yaml has no {PROGRAM} in the env of {image.image}, which emulates {uri}.",
        )
    return image


def _notes(image: Image, launch: api.LaunchFlexTemplateParameter) -> list[str]:
    fields = [field.name for field, _ in type(launch).pb(launch).environment.ListFields()]
    ignored = [name for name in fields if name not in _EMULATED]
    notes = [f"the template's image runs with {image.bin}, and runs the pipeline on this machine"]
    if ignored:
        notes.append(f"ignored by local_gcp: {', '.join(ignored)}")
    return notes
