"""Programs of local_gcp's own that run as jobs, in its own environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from local_gcp.jobs import preloading
from local_gcp.jobs.run import Pool, Program, Spec

LEARNED = "sklearn.metrics pyarrow joblib"
"""Modules with which programs that train or load a scikit-learn model begin."""

_ROOT = Path(__file__).resolve().parents[2]


def own_program(
    module: str, *arguments: str, timeout: float | None = None, preload: str = ""
) -> Spec:
    """python -m MODULE ARGUMENTS as a run with one replica.

    `preload`: modules with a space between them; the program begins as a fork of a process that
    has imported them (preloading.py).
    """
    inherited = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    environment = {
        **inherited,
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(_ROOT),
        "PYTHONUNBUFFERED": "1",
        **({preloading.VARIABLE: preload} if preload else {}),
    }
    program = Program(["python", "-m", module, *arguments], environment, "/")
    return Spec([Pool(program)], timeout=timeout, cluster=False)
