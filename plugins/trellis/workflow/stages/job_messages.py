"""Parts that the messages of all jobs share, in protobuf's JSON form."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from research.experiment import Experiment, Machines
from research.plan import Plan
from research.platform import Platform
from research.trainer_schema import Value, flag
from research.trainer_schema import load as load_schema
from vertex.identity import label_value


def seconds(duration: timedelta) -> str:
    """A duration as protobuf's JSON writes it."""
    return f"{duration.total_seconds():.0f}s"


def labels(plan: Plan, platform: Platform) -> dict[str, str]:
    """Whose job it is, for the bill: the operators add which task's it is."""
    return {
        **platform.labels,
        "experiment": label_value(plan.experiment.name),
        "owner": label_value(plan.experiment.owner),
    }


def identity(platform: Platform) -> dict[str, str]:
    """Fields of a job spec that say as whom, and in which network, it runs."""
    fields = {"service_account": platform.service_account, "network": platform.network}
    return {name: value for name, value in fields.items() if value}


def encryption(platform: Platform) -> dict[str, Any]:
    """The field of a job that names the group's own encryption key, if it has one."""
    if not platform.encryption_key:
        return {}
    return {"encryption_spec": {"kms_key_name": platform.encryption_key}}


def private_connection(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """The field of an endpoint that keeps it inside the group's network; none for a public one.

    By Private Service Connect. The endpoint's own field `network` (private services access) takes
    one model only, so that there is no traffic to split and no canary.
    https://docs.cloud.google.com/vertex-ai/docs/predictions/using-private-endpoints
    Raises PlatformError if the group names no network.
    """
    if experiment.deploy is None or not experiment.deploy.private:
        return {}
    connection = {"project_id": platform.project, "network": platform.private_network()}
    return {
        "private_service_connect_config": {
            "enable_private_service_connect": True,
            "project_allowlist": [platform.project],
            "psc_automation_configs": [connection],
        }
    }


def query(plan: Plan, platform: Platform, statement: str, **fields: Any) -> dict[str, Any]:
    """Configuration of a BigQuery job that runs a statement or a script."""
    configuration = {"query": statement, "useLegacySql": False, **fields}
    if platform.encryption_key and "destinationTable" in fields:
        key = {"kmsKeyName": platform.encryption_key}
        configuration["destinationEncryptionConfiguration"] = key
    return {"query": configuration, "labels": labels(plan, platform)}


def table_reference(name: str) -> dict[str, str]:
    """PROJECT.DATASET.TABLE as BigQuery's REST API has it."""
    project, dataset, table = name.split(".")
    return {"projectId": project, "datasetId": dataset, "tableId": table}


def snapshot(plan: Plan, platform: Platform) -> str:
    """PROJECT.DATASET.TABLE of the frozen rows of a plan's dataset."""
    return platform.own_table(f"snapshot_{plan.fingerprint}")


def pool(
    platform: Platform, command: str, arguments: list[str], machines: Machines, replicas: int = 1
) -> dict[str, Any]:
    """A worker pool that runs one of the trainer's commands on so many machines."""
    schema = load_schema()
    tag = f"{schema.image_tag}-gpu" if machines.gpu else schema.image_tag
    machine: dict[str, Any] = {"machine_type": machines.type}
    if machines.gpu:
        machine |= {"accelerator_type": machines.gpu, "accelerator_count": machines.gpus}
    return {
        "machine_spec": machine,
        "replica_count": replicas,
        "container_spec": {
            "image_uri": platform.image("trainer", tag),
            "command": schema.commands[command],
            "args": arguments,
        },
    }


def scheduling(timeout: timedelta, machines: Machines, workers: int = 1) -> dict[str, Any]:
    """When to stop a job, on which kind of machines, and what a lost worker means.

    Synchronous training cannot go on without one of its workers: all start again together, from
    the last checkpoint.
    """
    return {
        "timeout": seconds(timeout),
        "strategy": "SPOT" if machines.spot else "STANDARD",
        **({"restart_job_on_worker_restart": True} if workers > 1 else {}),
    }


def training_arguments(plan: Plan, epochs: int, outputs: str, values: Mapping[str, Value]) -> list:
    """Flags of trainer.task for a trial (outputs: metrics) or a full training (outputs: all).

    `values`: hyperparameters beside those that the experiment fixes.
    """
    experiment = plan.experiment
    flags = {
        "dataset": plan.dataset,
        "model": experiment.model,
        "task": experiment.task,
        "metric": experiment.tune.metric,
        "epochs": epochs,
        "seed": experiment.seed,
        "outputs": outputs,
        **experiment.hyperparameters,
        **values,
    }
    return [f"--{name}={flag(value)}" for name, value in flags.items()]
