"""The settings of a real Airflow on a small machine.

Every deviation from Airflow's defaults is here, with its reason. The first start chooses ports and
secrets and keeps them in .local/airflow/settings.json; later starts and restarted processes use
the same ones.
"""

import json
import os
import secrets
import socket
from base64 import urlsafe_b64encode
from pathlib import Path

from demo.places import AIRFLOW_HOME, ROOT, program

USER = "admin"


def settings() -> dict:
    """Ports, password and keys of this local run; created at the first call, then read."""
    path = AIRFLOW_HOME / "settings.json"
    if path.exists():
        return json.loads(path.read_text())
    variables = {
        "api_port": _free_port(preferred=8080),
        "password": secrets.token_urlsafe(9),
        "jwt_secret": secrets.token_urlsafe(32),
        "fernet_key": urlsafe_b64encode(os.urandom(32)).decode(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_private(path, json.dumps(variables, indent=1))
    return variables


def yield_port() -> str | None:
    """Take another port before Airflow's start, and say so, if another program has ours by now."""
    chosen = settings()
    taken = chosen["api_port"]
    port = _free_port(preferred=taken)
    if port == taken:
        return None
    _write_private(
        AIRFLOW_HOME / "settings.json", json.dumps({**chosen, "api_port": port}, indent=1)
    )
    return f"port {taken} is taken by another program: Airflow gets {port}"


def base_url() -> str:
    """Return the address of the UI and the REST API."""
    return f"http://127.0.0.1:{settings()['api_port']}"


def environment(local_gcp: dict[str, str]) -> dict[str, str]:
    """The variables of every Airflow process, added to those that point it to `local_gcp`."""
    chosen = settings()
    # airflow_local_settings.py is in airflow_config/; demo/ itself must not shadow anything.
    paths = [str(ROOT / "demo" / "airflow_config"), local_gcp.get("PYTHONPATH")]
    passwords = AIRFLOW_HOME / "passwords.json"
    _write_private(passwords, json.dumps({USER: chosen["password"]}))
    return {
        **local_gcp,
        "PATH": f"{Path(program('airflow', 'airflow')).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "AIRFLOW_HOME": str(AIRFLOW_HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # A LocalExecutor that lets the scheduler wait for changes instead of looking for them.
        "AIRFLOW__CORE__EXECUTOR": "waiting_executor.LocalExecutor",
        # Two cores: more tasks at once only slow each other down.
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{base_url()}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "AIRFLOW__CORE__FERNET_KEY": chosen["fernet_key"],
        # The database is one SQLite file; writers wait for each other instead of failing.
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{AIRFLOW_HOME / 'airflow.db'}",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(chosen["api_port"]),
        "AIRFLOW__API__BASE_URL": base_url(),
        "AIRFLOW__API__SECRET_KEY": chosen["jwt_secret"],
        "AIRFLOW__API_AUTH__JWT_SECRET": chosen["jwt_secret"],
        # The executor waits; the default adds 1 s between any two tasks of a chain.
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0",
        # A task imports its DAG file, and Google's libraries: 30 s are too few on a busy machine.
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
        # Parsing all experiments takes 2 to 4 s of CPU: the default is twice a minute.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "60",
        # How soon the work of a killed process is resumed: the defaults are minutes.
        "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "15",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "20",
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "20",
        # A local run sends nothing off the machine, not even usage statistics.
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "NO_COLOR": "1",
    }


def _free_port(preferred: int = 0) -> int:
    """`preferred` if nothing listens there, else any free port of the loopback interface."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            # Connections of a server that has just ended do not matter.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise OSError("no free port on the loopback interface")


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
