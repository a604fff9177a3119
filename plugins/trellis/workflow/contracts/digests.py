"""Digests of jobs, by which equal steps of two runs are found.

A job's message has everything that its programs get: image, command and flags (dataset, model with
its file's digest, hyperparameters, seed, epochs, metric), machines, and what is searched. What only
says whose it is, which release started it (its environment), where it writes or when it is stopped
changes no result.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_NO_PART = ("display_name", "labels", "encryption_spec")
_NO_PART_OF_CONTAINER = ("env",)
_NO_PART_OF_SPEC = ("base_output_directory", "service_account", "network", "tensorboard")


def of_tuning(
    job: Mapping[str, Any], generation: int, files: Mapping[str, str], images: Mapping[str, str]
) -> str | None:
    """64 hexadecimal digits of a HyperparameterTuningJob in JSON form.

    Its trials' time limit counts: a trial that it stops is none of those chosen from. Other
    arguments as `of_training` has them.
    """
    spec = job["trial_job_spec"]
    left = {name: value for name, value in spec.items() if name not in _NO_PART_OF_SPEC}
    return _digest({**job, "trial_job_spec": left}, generation, files, images)


def of_training(
    job: Mapping[str, Any], generation: int, files: Mapping[str, str], images: Mapping[str, str]
) -> str | None:
    """Digest of a CustomJob that trains; None if the digest of its image is not known.

    generation: of the experiment; increasing it repeats everything. files: those that the
    job reads beside its dataset, with a checksum. images: sha256:... by address with tag.
    """
    left = (*_NO_PART_OF_SPEC, "scheduling")
    spec = {name: value for name, value in job["job_spec"].items() if name not in left}
    return _digest({**job, "job_spec": spec}, generation, files, images)


def images_of(job: Any) -> set[str]:
    """The addresses of a job's images."""
    if isinstance(job, Mapping):
        own = {job["image_uri"]} if "image_uri" in job else set()
        return own.union(*map(images_of, job.values()))
    return set().union(*map(images_of, job)) if isinstance(job, list) else set()


def _digest(
    job: Mapping[str, Any], generation: int, files: Mapping[str, str], images: Mapping[str, str]
) -> str | None:
    if not images_of(job) <= images.keys():
        return None
    counting = {name: value for name, value in job.items() if name not in _NO_PART}
    content = [_with_digests(counting, images), generation, dict(files)]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _with_digests(job: Any, images: Mapping[str, str]) -> Any:
    """The job with each image's digest in place of its address."""
    if isinstance(job, Mapping):
        return {
            name: images[value] if name == "image_uri" else _with_digests(value, images)
            for name, value in job.items()
            if name not in _NO_PART_OF_CONTAINER
        }
    return [_with_digests(part, images) for part in job] if isinstance(job, list) else job
