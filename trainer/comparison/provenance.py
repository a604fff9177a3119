"""Versions of the libraries and a fingerprint of the code that produced the figures."""

import contextlib
import hashlib
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import trellis_contracts

_LIBRARIES = ("keras", "numpy", "scipy", "scikit-learn", "pyarrow")
# The same library with CUDA (the GPU image) and for CPUs only.
_TENSORFLOW = ("tensorflow", "tensorflow-cpu")
_PACKAGES = (Path(__file__).parent.parent, Path(trellis_contracts.__file__).parent)


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that train and score, without importing them.

    Training and comparison run in the same image, so these are the training's versions too.
    """
    return {
        "python": platform.python_version(),
        "tensorflow": _first_version(_TENSORFLOW),
        **{library: metadata.version(library) for library in _LIBRARIES},
    }


def _first_version(distributions: Sequence[str]) -> str:
    """The version of the installed one. Raises PackageNotFoundError if none is installed."""
    for name in distributions[:-1]:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return metadata.version(distributions[-1])


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
