"""An image of an experiment's own: ours, with the packages of a file of requirements beside it."""

import hashlib
import re
from pathlib import Path
from typing import TypeGuard

from trellis.workflow.spec.problems import did_you_mean
from trellis_contracts import job_image

FOLDER = "images"
"""The folder beside the experiments' files with a file of requirements for each image."""

ENDING = ".txt"

NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
"""An image's name: it becomes one of a repository in the registry, and of an environment."""

OURS = ("trainer", "serve", "export")
"""The images of docker/Dockerfile."""

ADDRESS = re.compile(
    r"[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)+(:[A-Za-z0-9_][A-Za-z0-9._-]*"
    r"|@sha256:[0-9a-f]{64})"
)
"""An image that is not ours, by its whole address, with a tag or a digest."""

_DIGITS = 12


def is_address(name: object) -> TypeGuard[str]:
    """Return whether an image is named by an address, and is not ours with more packages."""
    return isinstance(name, str) and "/" in name


def read(folder: Path, name: object) -> tuple[str | None, str]:
    """SHA-256 of an image's requirements, and what is wrong (empty if nothing is). folder: of the
    experiment's file. Of an image by its address: "", and what is wrong with the address.
    """
    if is_address(name):
        if ADDRESS.fullmatch(name):
            return "", ""
        return None, (
            f"got {name!r}; an image that is not ours is named by its whole address with a tag or "
            "a digest, as in europe-docker.pkg.dev/PROJECT/REPOSITORY/NAME:3"
        )
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in OURS:
        return None, (
            f"got {name!r}; expected the name of a file of requirements in {FOLDER}/ beside this "
            f"one, without {ENDING}: up to 40 lower-case letters, digits and dashes, and none of "
            + ", ".join(OURS)
        )
    path = folder / FOLDER / f"{name}{ENDING}"
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        known = sorted(one.stem for one in path.parent.glob(f"*{ENDING}"))
        hint = did_you_mean(name, known) if known else "write it"
        return None, f"there is no {path}, which lists the packages of the image '{name}'; {hint}"
    except OSError as error:
        return None, f"{path} cannot be read: {error.strerror}"
    lines = [line.partition(b"#")[0].strip() for line in text.splitlines()]
    if not any(line and not line.startswith(b"-") for line in lines):
        return None, f"{path} names no package; leave `image` out, or write NAME==VERSION lines"
    return hashlib.sha256(text).hexdigest(), ""


def tag(sha256: str | None, *, gpu: bool) -> str:
    """Tag of an image. sha256: of its requirements; None: one of ours.

    It has the version of the contracts that the image was built with, and names the requirements,
    so that a changed file is another image, and the models of the old one are still served by it.
    infra/release/images.sh makes the same tag.
    """
    own = f"-{sha256[:_DIGITS]}" if sha256 else ""
    return f"{job_image.TAG}{own}{'-gpu' if gpu else ''}"
