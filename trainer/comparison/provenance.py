"""What the figures were made with: versions of the libraries and a fingerprint of the code."""

import hashlib
import platform
from importlib import metadata
from pathlib import Path

_LIBRARIES = ("tensorflow", "keras", "numpy", "scipy", "scikit-learn", "pyarrow")
_PACKAGE = Path(__file__).parent.parent


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that train and score, without importing them.

    Training and comparison run in the same image, so these are the training's versions too.
    """
    return {"python": platform.python_version()} | {
        library: metadata.version(library) for library in _LIBRARIES
    }


def code_sha256() -> str:
    """SHA-256 over the paths and contents of the trainer's Python files: equal code, equal value.

    A hash of the files rather than a commit: the job image holds no repository.
    """
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
