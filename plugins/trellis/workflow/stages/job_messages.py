"""Parts that the messages of all jobs share, in protobuf's JSON form."""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from trellis.identity import label_value
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import pretrained
from trellis.workflow.spec import job_images
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine, Machines
from trellis.workflow.spec.platform import Platform
from trellis_contracts import job_image
from trellis_contracts.catalog import Value, flag
from trellis_contracts.held_out import CHOICES
from trellis_contracts.plan import Planned


def seconds(duration: timedelta) -> str:
    """A duration as protobuf's JSON writes it."""
    return f"{duration.total_seconds():.0f}s"


def labels(experiment: Experiment, platform: Platform) -> dict[str, str]:
    """Labels of the job's owner, for billing; the operators add the task's labels."""
    return {
        **platform.labels,
        "experiment": label_value(experiment.name),
        "owner": label_value(experiment.owner),
    }


def identity(platform: Platform) -> dict[str, str]:
    """A job spec's service account and network."""
    fields = {"service_account": platform.service_account, "network": platform.network}
    return {name: value for name, value in fields.items() if value}


def tensorboard(platform: Platform) -> dict[str, str]:
    """A job spec's field for the TensorBoard that gets its logs, if the group has one."""
    return {"tensorboard": platform.tensorboard} if platform.tensorboard else {}


def persistent(machines: Machines) -> dict[str, Any]:
    """A job spec's field for the persistent resource that its machines are of."""
    return {"persistent_resource_id": machines.persistent} if machines.persistent else {}


def reservation(name: str, platform: Platform) -> dict[str, Any]:
    """A machine's field for the reservation that it is of. name: ZONE/NAME.

    https://docs.cloud.google.com/vertex-ai/docs/training/use-reservations
    """
    zone, _, own = name.partition("/")
    return {
        "reservation_affinity_type": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [f"projects/{platform.project}/zones/{zone}/reservations/{own}"],
    }


def encryption(platform: Platform) -> dict[str, Any]:
    """The field for the group's own encryption key, if it has one."""
    if not platform.encryption_key:
        return {}
    return {"encryption_spec": {"kms_key_name": platform.encryption_key}}


def private_connection(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """The field that makes an endpoint private to the group's network; none for a public one.

    By Private Service Connect. The endpoint's field `network` (private services access) allows only
    one deployed model, so traffic could not be split, and there would be no canary.
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


def query(
    experiment: Experiment, platform: Platform, statement: str, **fields: Any
) -> dict[str, Any]:
    """Configuration of a BigQuery job that runs a statement or a script."""
    configuration = {"query": statement, "useLegacySql": False, **fields}
    if platform.encryption_key and "destinationTable" in fields:
        key = {"kmsKeyName": platform.encryption_key}
        configuration["destinationEncryptionConfiguration"] = key
    return {"query": configuration, "labels": labels(experiment, platform)}


def table_reference(name: str) -> dict[str, str]:
    """PROJECT.DATASET.TABLE as BigQuery's REST API has it."""
    project, dataset, table = name.split(".")
    return {"projectId": project, "datasetId": dataset, "tableId": table}


def snapshot(plan: Planned, platform: Platform) -> str:
    """PROJECT.DATASET.TABLE of the frozen rows of a plan's dataset."""
    return platform.own_table(f"snapshot_{plan.dataset.fingerprint}")


def dataset_mark(plan: Plan, platform: Platform) -> str:
    """The object that marks a plan's dataset as complete."""
    return layout.dataset_mark(plan.dataset.uri)


def pool(
    experiment: Experiment,
    platform: Platform,
    command: str,
    arguments: list[str],
    machines: Machine,
    replicas: int = 1,
) -> dict[str, Any]:
    """A worker pool that runs one of the trainer's commands on the given number of machines, in the
    image of the experiment; if that is not ours, with its own command for `train`.
    """
    gpu = machines.gpu is not None
    image = job_images.of_jobs(experiment, platform, gpu=gpu, command=command)
    argv = job_image.COMMANDS[command].argv
    if experiment.foreign and command == "train":
        argv = experiment.commands.train
    machine: dict[str, Any] = {"machine_type": machines.type}
    if machines.gpu:
        machine |= {"accelerator_type": machines.gpu, "accelerator_count": machines.gpus}
    if isinstance(machines, Machines) and machines.reservation:
        machine["reservation_affinity"] = reservation(machines.reservation, platform)
    return {
        "machine_spec": machine,
        "replica_count": replicas,
        "container_spec": {
            "image_uri": image,
            **({"command": argv} if argv else {}),
            "args": arguments,
            "env": job_image.variables(),
        },
    }


def custom_job(
    experiment: Experiment,
    platform: Platform,
    title: str,
    command: str,
    arguments: list[str],
    machines: Machines,
) -> dict[str, Any]:
    """A CustomJob of one of the trainer's commands on a machine, which may take as long as a
    comparison. title: in its name.
    """
    return {
        "display_name": f"{experiment.name} {title}",
        "labels": labels(experiment, platform),
        "job_spec": {
            "worker_pool_specs": [pool(experiment, platform, command, arguments, machines)],
            "scheduling": scheduling(platform.compare.timeout, machines),
            **identity(platform),
        },
        **encryption(platform),
    }


def reducer(platform: Platform) -> dict[str, Any]:
    """The container of a reduction server."""
    return {"image_uri": job_images.reducer(platform)}


def scheduling(timeout: timedelta, machines: Machines, *, lockstep: bool = False) -> dict[str, Any]:
    """A job's time limits, provisioning model, and handling of lost workers.

    Workers in lockstep cannot continue without one of them: all restart together, from the last
    checkpoint. Others go on, and Vertex AI replaces the lost one.
    """
    wait = {"max_wait_duration": seconds(machines.wait)} if machines.queue and machines.wait else {}
    return {
        "timeout": seconds(timeout),
        "strategy": "FLEX_START" if wait else "SPOT" if machines.spot else "STANDARD",
        **wait,
        **({"restart_job_on_worker_restart": True} if lockstep else {}),
    }


def read_by(spec: Any, reused: Mapping[str, str] | None) -> Iterator[str]:
    """List what the programs of a CustomJobSpec read: the dataset; if they are reused, an earlier
    run's folder.
    """
    if reused is not None:
        yield reused["source"]
        return
    for argument in spec.worker_pool_specs[0].container_spec.args if spec.worker_pool_specs else ():
        if argument.startswith("--dataset="):
            yield argument.partition("=")[2]


def training_arguments(plan: Plan, epochs: int, outputs: str, values: Mapping[str, Value]) -> list:
    """Flags of trainer.task for a trial (outputs: metrics) or a full training (outputs: all).

    `values`: hyperparameters beside those that the experiment fixes; a seed in place of its own.
    """
    experiment = plan.experiment
    own = experiment.own_model
    flags = {
        "dataset": plan.dataset.uri,
        "model": plan.model_address,
        **({"model_sha256": own.sha256} if own else {}),
        "task": experiment.task,
        "metric": experiment.metric,
        "epochs": epochs,
        "seed": experiment.seed,
        "outputs": outputs,
        **_defaults(experiment, searched=outputs == "metrics"),
        **pretrained.with_address(experiment, plan.run.bucket),
        **values,
    }
    return [f"--{name}={flag(value)}" for name, value in flags.items()]


def _defaults(experiment: Experiment, *, searched: bool) -> dict[str, Value]:
    """Defaults of the hyperparameters for a program that is not ours: ours reads the model's file.

    searched: without those that the tuner gives.
    """
    if not experiment.foreign or experiment.own_model is None:
        return {}
    given = experiment.tune.search if searched and experiment.tune else {}
    declared = experiment.own_model.declaration.hyperparameters
    return {name: one["default"] for name, one in declared.items() if name not in given}


def held_out_arguments(experiment: Experiment) -> list[str]:
    """Flags of trainer.task for what a full training chooses on the validation split."""
    asked = experiment.held_out
    flags = {name: getattr(asked, name) for name in CHOICES}
    flags["decide"] = asked.decide and json.dumps(asked.decide.to_document())
    return [f"--{name}={value}" for name, value in flags.items() if value is not None]
