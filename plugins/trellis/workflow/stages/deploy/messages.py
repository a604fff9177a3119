"""The messages that register and deploy the challenger, in protobuf's JSON form: pure functions.

https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.models
https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.endpoints
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Protocol

from trellis.identity import EXPERIMENT_LABEL, label_value
from trellis.workflow.contracts.aliases import RUN_LABEL
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.prediction_layout import requests_table
from trellis.workflow.spec import job_images
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis_contracts import job_image
from trellis_contracts.challenger import Challenger

_PORT = 8080
_MAX_DESCRIPTION = 2000
_MAX_DISPLAY_NAME = 128


class Deployable(Protocol):
    """What the messages need of a run's plan: the experiment, and the addresses of its files."""

    @property
    def experiment(self) -> Experiment: ...

    @property
    def run(self) -> Run: ...

    @property
    def images(self) -> Mapping[str, str]:
        """sha256:... of images by address with tag, as the run's plan has looked them up."""


def model(plan: Deployable, platform: Platform, challenger: Challenger) -> dict[str, Any]:
    """The Model to register: the challenger's saved model in the image that serves it. Of a
    service's model, which has its own files and server, the fields that it gets.
    """
    common = {
        "display_name": plan.experiment.name,
        "description": plan.experiment.about[:_MAX_DESCRIPTION],
        "version_description": description(challenger),
        "labels": {
            **_labels(plan.experiment, platform),
            RUN_LABEL: label_value(plan.run.folder),
            "trellis-dataset": label_value(challenger.provenance.dataset),
            "trellis-trainer": label_value(job_image.TAG.replace(".", "-")),
        },
    }
    if challenger.service is not None:
        return common
    return {
        **common,
        "artifact_uri": challenger.model.rstrip("/"),
        "container_spec": {
            "image_uri": job_images.by_digest(
                job_images.of_server(
                    plan.experiment,
                    platform,
                    gpu=plan.experiment.deployment.machines.gpu is not None,
                ),
                plan.images,
            ),
            **_server(plan.experiment, platform),
            "ports": [{"container_port": _PORT}],
        },
        **job_messages.encryption(platform),
    }


def _server(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """How the server is started, and its routes: ours, or the program of an image that is not."""
    if experiment.foreign:
        program = experiment.commands
        routes = {"health_route": program.health, "predict_route": program.predict}
        return {**({"command": program.serve} if program.serve else {}), **routes}
    limits = platform.serving.image_uris
    return {
        "command": job_image.COMMANDS["serve"].argv,
        **({"args": [f"--image-uri={prefix}" for prefix in limits]} if limits else {}),
        "health_route": "/health",
        "predict_route": "/predict",
    }


def origin(plan: Deployable, platform: Platform, challenger: Challenger) -> dict[str, str]:
    """What the version is registered from, as `ModelVersionOperator` takes it."""
    if challenger.service is None:
        return {}
    return {"service": challenger.service, "model": challenger.model}


def generation(plan: Deployable, platform: Platform, challenger: Challenger) -> str:
    """The `generation` with which the challenger is registered.

    Another challenger of the same run, as after a cleared training, becomes another version; the
    same challenger keeps its version.
    """
    text = json.dumps(challenger.to_document(), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{plan.experiment.generation}-{digest}"


def description(challenger: Challenger) -> str:
    """A version's description: the run it comes from, as JSON of at most 2,000 characters.

    If it is longer, the longest fields are left out and named under "left_out".
    """
    provenance = challenger.provenance
    content: dict[str, Any] = {
        "run": provenance.run,
        "contender": challenger.contender,
        "dataset": provenance.dataset,
        "versions": provenance.versions,
        "code_sha256": provenance.code_sha256,
        "hyperparameters": challenger.hyperparameters,
    }
    text = json.dumps(content, ensure_ascii=False)
    while len(text) > _MAX_DESCRIPTION:
        longest = max(content, key=lambda name: len(json.dumps(content[name])))
        del content[longest]
        content["left_out"] = [*content.get("left_out", []), longest]
        text = json.dumps(content, ensure_ascii=False)
    return text


def planned_endpoint(plan: Deployable, platform: Platform) -> dict[str, Any]:
    """The Endpoint that a run creates if there is none."""
    return endpoint(plan.experiment, platform)


def endpoint(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """The Endpoint of an experiment, for all versions of its model."""
    return {
        "display_name": experiment.name,
        "description": experiment.about[:_MAX_DESCRIPTION],
        "labels": _labels(experiment, platform),
        **job_messages.private_connection(experiment, platform),
        **job_messages.encryption(platform),
        **_requests(experiment, platform),
    }


def _requests(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """The field for the sample of requests that is kept, if there is one."""
    if experiment.deployment.requests is None:
        return {}
    config = {
        "enabled": True,
        "sampling_rate": experiment.deployment.requests.share,
        "bigquery_destination": {"output_uri": f"bq://{requests_table(experiment, platform)}"},
    }
    return {"predict_request_response_logging_config": config}


def examples(plan: Deployable, platform: Platform) -> str:
    """Address of the file with the smoke test's examples."""
    return plan.run.challenger


def deployed_model(plan: Deployable, platform: Platform) -> dict[str, Any]:
    """The challenger's DeployedModel: machines, service account. The operator adds its name."""
    name = f"{plan.experiment.name} {plan.run.folder}"[:_MAX_DISPLAY_NAME]
    return {"display_name": name, **resources(plan.experiment, platform)}


def deployed_version(experiment: Experiment, platform: Platform, version: str) -> dict[str, Any]:
    """The DeployedModel of a version that a rollback restores. version: its resource name."""
    number = version.rpartition("@")[2]
    name = f"{experiment.name} version {number}"
    return {"display_name": name, **resources(experiment, platform)}


def resources(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """Fields of a DeployedModel, for any version: its machines and service account."""
    machines = experiment.deployment.machines
    least, most = machines.replicas
    machine: dict[str, Any] = {"machine_type": machines.type}
    if machines.gpu:
        machine |= {"accelerator_type": machines.gpu, "accelerator_count": machines.gpus}
    account = platform.serving_account
    return {
        "dedicated_resources": {
            "machine_spec": machine,
            "min_replica_count": least,
            "max_replica_count": most,
        },
        **({"service_account": account} if account else {}),
    }


def _labels(experiment: Experiment, platform: Platform) -> dict[str, str]:
    """Labels of the owner, for billing and for finding it."""
    return {
        **platform.labels,
        EXPERIMENT_LABEL: experiment.name,
        "owner": label_value(experiment.owner),
    }
