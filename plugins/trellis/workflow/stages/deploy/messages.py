"""The messages that register and deploy the challenger, in protobuf's JSON form: pure functions.

https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.models
https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.endpoints
"""

import json
from typing import Any

from research import jobs
from research.experiment import Experiment
from research.plan import Plan
from research.platform import Platform
from research.registry_names import RUN_LABEL
from research.trainer_schema import load as load_schema
from vertex.identity import EXPERIMENT_LABEL, label_value

_PORT = 8080
_MAX_DESCRIPTION = 2000
_MAX_DISPLAY_NAME = 128


def model(plan: Plan, platform: Platform, challenger: dict[str, Any]) -> dict[str, Any]:
    """The Model to upload: the challenger's SavedModel in the job image's server.

    challenger: what challenger.json says.
    """
    schema = load_schema()
    provenance = challenger["provenance"]
    explained = challenger["explanation_spec"]
    return {
        "display_name": plan.experiment.name,
        "description": plan.experiment.about[:_MAX_DESCRIPTION],
        "version_description": description(challenger),
        "labels": {
            **_labels(plan.experiment, platform),
            RUN_LABEL: label_value(plan.run.folder),
            "trellis-dataset": label_value(provenance["dataset"]),
            "trellis-trainer": label_value(schema.image_tag.replace(".", "-")),
        },
        "artifact_uri": challenger["model"].rstrip("/"),
        "container_spec": {
            "image_uri": platform.image("trainer", _tag(plan.experiment)),
            "command": schema.commands["serve"],
            "ports": [{"container_port": _PORT}],
            "health_route": "/health",
            "predict_route": "/predict",
        },
        **({"explanation_spec": explained} if explained else {}),
        **jobs.encryption(platform),
    }


def description(challenger: dict[str, Any]) -> str:
    """What leads from a version back to its run, as one JSON text of at most 2,000 characters.

    What does not fit is left out, the longest first, and named under "left_out".
    """
    provenance = challenger["provenance"]
    content = {
        "run": provenance["run"],
        "contender": challenger["contender"],
        "dataset": provenance["dataset"],
        "versions": provenance["versions"],
        "code_sha256": provenance["code_sha256"],
        "hyperparameters": challenger["hyperparameters"],
    }
    text = json.dumps(content, ensure_ascii=False)
    while len(text) > _MAX_DESCRIPTION:
        longest = max(content, key=lambda name: len(json.dumps(content[name])))
        del content[longest]
        content["left_out"] = [*content.get("left_out", []), longest]
        text = json.dumps(content, ensure_ascii=False)
    return text


def endpoint(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """The Endpoint of an experiment, for all versions of its model."""
    return {
        "display_name": experiment.name,
        "description": experiment.about[:_MAX_DESCRIPTION],
        "labels": _labels(experiment, platform),
        **jobs.private_connection(experiment, platform),
        **jobs.encryption(platform),
    }


def deployed_model(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The DeployedModel: what the challenger runs on, and as whom. The operator adds its name."""
    name = f"{plan.experiment.name} {plan.run.folder}"[:_MAX_DISPLAY_NAME]
    return {"display_name": name, **resources(plan.experiment, platform)}


def resources(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """Fields of a DeployedModel: on which machines any version of the model runs, and as whom."""
    machines = experiment.deploy.machines
    least, most = machines.replicas
    machine: dict[str, Any] = {"machine_type": machines.type}
    if machines.gpu:
        machine |= {"accelerator_type": machines.gpu, "accelerator_count": machines.gpus}
    account = platform.service_account
    return {
        "dedicated_resources": {
            "machine_spec": machine,
            "min_replica_count": least,
            "max_replica_count": most,
        },
        **({"service_account": account} if account else {}),
    }


def _labels(experiment: Experiment, platform: Platform) -> dict[str, str]:
    """Whose it is, for the bill and for finding it."""
    return {
        **platform.labels,
        EXPERIMENT_LABEL: experiment.name,
        "owner": label_value(experiment.owner),
    }


def _tag(experiment: Experiment) -> str:
    tag = load_schema().image_tag
    return f"{tag}-gpu" if experiment.deploy.machines.gpu else tag
