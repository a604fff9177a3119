"""Validates that this machine has an environment for each image, where local_gcp runs the jobs."""

import fnmatch
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from trellis.workflow.spec import job_images, own_image
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import Problem

# The files that local_gcp reads before that of its command line.
_MORE = "LOCAL_GCP_IMAGES"

_OURS = "/.venv/trainer/"


def problems(experiment: Experiment, platform: Platform) -> Iterator[Problem]:
    """Return which of the experiment's own images no line of local_gcp's files replaces, with the
    line to add.
    """
    names = {"image": experiment.image, "serve_image": experiment.serve_image}
    # On Google Cloud the file is of no use, and need not be there.
    if platform.profile is None or platform.images is None or not any(names.values()):
        return
    before = [Path(name) for name in os.environ.get(_MORE, "").split(os.pathsep) if name]
    try:
        entries = [one for file in (*before, Path(platform.images)) for one in _entries(file)]
    except (OSError, yaml.YAMLError, ValueError) as error:
        yield Problem(("image",), f"{platform.images} (images of platform.yaml): {error}")
        return
    addresses = {
        "image": job_images.of_jobs(experiment, platform, gpu=False),
        "serve_image": job_images.of_server(experiment, platform, gpu=False),
    }
    for key, name in names.items():
        if own_image.is_address(name) and _of(entries, name) is None:
            line = f'- {{image: "{name}", bin: FOLDER}}'
            yield Problem(
                (key,),
                f"no line of {platform.images} says which environment of this machine stands for "
                f"{name}; add this one, with the FOLDER of its programs (`bin`), and entrypoint, "
                f"workdir and env if the image has them:\n    {line}",
            )
        elif name is not None and _of(entries, addresses[key]) is None:
            line = _line(entries, platform, name)
            yield Problem(
                (key,),
                f"no line of {platform.images} says which environment of this machine stands for "
                f"{addresses[key]}; add this one, and make the environment with `make image "
                f"NAME={name}`:\n    {line}",
            )


def _line(entries: list[Mapping[str, Any]], platform: Platform, name: str) -> str:
    """An entry as that of our own image, with the packages of another environment."""
    trainer = _of(entries, platform.image("trainer", "0")) or {}
    folder = str(trainer.get("bin", f"${{HERE}}/..{_OURS}bin"))
    pattern = f"*/{platform.registry.rpartition('/')[2]}/{name}:*"
    own = {"image": pattern, "bin": folder.replace(_OURS, f"/.venv/images/{name}/")}
    text = yaml.safe_dump({**trainer, **own}, default_flow_style=True, sort_keys=False, width=1000)
    return f"- {text.strip()}"


def _of(entries: list[Mapping[str, Any]], address: str) -> Mapping[str, Any] | None:
    """The first entry whose pattern matches an image's address."""
    for entry in entries:
        if fnmatch.fnmatchcase(address, str(entry["image"])):
            return entry
    return None


def _entries(file: Path) -> list[Mapping[str, Any]]:
    found: Any = yaml.safe_load(file.read_text())
    if not isinstance(found, list) or not all(
        isinstance(one, dict) and "image" in one for one in found
    ):
        raise ValueError("expected a list of images")
    return found
