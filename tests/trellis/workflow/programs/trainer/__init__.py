"""Stands in for the job image's package: same commands, files and metrics, no TensorFlow.

For runs that have to go wrong: `--seed` says how (see task.py). What really trains is tested in
tests/trainer and tests/end_to_end.
"""

import os
from pathlib import Path


def path(uri: str) -> Path:
    """The file behind a gs:// address."""
    return Path(os.environ["GCS_ROOT"], uri.removeprefix("gs://"))
