"""Checks a new job by Vertex AI's rules, and refuses fields that are not emulated.

The rules are those of the field comments in the API (CustomJob, CustomJobSpec, WorkerPoolSpec,
MachineSpec) and of https://cloud.google.com/vertex-ai/docs/training/distributed-training.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from google.cloud import aiplatform_v1 as api

from local_gcp.jobs.run import TYPES
from local_gcp.vertex import machines
from local_gcp.wire import invalid_argument, not_emulated

DISPLAY_NAME = 128
LABEL = 63
LABELS = 64
ENVIRONMENT = 100
PACKAGES = 100

_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_GCS_FOLDER = re.compile(r"gs://[^/]+(/.*)?")


def check_display_name(display_name: str, field: str) -> None:
    """Required, at most 128 characters."""
    if not display_name:
        raise invalid_argument(field, "is required.")
    if len(display_name) > DISPLAY_NAME:
        raise invalid_argument(
            field, f"has {len(display_name)} characters; at most {DISPLAY_NAME} are allowed."
        )


def check_labels(labels: Mapping[str, str], field: str) -> None:
    """https://cloud.google.com/resource-manager/docs/labels-overview#requirements"""
    if len(labels) > LABELS:
        raise invalid_argument(field, f"has {len(labels)} labels; at most {LABELS} are allowed.")
    for key, value in labels.items():
        if not key or not _is_letter(key[0]):
            raise invalid_argument(field, f"the key {key!r} must begin with a lowercase letter.")
        for text, what in ((key, "key"), (value, f"value of {key!r}")):
            if len(text) > LABEL:
                raise invalid_argument(
                    field, f"the {what}, {text!r}, is longer than {LABEL} characters."
                )
            if not all(_is_letter(c) or c.isnumeric() or c in "_-" for c in text):
                raise invalid_argument(
                    field,
                    f"the {what}, {text!r}, may have lowercase letters, digits, _ and - only.",
                )


def check_job_spec(spec: api.CustomJobSpec, field: str) -> None:
    """A CustomJobSpec, of a CustomJob or of the trials of a tuning job."""
    for name, instead in {
        "persistent_resource_id": "Leave it out: the job then runs on this machine.",
        "models": "Read the model's artifacts from its gs:// folder.",
    }.items():
        if getattr(spec, name):
            raise not_emulated(f"{field}.{name}", instead)
    pools = spec.worker_pool_specs
    if not pools or not pools[0]:
        raise invalid_argument(f"{field}.worker_pool_specs", "the first worker pool is required.")
    if len(pools) > len(TYPES):
        raise invalid_argument(
            f"{field}.worker_pool_specs",
            f"has {len(pools)} pools; at most {len(TYPES)} are allowed.",
        )
    for number, pool in enumerate(pools):
        if pool:  # an empty pool is only a placeholder
            _check_pool(pool, f"{field}.worker_pool_specs[{number}]")
    if pools[0].replica_count != 1:
        raise invalid_argument(
            f"{field}.worker_pool_specs[0].replica_count",
            f"is {pools[0].replica_count}, but the first worker pool, the primary, has exactly 1 "
            "replica. Put further workers into the second pool.",
        )
    prefix = spec.base_output_directory.output_uri_prefix
    if prefix and not _GCS_FOLDER.fullmatch(prefix):
        raise invalid_argument(
            f"{field}.base_output_directory.output_uri_prefix", f"{prefix!r} is not gs://BUCKET/..."
        )
    for name in ("timeout", "max_wait_duration"):
        if getattr(spec.scheduling, name).total_seconds() < 0:
            raise invalid_argument(f"{field}.scheduling.{name}", "is negative.")


def _check_pool(pool: api.WorkerPoolSpec, field: str) -> None:
    for name in ("nfs_mounts", "lustre_mounts"):
        if getattr(pool, name):
            raise not_emulated(f"{field}.{name}", "Read from a bucket, at /gcs/BUCKET.")
    if pool.replica_count < 1:
        raise invalid_argument(f"{field}.replica_count", "must be at least 1.")
    check_machine(pool.machine_spec, f"{field}.machine_spec")
    if "container_spec" in pool:
        if not pool.container_spec.image_uri:
            raise invalid_argument(f"{field}.container_spec.image_uri", "is required.")
        _check_env(pool.container_spec.env, f"{field}.container_spec.env")
    elif "python_package_spec" in pool:
        _check_package(pool.python_package_spec, f"{field}.python_package_spec")
    else:
        raise invalid_argument(field, "container_spec or python_package_spec is required.")


def check_machine(machine: api.MachineSpec, field: str, serving: bool = False) -> None:
    """Raise RpcError if the machine is one that Vertex AI refuses, or that is not emulated.

    serving: for a deployed model or a batch prediction, not for a job.
    """
    if not machine.machine_type:
        raise invalid_argument(f"{field}.machine_type", "is required.")
    if machine.tpu_topology or re.match(r"ct\d|cloud-tpu", machine.machine_type):
        raise not_emulated(
            f"TPUs ({field}: {machine.machine_type})", "Use a machine type without TPU."
        )
    gpu = api.AcceleratorType(machine.accelerator_type)
    wrong = machines.problem(
        machine.machine_type, gpu.name if gpu else "", machine.accelerator_count, serving
    )
    if wrong:
        raise invalid_argument(f"{field}.{wrong[0]}", wrong[1])


def _check_package(package: api.PythonPackageSpec, field: str) -> None:
    for name in ("executor_image_uri", "package_uris", "python_module"):
        if not getattr(package, name):
            raise invalid_argument(f"{field}.{name}", "is required.")
    if len(package.package_uris) > PACKAGES:
        raise invalid_argument(f"{field}.package_uris", f"at most {PACKAGES} are allowed.")
    for uri in package.package_uris:
        if not re.fullmatch(r"gs://[^/]+/.+", uri):
            raise invalid_argument(f"{field}.package_uris", f"{uri!r} is not gs://BUCKET/OBJECT.")
    _check_env(package.env, f"{field}.env")


def _check_env(variables: list[api.EnvVar], field: str) -> None:
    if len(variables) > ENVIRONMENT:
        raise invalid_argument(field, f"at most {ENVIRONMENT} variables are allowed.")
    for number, variable in enumerate(variables):
        if not _VARIABLE.fullmatch(variable.name):
            raise invalid_argument(
                f"{field}[{number}].name", f"{variable.name!r} is not a name of a variable."
            )


def _is_letter(character: str) -> bool:
    # International letters are allowed; those without case count as lowercase.
    return character.isalpha() and character == character.lower()
