"""Programs of local_gcp's own that run as jobs, in its own environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from local_gcp.jobs.run import Pool, Program, Spec

_ROOT = Path(__file__).resolve().parents[2]


def own_program(module: str, *arguments: str, timeout: float | None = None) -> Spec:
    """python -m MODULE ARGUMENTS as a run with one replica."""
    inherited = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    environment = {
        **inherited,
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(_ROOT),
        "PYTHONUNBUFFERED": "1",
    }
    program = Program([sys.executable, "-m", module, *arguments], environment, "/")
    return Spec([Pool(program)], timeout=timeout, cluster=False)
