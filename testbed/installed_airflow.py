"""An Airflow as Composer runs it: Trellis comes from its wheel, and from nowhere else.

A fresh environment holds the pins of tests/composer.txt and the wheel. The plugins folder is empty;
the triggerer has no DAG folder either. No process sees this checkout: not as working directory, nor
by PYTHONPATH. (The jobs do, as the job image: local_gcp runs them.)
"""

import contextlib
import datetime
import json
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from base64 import urlsafe_b64encode
from pathlib import Path

from testbed.redeployment import Operator

ROOT = Path(__file__).resolve().parents[1]
UV = ROOT / ".venv/tools/bin/uv"
PARTS = {
    "api-server": ["api-server"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
}


class InstalledAirflow:
    """home: an empty folder for everything. google: the variables that lead to a Google Cloud.

    parallelism: how many tasks run at once.
    """

    def __init__(self, home: Path, google: dict[str, str], parallelism: int = 4):
        self.home = home
        self.dags = home / "group" / "dags"
        self._bin = home / "venv" / "bin"
        self._processes: dict[str, subprocess.Popen] = {}
        self._environment = self._variables(google, parallelism)

    def install(self) -> None:
        """Make the environment with the two wheels; copy the DAG folder and its list of images."""
        wheels = self.home / "wheels"
        for folder in ("contracts", "plugins"):
            _run(UV, "build", "--quiet", "--offline", "--wheel", "--out-dir", wheels, ROOT / folder)
        _run(UV, "venv", "--quiet", "--python", "python3.11", self.home / "venv")
        lock = ROOT / "tests/composer.txt"
        venv = {**os.environ, "VIRTUAL_ENV": str(self.home / "venv")}
        _run(UV, "pip", "sync", "--quiet", "--compile-bytecode", lock, env=venv)
        # Offline: all that the wheels require is there already.
        _run(UV, "pip", "install", "--quiet", "--offline", *wheels.glob("*.whl"), env=venv)
        shutil.copytree(ROOT / "dags", self.dags, ignore=shutil.ignore_patterns("__pycache__"))
        # platform.yaml names it.
        (self.dags.parent / "demo").mkdir()
        shutil.copy(ROOT / "demo/images.yaml", self.dags.parent / "demo")

    def start(self, settings: str = "") -> None:
        """Start the four processes, and wait until Airflow calls itself healthy.

        settings: Python statements that each process runs first.
        """
        for folder in ("airflow/config", "elsewhere", "no plugins"):
            (self.home / folder).mkdir(parents=True)
        # The scheduler imports Google's libraries once, not each task: nothing of Trellis.
        local_settings = ROOT / "demo/airflow_config/airflow_local_settings.py"
        (self._config / local_settings.name).write_text(local_settings.read_text() + settings)
        (self.home / "passwords.json").write_text(json.dumps({"admin": "admin"}))
        self.command("db", "migrate")
        with sqlite3.connect(self.home / "airflow/airflow.db") as database:
            database.execute("PRAGMA journal_mode=WAL")  # as the demo's
        self._started = datetime.datetime.now(datetime.UTC)
        for part, arguments in PARTS.items():
            with self.log(part).open("wb") as log:
                self._processes[part] = subprocess.Popen(
                    [self._bin / "airflow", *arguments],
                    cwd=self.home / "elsewhere",
                    env=self._environment | self._of(part),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        self.api = Operator(self._url, "admin", "admin")
        self.wait("Airflow to be healthy", self.api.healthy)

    def stop(self) -> None:
        """End the processes with all their children."""
        for process in self._processes.values():
            process.send_signal(signal.SIGINT)
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=30)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def ended(self) -> list[str]:
        """The parts whose process is over; none should be."""
        return [part for part, process in self._processes.items() if process.poll() is not None]

    def wait(self, what: str, ready, seconds: float = 180):
        """Return the result of `ready` once it is true. AssertionError if a process ends
        meanwhile.
        """
        deadline = time.monotonic() + seconds
        while not (answer := ready()):
            assert not self.ended(), f"{self.ended()} ended:\n{self.last_lines(self.ended()[0])}"
            assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
            time.sleep(0.5)
        return answer

    def unpause(self, dag: str) -> None:
        """Let a DAG run, once it is parsed. AssertionError if a DAG file has an import error."""

        def parsed() -> bool:
            errors = self.api.import_errors(since=self._started)
            assert not errors, errors[0]["stack_trace"]
            return self.api.dag(dag) is not None

        self.wait(f"the DAG {dag}", parsed)
        self.api.unpause(dag)

    def deferred(self, dag: str, run: str) -> set[str]:
        """The tasks of a run that the triggerer waited for, by the logs that it wrote."""
        logs = self.home / "airflow/logs" / f"dag_id={dag}" / f"run_id={run}"
        written = (log.relative_to(logs) for log in logs.rglob("*.log.trigger.*"))
        return {log.parts[0].removeprefix("task_id=") for log in written}

    def command(self, *arguments: str) -> str:
        """The output of an `airflow` command."""
        return _run(
            self._bin / "airflow",
            *arguments,
            cwd=self.home / "elsewhere",
            env=self._environment,
            stdout=subprocess.PIPE,
        ).stdout.decode()

    def python(self, program: str) -> str:
        """Return the output of a program where Trellis is installed."""
        command = [self._bin / "python", "-c", program]
        cwd, env = self.home / "elsewhere", self._environment
        return _run(*command, cwd=cwd, env=env, stdout=subprocess.PIPE).stdout.decode().strip()

    def log(self, part: str) -> Path:
        return self.home / f"{part}.log"

    def last_lines(self, part: str) -> str:
        return "\n".join(self.log(part).read_text(errors="replace").splitlines()[-30:])

    @property
    def _config(self) -> Path:
        return self.home / "airflow" / "config"

    @property
    def _url(self) -> str:
        return f"http://127.0.0.1:{self._environment['AIRFLOW__API__PORT']}"

    def _of(self, part: str) -> dict[str, str]:
        """Composer copies no DAG folder to its triggerer."""
        nowhere = str(self.home / "no DAG folder")
        return {"AIRFLOW__CORE__DAGS_FOLDER": nowhere} if part == "triggerer" else {}

    def _variables(self, google: dict[str, str], parallelism: int) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AIRFLOW", "PYTHON", "TRELLIS", "VIRTUAL_ENV"))
        }
        port, secret = _free_port(), secrets.token_urlsafe(32)
        return {
            **inherited,
            **google,
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "AIRFLOW_HOME": str(self.home / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(self.home / "no plugins"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": str(parallelism),
            "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.home / "passwords.json"),
            "AIRFLOW__CORE__FERNET_KEY": urlsafe_b64encode(os.urandom(32)).decode(),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
            "AIRFLOW__API__SECRET_KEY": secret,
            "AIRFLOW__API_AUTH__JWT_SECRET": secret,
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.1",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        }


def _run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, check=True, **options)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
