"""Versions of the libraries and a fingerprint of the code that produced the figures."""

import contextlib
import functools
import hashlib
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import trellis_contracts
from trainer import storage
from trainer.comparison.run_folder import Run
from trellis_contracts import layout, model_imports

_LIBRARIES = ("tensorflow", "keras", "numpy", "scipy", "scikit-learn", "pyarrow")
# TensorFlow for CPUs only is of another distribution than that with CUDA, of the GPU image.
_NAMED = {"tensorflow-cpu": "tensorflow"}
_PACKAGES = (Path(__file__).parent.parent, Path(trellis_contracts.__file__).parent)


def versions(run: Run) -> dict[str, str]:
    """Versions of Python, and of what is installed of the libraries that train and score and of
    those that the files of the run's models import, without importing them.

    Training and comparison run in the same image, so these are the training's versions too.
    """
    imported = (name for file in _files(run) for name in model_imports.imported(file.read_text()))
    own = {one for name in imported for one in _distributions().get(name, ())}
    found = {"python": platform.python_version()}
    for name in (*_LIBRARIES, *_NAMED, *sorted(own.difference(_LIBRARIES, _NAMED))):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[_NAMED.get(name, name)] = metadata.version(name)
    return found


# What is installed stays while a process runs; reading it takes longer than many a comparison.
_distributions = functools.cache(metadata.packages_distributions)


def _files(run: Run) -> Iterator[Path]:
    """The files of a group's own that have trained, as `trellis_contracts.saved_model` has them."""
    for contender in run.contenders:
        if contender.training is not None and contender.training.model_sha256 is not None:
            folder = storage.local_path(layout.trained_model(contender.uri))
            if (file := folder / contender.training.model).is_file():
                yield file


def code_sha256() -> str:
    """SHA-256 of the paths and contents of the Python files of trainer and trellis_contracts.

    A hash of the files rather than a commit: the job image holds no repository.
    """
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted(package.rglob("*.py")):
            digest.update(path.relative_to(package.parent).as_posix().encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
