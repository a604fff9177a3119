"""`trellis try`: try a model's own file on one batch, in the trainer's environment.

The file itself is read here, as `trellis check` reads it. To try the model takes TensorFlow, or the
library of a file with `fit`, which Airflow's environment does not have, so the rest is a process:
`python -m trainer try`.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from trellis.workflow.spec import own_model
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.own_model import OwnModel
from trellis.workflow.spec.problems import FileError, Problem
from trellis.workflow.spec.source import ImageSource, RowSource
from trellis.workflow.validation.file import load
from trellis_contracts import VERSION, job_image
from trellis_contracts.catalog import flag

# Environment that `make setup` installs in a checkout, and that of `make image`.
_CHECKOUT = Path(".venv/trainer/bin/python")
_OF_IMAGE = Path(".venv/images")


def run(file: Path, more: Sequence[str]) -> int:
    """Try a model's file, or the one that an experiment names; returns the exit code.

    more: further flags for the trainer.
    """
    try:
        model, arguments, image = file, list[str](), None
        if file.suffix == ".yaml":
            experiment = load(file)
            model, arguments = file.parent / experiment.model, _of_experiment(experiment)
            image = experiment.image
        _checked(model, more_packages=image is not None)
    except FileError as error:
        print(error, file=sys.stderr)
        return 1
    command = ["-m", "trainer", "try", str(model), *arguments, *more]
    python = _python(image)
    if python is None and image is not None:
        print(
            f"{model} needs the image '{image}', whose environment is not here. `make image "
            f"NAME={image}` makes it in a checkout's folder; then\n"
            f"  {_OF_IMAGE / image}/bin/python {' '.join(command)}",
            file=sys.stderr,
        )
        return 1
    if python is None:
        print(
            "A model's file is tried with the packages of the image that trains it, which this "
            f"environment ({sys.executable}) does not have. The declarations in {model} are good; "
            "for the rest, run in a checkout's folder after `make setup`\n"
            f"  {_CHECKOUT} {' '.join(command)}\n"
            "or in that image (platform.yaml: registry)\n"
            "  docker run --rm -v $PWD:/work:ro -w /work -e PYTHONPATH=/app --entrypoint python "
            f"REGISTRY/trainer:{job_image.TAG} {' '.join(command)}",
            file=sys.stderr,
        )
        return 1
    started = {**os.environ, job_image.STARTED_BY: VERSION}
    return subprocess.run([python, *command], check=False, env=started).returncode


def _checked(path: Path, *, more_packages: bool) -> None:
    found = own_model.read(path.parent, path.name, more_packages=more_packages)
    if not isinstance(found, OwnModel):
        raise FileError(str(path), found)


def _of_experiment(experiment: Experiment) -> list[str]:
    """Flags for the kind of examples that the experiment has, and for what it fixes."""
    if experiment.foreign:
        message = f"its program is in the image {experiment.image}: run that, by `trellis contract`"
        raise FileError(experiment.name, [Problem(("image",), message)])
    if experiment.own_model is None:
        message = f"'{experiment.model}' is one of the trainer's models: there is no file to try"
        raise FileError(experiment.name, [Problem(("model",), message)])
    flags = {"task": experiment.task, **experiment.hyperparameters}
    source = experiment.source
    if isinstance(source, ImageSource):
        height, width = source.size
        flags["images"] = f"{height}x{width}x{source.channels}"
        if source.scale is not None:
            flags["scale"] = source.scale
    arguments = [f"--{name}={flag(value)}" for name, value in flags.items()]
    return arguments + (_image_columns(source) if isinstance(source, RowSource) else [])


def _image_columns(source: RowSource) -> list[str]:
    """Flags for the images of rows; the columns beside them are made up of each kind."""
    found = []
    for name, column in source.image_columns.items():
        height, width = column.size
        found.append(f"--feature={name}=image:{height}x{width}x{column.channels}")
    columns = source.image_columns.values()
    scales = {column.scale for column in columns if column.scale is not None}
    # One rule for all made-up images: what they are scaled by changes their type alone.
    return found + [f"--scale={scale}" for scale in sorted(scales)[:1]]


def _python(image: str | None) -> str | None:
    """The Python with the packages of the trainer's image: this one, or a checkout's. image: the
    experiment's own, whose packages it has, too.
    """
    if image is not None:
        own = _OF_IMAGE / image / "bin/python"
        return str(own) if own.exists() and Path("trainer/task.py").exists() else None
    if all(importlib.util.find_spec(name) for name in ("tensorflow", "trainer")):
        return sys.executable
    return str(_CHECKOUT) if _CHECKOUT.exists() and Path("trainer/task.py").exists() else None
