"""images.yaml: the local environments that replace container images.

    - image: "*-docker.pkg.dev/my-project/my-repository/trainer:*"
      bin: /opt/trainer/bin

The files are those of `local-gcp up --images FILE` or $LOCAL_GCP_IMAGES (several, with ":" between
them). The first entry whose pattern matches the image's URI counts. Keys:

image       pattern of the image's URI (shell wildcards; the tag belongs to the URI, and a digest
            stands for any tag)
bin         folder with the image's programs, first in PATH
entrypoint  the image's ENTRYPOINT (default: none)
cmd         its CMD, used when a job gives no arguments (default: none)
workdir     its WORKDIR (default: /)
env         its ENV (default: none)
preload     modules that take long to import: the first program of the image makes a process that
            imports them, and each `python -m MODULE` begins as a fork of it (jobs/preloading.py)

${HERE} is the folder of the file. ${SAVEDMODEL_SERVER} is a program that serves a TensorFlow
SavedModel as Google's prediction images do: `entrypoint: [python, "${SAVEDMODEL_SERVER}"]`. There
is no container: the program sees this machine's files.

Or the image itself, whose programs then run in containers (jobs/container.py); this needs root and
runc. The image has all other settings:

    - image: "*-docker.pkg.dev/my-project/my-repository/trainer:*"
      oci: ${HERE}/trainer

oci         folder with the image as an OCI image layout (see jobs/oci.py for how to write one)
memory      bytes that a container may use, with K, M or G (default: 4G)
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import json
import os
import re
import string
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from local_gcp.jobs import oci, preloading

FILES = "LOCAL_GCP_IMAGES"
_SAVEDMODEL_SERVER = Path(__file__).parents[1] / "vertex/endpoints/servers/savedmodel.py"
_CONTAINER = Path(__file__).with_name("container.py")
_KEYS = ("image", "bin", "entrypoint", "cmd", "workdir", "env", "preload")
_KEYS_OF_OCI = ("image", "oci", "memory")
_MODULE = re.compile(r"\w+(\.\w+)*")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ImageError(Exception):
    """An invalid images.yaml, or an image without an entry; the message says what to do."""


@dataclasses.dataclass(frozen=True)
class Image:
    """A container image, and how local_gcp runs its programs."""

    image: str
    """Pattern of the image URI."""
    bin: str
    """Folder with its programs; of an OCI image, its layout."""
    entrypoint: Sequence[str] = ()
    cmd: Sequence[str] = ()
    workdir: str = "/"
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    preload: Sequence[str] = ()
    """Modules that are imported before a program starts."""
    memory: int = 0
    """Bytes that a container may use; 0: no container."""
    runs_by: Sequence[str] = ()
    """Prefix of each command, which runs it in a container."""

    def environment(self) -> dict[str, str]:
        """The variables of a process in this image, before those of the job."""
        if self.runs_by:
            return {"PYTHONUNBUFFERED": "1", **self.env}
        inherited = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
        return {
            **inherited,
            "PATH": f"{self.bin}:{_SYSTEM_PATH}",
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",  # log lines appear immediately
            **({preloading.VARIABLE: " ".join(self.preload)} if self.preload else {}),
            **self.env,
        }

    def command(self, command: Sequence[str], args: Sequence[str]) -> list[str]:
        """The command line: `command` replaces ENTRYPOINT, `args` replaces CMD.

        As in Kubernetes, a command without args drops the image's CMD.
        """
        argv = [*command, *args] if command else [*self.entrypoint, *(args or self.cmd)]
        return [*self.runs_by, *argv] if argv else []


def find_image(uri: str) -> Image:
    """The entry for an image URI; ImageError if there is none.

    The files are read each time: an edit takes effect with the next job, without a restart.
    """
    images = [image for file in image_files() for image in read_images(file)]
    # A digest names an image that had a tag, which is not known here: any of that name is it.
    name, by_digest, _ = uri.partition("@sha256:")
    for image in images:
        untagged = image.image.rpartition(":")[0]
        if fnmatch.fnmatchcase(uri, image.image) or (
            by_digest and fnmatch.fnmatchcase(name, untagged)
        ):
            if not Path(image.bin).is_dir():
                raise ImageError(f"{image.bin}, the environment for {uri}, does not exist.")
            return _unpacked(image) if image.memory else image
    known = ", ".join(image.image for image in images) or "none"
    raise ImageError(
        f"there is no local environment for the image {uri}. Known patterns: {known}. Add an entry "
        "(image, bin) to a file that `local-gcp up --images FILE` or $LOCAL_GCP_IMAGES names."
    )


def _unpacked(image: Image) -> Image:
    """An entry with `oci`, completed from the image's configuration."""
    if missing := oci.needs():
        raise ImageError(
            f"containers of {image.bin} cannot be run: {missing} is missing (apt-get install runc; "
            "local_gcp runs them as root)."
        )
    try:
        content = oci.read(Path(image.bin))
        rootfs = oci.unpack(content)
    except (oci.LayoutError, OSError) as error:
        raise ImageError(f"{image.bin}: {error}") from None
    container = {
        "rootfs": str(rootfs),
        "user": content.user,
        "workdir": content.workdir,
        "memory": image.memory,
    }
    return dataclasses.replace(
        image,
        entrypoint=content.entrypoint,
        cmd=content.cmd,
        env=content.env,
        runs_by=[sys.executable, "-I", "-S", str(_CONTAINER), json.dumps(container)],
    )


def image_files() -> list[Path]:
    """The files that $LOCAL_GCP_IMAGES names, in their order."""
    return [Path(file) for file in os.environ.get(FILES, "").split(os.pathsep) if file]


def read_images(file: Path) -> tuple[Image, ...]:
    """The entries of a file, validated."""
    try:
        return _images(file, file.read_text())
    except OSError as error:
        raise ImageError(f"{file}: {error.strerror}.") from None


@functools.lru_cache(maxsize=8)
def _images(file: Path, text: str) -> tuple[Image, ...]:
    try:
        entries = yaml.safe_load(text) or []
    except yaml.YAMLError as error:
        raise ImageError(f"{file}: {error}") from None
    if not isinstance(entries, list):
        raise ImageError(f"{file}: expected a list of images.")
    return tuple(_read(entry, file, number) for number, entry in enumerate(entries, start=1))


def _read(entry: Any, file: Path, number: int) -> Image:
    where = f"{file}, image {number}"
    if not isinstance(entry, dict) or "image" not in entry or ("bin" in entry) == ("oci" in entry):
        raise ImageError(f"{where}: expected a mapping with `image` and either `bin` or `oci`.")
    keys = _KEYS_OF_OCI if "oci" in entry else _KEYS
    if unknown := sorted(entry.keys() - set(keys)):
        raise ImageError(
            f"{where}: unknown key {unknown[0]!r}; there are {', '.join(sorted(keys))}."
        )
    preload = entry.get("preload", [])
    if not isinstance(preload, list) or not all(_MODULE.fullmatch(str(name)) for name in preload):
        raise ImageError(f"{where}: preload is {preload!r}; expected a list of modules' names.")
    here = str(file.absolute().parent)
    filled = _fill(entry, {"HERE": here, "SAVEDMODEL_SERVER": str(_SAVEDMODEL_SERVER)})
    if "oci" in filled:
        return _container(filled, where)
    return Image(**{**filled, "bin": os.path.normpath(filled["bin"])})


def _container(entry: Mapping[str, str], where: str) -> Image:
    size = re.fullmatch(r"(\d+)([KMG]?)", entry.get("memory", "4G"))
    if not size:
        raise ImageError(f"{where}: memory is {entry['memory']!r}; write it as 512M or 4G.")
    return Image(
        image=entry["image"],
        bin=os.path.normpath(entry["oci"]),
        memory=int(size[1]) * _UNITS[size[2]],
    )


def _fill(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _fill(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, variables) for item in value]
    return string.Template(str(value)).safe_substitute(variables)
