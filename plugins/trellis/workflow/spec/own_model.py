"""An experiment's own model: the Python file beside it that `model` names."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from trellis.workflow.spec.problems import Problem
from trellis_contracts import model_file, model_imports
from trellis_contracts.catalog import COMMON
from trellis_contracts.model_file import Declaration, ModelFileError

NAME = re.compile(r"[A-Za-z0-9_-]{1,60}\.py")

_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class OwnModel:
    """A model's file. sha256: of its content. text: its content; None in a run's plan."""

    name: str
    sha256: str
    declaration: Declaration
    text: bytes | None = field(default=None, repr=False, compare=False)


def is_file(model: object) -> TypeGuard[str]:
    """Return whether `model` names a file, and not one of the trainer's models."""
    return isinstance(model, str) and model.endswith(".py")


def read(
    folder: Path, name: str, *, more_packages: bool = False, program: bool = False
) -> OwnModel | list[Problem]:
    """The model in a file of the experiment's folder, or everything that is wrong with it.
    more_packages: its image has others than ours; which modules those have, only it could tell.
    program: its image is not ours at all.

    The file is not executed: what it does, Airflow must not do.
    """

    def problem(message: str) -> list[Problem]:
        return [Problem(("model",), message)]

    if not NAME.fullmatch(name):
        return problem(
            f"got {name!r}; a model's own file lies beside the experiment's, and its name has "
            "letters, digits, _ and - before .py"
        )
    try:
        text = (folder / name).read_bytes()
    except OSError as error:
        return problem(f"{folder / name} cannot be read: {error.strerror}")
    if len(text) > _MAX_BYTES:
        return problem(f"{name} has {len(text):,} bytes; a model's file has up to 1 MiB")
    try:
        importable = (lambda _: True) if more_packages else model_imports.in_our_image
        declaration = model_file.read(text, COMMON, importable, program=program)
    except ModelFileError as error:
        return [Problem(("model",), f"{name}, {mistake}") for mistake in error.mistakes]
    return OwnModel(name, hashlib.sha256(text).hexdigest(), declaration, text)


def to_plan(own: OwnModel, uri: str | None = None) -> dict[str, Any]:
    """The model as one of a plan.json's `model_files`. uri: its address, in the plan of a
    training.
    """
    return {
        "name": own.name,
        "sha256": own.sha256,
        **({"uri": uri} if uri else {}),
        "declaration": {**asdict(own.declaration), "inputs": list(own.declaration.inputs)},
    }


def from_plan(files: Mapping[str, Mapping[str, Any]]) -> dict[str, OwnModel]:
    """The models in a plan.json's `model_files`, by name."""
    return {name: _from_plan(name, content) for name, content in files.items()}


def _from_plan(name: str, content: Mapping[str, Any]) -> OwnModel:
    declared = {**content["declaration"], "inputs": tuple(content["declaration"]["inputs"])}
    return OwnModel(name, content["sha256"], Declaration(**declared))
