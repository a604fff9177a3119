"""images.yaml: the local environment that plays a container image (the file explains itself)."""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

BUILT_IN = Path(__file__).with_name("images.yaml")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ImageError(Exception):
    """An images.yaml that cannot be used, or an image that nothing plays; says what to do."""


@dataclasses.dataclass(frozen=True)
class Image:
    """How programs of a container image are run here."""

    image: str
    """Pattern of the image URI."""
    bin: str
    entrypoint: Sequence[str] = ()
    cmd: Sequence[str] = ()
    workdir: str = "/"
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """The variables of a process in this image, before those of the job."""
        inherited = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
        return {
            **inherited,
            "PATH": f"{self.bin}:{_SYSTEM_PATH}",
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",  # a log line is there when it is printed
            **self.env,
        }

    def command(self, command: Sequence[str], args: Sequence[str]) -> list[str]:
        """What runs: `command` takes the place of ENTRYPOINT, `args` that of CMD.

        As in Kubernetes, a command without args leaves the image's CMD out.
        """
        if command:
            return [*command, *args]
        return [*self.entrypoint, *(args or self.cmd)]


def find_image(uri: str) -> Image:
    """The entry for an image URI; ImageError if there is none.

    The files are read each time: an edit counts for the next job, without a restart.
    """
    files = [BUILT_IN]
    if own := os.environ.get("LOCAL_GCP_IMAGES"):
        files.insert(0, Path(own))
    images = [image for file in files for image in read_images(file)]
    for image in images:
        if fnmatch.fnmatchcase(uri, image.image):
            if not Path(image.bin).is_dir():
                raise ImageError(f"{image.bin}, which plays {uri}, is not there: run `make setup`.")
            return image
    known = ", ".join(image.image for image in images)
    raise ImageError(
        f"no local environment plays the image {uri}. Known patterns: {known}. Add one to a file "
        f"like {BUILT_IN} and name it in $LOCAL_GCP_IMAGES."
    )


def read_images(file: Path) -> list[Image]:
    """The entries of one file, checked."""
    try:
        entries = yaml.safe_load(file.read_text()) or []
    except (OSError, yaml.YAMLError) as error:
        raise ImageError(f"{file}: {error}") from None
    if not isinstance(entries, list):
        raise ImageError(f"{file}: expected a list of images.")
    return [_read(entry, file, number) for number, entry in enumerate(entries, start=1)]


def _read(entry: Any, file: Path, number: int) -> Image:
    fields = {field.name for field in dataclasses.fields(Image)}
    where = f"{file}, image {number}"
    if not isinstance(entry, dict) or not {"image", "bin"} <= entry.keys():
        raise ImageError(f"{where}: expected a mapping with `image` and `bin`.")
    if unknown := sorted(entry.keys() - fields):
        raise ImageError(
            f"{where}: unknown key {unknown[0]!r}; there are {', '.join(sorted(fields))}."
        )
    filled = _fill(entry, {"HERE": str(file.absolute().parent)})
    return Image(**{**filled, "bin": os.path.normpath(filled["bin"])})


def _fill(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _fill(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, variables) for item in value]
    return string.Template(str(value)).safe_substitute(variables)
