"""Paths of a local run: everything lies below .local/ in the checkout."""

import hashlib
import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = Path(os.environ.get("TRELLIS_LOCAL", ROOT / ".local")).resolve()

AIRFLOW_HOME = LOCAL / "airflow"
LOCAL_GCP_HOME = LOCAL / "gcp"
LOGS = LOCAL / "logs"
ENVIRONMENT_FILE = LOCAL / "environment.sh"
SUPERVISOR = LOCAL / "supervisor"

# A Unix socket's path may have 107 bytes, and a checkout may lie deeper than that.
SUPERVISOR_SOCKET = (
    Path(tempfile.gettempdir())
    / f"trellis-{hashlib.sha256(str(LOCAL).encode()).hexdigest()[:12]}.sock"
)


def program(environment: str, name: str) -> str:
    """The absolute path of program `name` in one of the environments below .venv/."""
    return str(ROOT / ".venv" / environment / "bin" / name)
