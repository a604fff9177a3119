"""Makes the program of the replicas from a model and its deployment.

https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements#aip-variables
"""

from __future__ import annotations

from google.cloud import aiplatform_v1 as api

from local_gcp import names
from local_gcp.jobs.images import ImageError, find_image
from local_gcp.jobs.program import LEARNED, own_program
from local_gcp.project import PROJECT_NUMBER
from local_gcp.vertex.endpoints.deployment import Launch
from local_gcp.wire import failed_precondition, not_emulated

HEALTHY_WITHIN = 1800.0
"""Seconds that a deployment may take if the model does not say (deployment_timeout)."""
_OF_GOOGLE = {
    api.ModelSourceInfo.ModelSourceType.AUTOML: "automl",
    api.ModelSourceInfo.ModelSourceType.BQML: "bqml",
}
"""Programs of `servers` for models that Google trained, which have no container."""
_NOT_EMULATED = ("startup_probe", "health_probe", "liveness_probe", "grpc_ports")


def launch(model: api.Model, deployed: api.DeployedModel, endpoint: str, artifacts: str) -> Launch:
    """Return how a replica of `deployed` is started. `artifacts`: gs:// folder with the model's
    files, or "".

    FAILED_PRECONDITION if images.yaml has no entry for the model's image; UNIMPLEMENTED.
    """
    if program := _OF_GOOGLE.get(model.model_source_info.source_type):
        return _own(program, model, deployed, endpoint, artifacts)
    spec = model.container_spec
    for name in _NOT_EMULATED:
        if getattr(spec, name):
            raise not_emulated(f"container_spec.{name}", "Leave it out.")
    if spec.invoke_route_prefix:
        raise not_emulated("container_spec.invoke_route_prefix", "Set a predict_route.")
    try:
        image = find_image(spec.image_uri)
    except ImageError as error:
        raise failed_precondition(f"{model.name}: container_spec.image_uri: {error}") from None
    argv = image.command(spec.command, spec.args)
    if not argv:
        raise failed_precondition(
            f"{model.name}: images.yaml has no entrypoint for {spec.image_uri}, and the model "
            "has none (container_spec.command)."
        )
    notes = [f"{spec.image_uri} runs with {image.bin}"]
    port = spec.ports[0].container_port if spec.ports else 8080
    notes.append(f"AIP_HTTP_PORT, on Google Cloud {port}, differs for each process here")
    if not deployed.service_account:
        notes.append("it has no service_account, so it may read the model's files only")
    machine = deployed.dedicated_resources.machine_spec
    if machine.accelerator_count:
        kind = api.AcceleratorType(machine.accelerator_type).name
        notes.append(f"{machine.accelerator_count} x {kind} requested: runs on CPU here")
    service = variables(model, deployed, endpoint, artifacts)
    return Launch(
        argv=argv,
        image={**image.environment(), **service},
        env={variable.name: variable.value for variable in spec.env},
        cwd=image.workdir,
        health=service["AIP_HEALTH_ROUTE"],
        predict=service["AIP_PREDICT_ROUTE"],
        timeout=spec.deployment_timeout.total_seconds() or HEALTHY_WITHIN,
        notes=notes,
        account=deployed.service_account,
    )


def _own(
    program: str, model: api.Model, deployed: api.DeployedModel, endpoint: str, files: str
) -> Launch:
    """The program of a model that Google trained. files: the model's, on this machine."""
    module = f"local_gcp.vertex.endpoints.servers.{program}"
    (pool,) = own_program(module, files, preload=LEARNED).pools
    service = variables(model, deployed, endpoint, "")
    return Launch(
        argv=pool.program.argv,
        image={**pool.program.env, **service},
        env={},
        cwd=pool.program.cwd,
        health=service["AIP_HEALTH_ROUTE"],
        predict=service["AIP_PREDICT_ROUTE"],
        timeout=HEALTHY_WITHIN,
        notes=["a local emulation of Google's model, served by local_gcp itself"],
    )


def variables(
    model: api.Model, deployed: api.DeployedModel, endpoint: str, artifacts: str
) -> dict[str, str]:
    """The variables that Vertex AI sets in the container, except the port."""
    spec, machine = model.container_spec, deployed.dedicated_resources.machine_spec
    route = f"/v1/endpoints/{names.last(endpoint)}/deployedModels/{deployed.id}"
    service = {
        "AIP_MODE": "PREDICTION",
        "AIP_MODE_VERSION": "1.0.0",
        "AIP_FRAMEWORK": "CUSTOM_CONTAINER",
        "AIP_PROJECT_NUMBER": str(PROJECT_NUMBER),
        "AIP_ENDPOINT_ID": names.last(endpoint),
        "AIP_DEPLOYED_MODEL_ID": deployed.id,
        "AIP_MODEL_NAME": names.last(model.name),
        "AIP_VERSION_NAME": model.version_id,
        "AIP_STORAGE_URI": artifacts,
        "AIP_HEALTH_ROUTE": spec.health_route or route,
        "AIP_PREDICT_ROUTE": spec.predict_route or f"{route}:predict",
    }
    if machine.machine_type:
        service["AIP_MACHINE_TYPE"] = machine.machine_type
    if machine.accelerator_count:
        service["AIP_ACCELERATOR_TYPE"] = api.AcceleratorType(machine.accelerator_type).name
    return service
