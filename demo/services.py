"""local_gcp and Airflow's processes under supervisord, which restarts whatever dies."""

import configparser
import json
import os
import shlex
import sqlite3
import subprocess
import time
from collections.abc import Callable

import psutil

from demo import airflow_environment
from demo.places import (
    AIRFLOW_HOME,
    ENVIRONMENT_FILE,
    LOCAL,
    LOCAL_GCP_HOME,
    LOGS,
    ROOT,
    SUPERVISOR,
    SUPERVISOR_SOCKET,
    program,
)

AIRFLOW_PARTS = ("api-server", "scheduler", "dag-processor", "triggerer")
LOCAL_GCP = (program("local_gcp", "python"), "-m", "local_gcp", "--home", str(LOCAL_GCP_HOME))


class ServiceError(Exception):
    """A part did not come up; the message says which, and where its log lies."""


def start(say: Callable[[str], None]) -> dict[str, str]:
    """Bring up what is not up yet; returns the environment of the Airflow processes."""
    _start_supervisor()
    _control("start", "local_gcp", expect=("started", "already started"))
    cloud = _wait("local_gcp", _local_gcp_environment, seconds=60)
    say(f"local_gcp plays Google Cloud at {cloud['LOCAL_GCP_URL']}")
    environment = airflow_environment.environment(cloud)
    _write_environment_file(environment)
    if not (AIRFLOW_HOME / "airflow.db").exists():
        say("Airflow: making its database")
        _make_database(environment)
    for part in AIRFLOW_PARTS:
        _control("start", f"airflow-{part}", expect=("started", "already started"))
    return environment


def stop() -> None:
    """End everything that `start` started, and whatever a killed process of it left behind."""
    if SUPERVISOR_SOCKET.exists():
        _control("shutdown", expect=("Shut down",), check=False)
        _wait_gone(_supervisor_pid())
    subprocess.run(
        [*LOCAL_GCP, "down"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    left = _processes_of_this_run()
    for process in left:
        process.terminate()
    for process in psutil.wait_procs(left, timeout=10)[1]:
        process.kill()


def running() -> bool:
    """Whether supervisord is up."""
    return _supervisor_pid() is not None


def _start_supervisor() -> None:
    if running():
        return
    for folder in (SUPERVISOR, LOGS, AIRFLOW_HOME, LOCAL_GCP_HOME):
        folder.mkdir(parents=True, exist_ok=True)
    SUPERVISOR_SOCKET.unlink(missing_ok=True)
    configuration = SUPERVISOR / "supervisord.conf"
    with configuration.open("w") as file:
        _configuration().write(file)
    subprocess.run(
        [program("tools", "supervisord"), "-c", configuration],
        env={**os.environ, "TRELLIS_LOCAL": str(LOCAL)},
        check=True,
    )


def _configuration() -> configparser.RawConfigParser:
    conf = configparser.RawConfigParser()
    conf["supervisord"] = {
        "logfile": LOGS / "supervisord.log",
        "pidfile": SUPERVISOR / "supervisord.pid",
        "directory": ROOT,
    }
    conf["unix_http_server"] = {"file": SUPERVISOR_SOCKET, "chmod": "0700"}
    conf["rpcinterface:supervisor"] = {
        "supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"
    }
    conf["supervisorctl"] = {"serverurl": f"unix://{SUPERVISOR_SOCKET}"}
    local_gcp = shlex.join([*LOCAL_GCP, "up", "--foreground"])
    conf["program:local_gcp"] = _program(local_gcp, "local_gcp", "TERM")
    for part in AIRFLOW_PARTS:
        command = f". {shlex.quote(str(ENVIRONMENT_FILE))} && exec airflow {part}"
        conf[f"program:airflow-{part}"] = _program(
            shlex.join(["/bin/sh", "-c", command]), f"airflow-{part}", "INT"
        )
    return conf


def _program(command: str, log: str, signal: str) -> dict[str, object]:
    return {
        "command": command.replace("%", "%%"),
        "autostart": "false",
        "autorestart": "true",
        "startretries": 10,
        "stopsignal": signal,
        "stopwaitsecs": 20,
        "stopasgroup": "false",
        # A part that does not stop in time takes its children with it.
        "killasgroup": "true",
        "redirect_stderr": "true",
        "stdout_logfile": LOGS / f"{log}.log",
    }


def _local_gcp_environment() -> dict[str, str] | None:
    """What `local_gcp env` says, once the server answers."""
    if subprocess.run([*LOCAL_GCP, "status"], cwd=ROOT, capture_output=True).returncode:
        return None
    out = subprocess.run([*LOCAL_GCP, "env", "--json"], cwd=ROOT, capture_output=True, check=True)
    return json.loads(out.stdout)


def _make_database(environment: dict[str, str]) -> None:
    log = LOGS / "airflow-db.log"
    with log.open("wb") as file:
        done = subprocess.run(
            [program("airflow", "airflow"), "db", "migrate"],
            env={**os.environ, **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    database = AIRFLOW_HOME / "airflow.db"
    if done.returncode:
        database.unlink(missing_ok=True)
        raise ServiceError(f"airflow db migrate failed: see {log}")
    # Write-ahead logging lets readers go on while one process writes; the file remembers it.
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def _write_environment_file(environment: dict[str, str]) -> None:
    ENVIRONMENT_FILE.touch(mode=0o600)
    ENVIRONMENT_FILE.write_text(
        "# Source this file to use the airflow command, or any Google client, against this run.\n"
        + "".join(f"export {k}={shlex.quote(v)}\n" for k, v in sorted(environment.items()))
    )


def _control(*words: str, expect: tuple[str, ...], check: bool = True) -> None:
    out = subprocess.run(
        [program("tools", "supervisorctl"), "-c", SUPERVISOR / "supervisord.conf", *words],
        capture_output=True,
        text=True,
    )
    if check and not any(phrase in out.stdout for phrase in expect):
        log = LOGS / f"{words[-1]}.log"
        tail = log.read_text(errors="replace").splitlines()[-15:] if log.exists() else []
        raise ServiceError("\n".join([f"{words[-1]} did not start: see {log}", out.stdout, *tail]))


def _wait(name: str, ready: Callable[[], dict | None], seconds: float) -> dict:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (answer := ready()) is not None:
            return answer
        time.sleep(0.3)
    raise ServiceError(f"{name} was not ready after {seconds:.0f} s: see {LOGS / name}.log")


def _supervisor_pid() -> int | None:
    try:
        process = psutil.Process(int((SUPERVISOR / "supervisord.pid").read_text()))
        ours = any("supervisord" in word for word in process.cmdline())
    except (FileNotFoundError, ValueError, psutil.Error):
        return None
    return process.pid if ours else None


def _wait_gone(pid: int | None, seconds: float = 60) -> None:
    if pid is not None:
        psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=seconds)


def _processes_of_this_run() -> list[psutil.Process]:
    """Processes whose environment names this very .local folder, this one excepted."""
    found = []
    for process in psutil.process_iter():
        try:
            marked = process.environ().get("TRELLIS_LOCAL") == str(LOCAL)
        except psutil.Error:
            continue
        if marked and process.pid != os.getpid():
            found.append(process)
    return found
