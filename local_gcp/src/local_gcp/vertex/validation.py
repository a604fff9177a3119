"""Checks a new job by Vertex AI's rules, and refuses fields that are not emulated.

The rules are those of the field comments in the API (CustomJob, CustomJobSpec, WorkerPoolSpec,
MachineSpec) and of https://cloud.google.com/vertex-ai/docs/training/distributed-training.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import proto
from google.cloud import aiplatform_v1 as api

from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.jobs.run import TYPES
from local_gcp.vertex import machines
from local_gcp.wire import not_emulated

E = TypeVar("E", bound=proto.Enum)

DISPLAY_NAME = 128

ENVIRONMENT = 100
PACKAGES = 100

LABEL_RULES = (
    "There can be no more than 64 labels attached to a single resource. Label keys and values can "
    "only contain lowercase letters, numbers, dashes and underscores. Label keys must start with a "
    "letter or number, must be less than 64 characters in length, and must be less that 128 bytes "
    "in length when encoded in UTF-8. Label values must be less than 64 characters in length, and "
    "must be less that 128 bytes in length when encoded in UTF-8."
)
_VARIABLE = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_KEY = re.compile(r"projects/[^/]+/locations/(?P<region>[^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_NETWORK = re.compile(r"projects/\d+/global/networks/[^/]+")
_REDUCTION_SERVER = re.compile(
    r"\w+-docker\.pkg\.dev/vertex-ai-restricted/training/reductionserver\b.*"
)
_GCS_FOLDER = re.compile(r"gs://[^/]+(/.*)?")


def check_resource(resource: Any, field: str, region: str) -> None:
    """Check the fields that all resources have: display name, labels and encryption key. `region`:
    theirs.
    """
    check_display_name(resource.display_name, f"{field}.display_name")
    check_labels(resource.labels, f"{field}.labels")
    check_encryption(resource, field, region)


def check_encryption(resource: Any, field: str, region: str) -> None:
    """The encryption key of a resource, if it has one."""
    if "encryption_spec" in resource:
        _check_key(resource.encryption_spec.kms_key_name, f"{field}.encryption_spec", region)


def _check_key(key: str, spec: str, region: str) -> None:
    field = f"{spec}.kms_key_name"
    if not key:
        raise invalid_field(field, REQUIRED)
    match = _KEY.fullmatch(key)
    if not match:
        form = "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY"
        raise invalid_field(field, f"{key!r} is not {form}.")
    if match["region"] != region:
        raise invalid_field(field, f"The key is in {match['region']}, the resource in {region}.")


def check_display_name(display_name: str, field: str) -> None:
    """Required, at most 128 characters."""
    if not display_name:
        raise invalid_field(field, REQUIRED)
    if len(display_name) > DISPLAY_NAME:
        raise invalid_field(
            field, f"It has {len(display_name)} characters; at most {DISPLAY_NAME} are allowed."
        )


def check_labels(labels: Mapping[str, str], field: str) -> None:
    """Raise Vertex AI's error for labels that break its rules, with the label in question.

    The message is quoted in https://github.com/GoogleCloudPlatform/cortex-data-foundation/issues/27.
    """
    problem = _label_problem(labels)
    if problem:
        raise invalid_field(field, f"{LABEL_RULES} (local_gcp: {problem}.)")


def _label_problem(labels: Mapping[str, str]) -> str | None:
    if len(labels) > 64:
        return f"there are {len(labels)}"
    for key, value in labels.items():
        if not key or not (_is_letter(key[0]) or key[0].isnumeric()):
            return f"the key {key!r} does not start with a lowercase letter or number"
        for text, what in ((key, "key"), (value, f"value of {key!r}")):
            if len(text) >= 64 or len(text.encode()) >= 128:
                return f"the {what}, {text!r}, is too long"
            if not all(_is_letter(c) or c.isnumeric() or c in "_-" for c in text):
                return f"the {what}, {text!r}, has other characters"
    return None


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
        raise invalid_field(f"{field}.worker_pool_specs", "The first worker pool is required.")
    if len(pools) > len(TYPES):
        raise invalid_field(
            f"{field}.worker_pool_specs",
            f"It has {len(pools)} pools; at most {len(TYPES)} are allowed.",
        )
    for number, pool in enumerate(pools):
        if pool:  # an empty pool is only a placeholder
            _check_pool(pool, f"{field}.worker_pool_specs[{number}]")
    if pools[0].replica_count != 1:
        raise invalid_field(
            f"{field}.worker_pool_specs[0].replica_count",
            f"{pools[0].replica_count} is not 1: the first worker pool, the primary, has exactly 1 "
            "replica. Put further workers into the second pool.",
        )
    prefix = spec.base_output_directory.output_uri_prefix
    if prefix and not _GCS_FOLDER.fullmatch(prefix):
        raise invalid_field(
            f"{field}.base_output_directory.output_uri_prefix", f"{prefix!r} is not gs://BUCKET/..."
        )
    if spec.network and not _NETWORK.fullmatch(spec.network):
        form = "projects/PROJECT_NUMBER/global/networks/NETWORK"
        raise invalid_field(f"{field}.network", f"{spec.network!r} is not {form}.")
    _enum(api.Scheduling.Strategy, spec.scheduling.strategy, f"{field}.scheduling.strategy")
    for name in ("timeout", "max_wait_duration"):
        if getattr(spec.scheduling, name).total_seconds() < 0:
            raise invalid_field(f"{field}.scheduling.{name}", "It is negative.")


def _check_pool(pool: api.WorkerPoolSpec, field: str) -> None:
    for name in ("nfs_mounts", "lustre_mounts"):
        if getattr(pool, name):
            raise not_emulated(f"{field}.{name}", "Read from a bucket, at /gcs/BUCKET.")
    if pool.replica_count < 1:
        raise invalid_field(f"{field}.replica_count", "It must be at least 1.")
    check_machine(pool.machine_spec, f"{field}.machine_spec")
    if "reservation_affinity" in pool.machine_spec:
        raise not_emulated(
            f"{field}.machine_spec.reservation_affinity",
            "Leave it out: the job then runs on this machine.",
        )
    if "container_spec" in pool:
        if not pool.container_spec.image_uri:
            raise invalid_field(f"{field}.container_spec.image_uri", REQUIRED)
        if _REDUCTION_SERVER.fullmatch(pool.container_spec.image_uri):
            raise not_emulated(
                f"Reduction Server ({field}.container_spec.image_uri)",
                "Leave the pool out: workers without GPUs sum up their gradients themselves.",
            )
        check_env(pool.container_spec.env, f"{field}.container_spec.env")
    elif "python_package_spec" in pool:
        _check_package(pool.python_package_spec, f"{field}.python_package_spec")
    else:
        raise invalid_field(field, "container_spec or python_package_spec is required.")


def check_machine(machine: api.MachineSpec, field: str, serving: bool = False) -> None:
    """Raise RpcError if the machine is one that Vertex AI refuses, or that is not emulated.

    serving: for a deployed model or a batch prediction, not for a job.
    """
    if not machine.machine_type:
        raise invalid_field(f"{field}.machine_type", REQUIRED)
    if machine.tpu_topology or re.match(r"ct\d|cloud-tpu", machine.machine_type):
        raise not_emulated(
            f"TPUs ({field}: {machine.machine_type})", "Use a machine type without TPU."
        )
    gpu = _enum(api.AcceleratorType, machine.accelerator_type, f"{field}.accelerator_type")
    wrong = machines.problem(
        machine.machine_type, gpu.name if gpu else "", machine.accelerator_count, serving
    )
    if wrong:
        raise invalid_field(f"{field}.{wrong[0]}", wrong[1])


def _enum(kind: type[E], number: int, field: str) -> E:
    """The member of an enum; a newer client may send a number that this one does not know."""
    try:
        return kind(number)
    except ValueError as error:
        raise invalid_field(field, f"{error}.") from None


def _check_package(package: api.PythonPackageSpec, field: str) -> None:
    for name in ("executor_image_uri", "package_uris", "python_module"):
        if not getattr(package, name):
            raise invalid_field(f"{field}.{name}", REQUIRED)
    if len(package.package_uris) > PACKAGES:
        raise invalid_field(f"{field}.package_uris", f"At most {PACKAGES} are allowed.")
    for uri in package.package_uris:
        if not re.fullmatch(r"gs://[^/]+/.+", uri):
            raise invalid_field(f"{field}.package_uris", f"{uri!r} is not gs://BUCKET/OBJECT.")
    check_env(package.env, f"{field}.env")


def check_env(variables: Sequence[api.EnvVar], field: str) -> None:
    """Environment variables of a container or a Python package; rules of EnvVar."""
    if len(variables) > ENVIRONMENT:
        raise invalid_field(field, f"At most {ENVIRONMENT} variables are allowed.")
    for number, variable in enumerate(variables):
        at = f"{field}[{number}]"
        if not _VARIABLE.fullmatch(variable.name):
            raise invalid_field(f"{at}.name", f"{variable.name!r} is not a C identifier.")
        if not variable.value:
            raise invalid_field(f"{at}.value", REQUIRED)
    if len({variable.name for variable in variables}) < len(variables):
        raise invalid_field(field, "EnvVar names must be unique.")


def _is_letter(character: str) -> bool:
    # International letters are allowed; those without case count as lowercase.
    return character.isalpha() and character == character.lower()
