"""local_gcp and Airflow's processes under supervisord, which restarts those that die."""

import configparser
import json
import os
import shlex
import sqlite3
import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

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

# The servers for remote log reading would listen on every interface; here the api-server reads the
# files themselves.
AIRFLOW_PARTS = {
    "api-server": "api-server",
    "scheduler": "scheduler --skip-serve-logs",
    "dag-processor": "dag-processor",
    "triggerer": "triggerer --skip-serve-logs",
}
SESSION = SUPERVISOR / "session.json"
LOCAL_GCP = (program("local_gcp", "python"), "-m", "local_gcp", "--home", str(LOCAL_GCP_HOME))
IMAGES = ROOT / "demo" / "images.yaml"


T = TypeVar("T")


class ServiceError(Exception):
    """A service did not start; the message names it and its log."""


def prepare(say: Callable[[str], None]) -> None:
    """Start supervisord if it is not running yet, and none of its programs."""
    for folder in (ROOT, LOCAL):
        if "%" in str(folder):
            raise ServiceError(f"{folder}: supervisord takes no path with a %; rename the folder")
    if running():
        return
    if note := airflow_environment.yield_port():
        say(note)
    _start_supervisor()


def start_cloud(say: Callable[[str], None]) -> dict[str, str]:
    """Start local_gcp if it is not running yet; returns the environment of Airflow's processes."""
    _control("start", "local_gcp")
    cloud = _wait("local_gcp", _local_gcp_environment, seconds=60)
    say(f"local_gcp emulates Google Cloud at {cloud['LOCAL_GCP_URL']}")
    environment = airflow_environment.environment(cloud)
    _write_environment_file(environment)
    return environment


def make_database(say: Callable[[str], None]) -> None:
    """Create Airflow's database if there is none yet, which does not need local_gcp."""
    if not (AIRFLOW_HOME / "airflow.db").exists():
        say("Airflow: creating its database")
        _make_database(airflow_environment.environment({}))


def start_airflow() -> None:
    """Start what of Airflow is not running yet; it answers some seconds later."""
    _control("start", "airflow:*")


def stop() -> None:
    """End everything that was started, and what a killed process of it left behind."""
    supervisor = _supervisor()
    if supervisor:
        _control("shutdown")
        psutil.wait_procs([supervisor], timeout=60)
    left = _left_behind()
    for process in left:
        process.terminate()
    for process in psutil.wait_procs(left, timeout=10)[1]:
        process.kill()


def running() -> bool:
    """Return whether supervisord is running."""
    return _supervisor() is not None


def _start_supervisor() -> None:
    for folder in (SUPERVISOR, LOGS, AIRFLOW_HOME, LOCAL_GCP_HOME):
        folder.mkdir(parents=True, exist_ok=True)
    SUPERVISOR_SOCKET.unlink(missing_ok=True)
    configuration = SUPERVISOR / "supervisord.conf"
    with configuration.open("w") as file:
        _configuration().write(file)
    subprocess.run([program("tools", "supervisord"), "-c", configuration], check=True)
    supervisor = _wait("supervisord", _supervisor, seconds=10)
    SESSION.write_text(json.dumps([supervisor.pid, supervisor.create_time()]))


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
    # $LOCAL_GCP_IMAGES, if set, takes precedence: the first match counts.
    files = [*filter(None, os.environ.get("LOCAL_GCP_IMAGES", "").split(os.pathsep)), IMAGES]
    images = [word for file in files for word in ("--images", str(file))]
    local_gcp = shlex.join([*LOCAL_GCP, "up", "--foreground", *images])
    conf["program:local_gcp"] = _program(local_gcp, "local_gcp", "TERM")
    for part, arguments in AIRFLOW_PARTS.items():
        command = f". {shlex.quote(str(ENVIRONMENT_FILE))} && exec airflow {arguments}"
        conf[f"program:{part}"] = _program(
            shlex.join(["/bin/sh", "-c", command]), f"airflow-{part}", "INT"
        )
    conf["group:airflow"] = {"programs": ",".join(AIRFLOW_PARTS)}
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
        # A service that does not stop in time is killed with its children.
        "killasgroup": "true",
        "redirect_stderr": "true",
        "stdout_logfile": LOGS / f"{log}.log",
    }


def _local_gcp_environment() -> dict[str, str] | None:
    """The variables of `local_gcp env`, once the server answers."""
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
    # Write-ahead logging lets readers go on while one process writes; the mode is kept in the file.
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def _write_environment_file(environment: dict[str, str]) -> None:
    ENVIRONMENT_FILE.touch(mode=0o600)
    ENVIRONMENT_FILE.write_text(
        "# Source this file to use the airflow command, or any Google client, against this run.\n"
        + "".join(f"export {k}={shlex.quote(v)}\n" for k, v in sorted(environment.items()))
    )


def _control(*words: str) -> None:
    out = subprocess.run(
        [program("tools", "supervisorctl"), "-c", SUPERVISOR / "supervisord.conf", *words],
        capture_output=True,
        text=True,
    )
    # supervisorctl's exit code also counts a program that was started already as an error.
    refused = [x for x in out.stdout.splitlines() if "ERROR" in x and "already started" not in x]
    if refused:
        raise ServiceError("\n".join([*refused, f"The logs are in {LOGS}"]))


def _wait(name: str, ready: Callable[[], T | None], seconds: float) -> T:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (answer := ready()) is not None:
            return answer
        time.sleep(0.3)
    raise ServiceError(f"{name} was not ready after {seconds:.0f} s: see {LOGS / name}.log")


def _supervisor() -> psutil.Process | None:
    try:
        process = psutil.Process(int((SUPERVISOR / "supervisord.pid").read_text()))
        ours = any("supervisord" in word for word in process.cmdline())
    except (FileNotFoundError, ValueError, psutil.Error):
        return None
    return process if ours else None


def _left_behind() -> list[psutil.Process]:
    """The processes that outlived supervisord, as the workers of a killed scheduler do.

    They share the session that supervisord opened for all its children: while one of them lives,
    the kernel does not reuse the session's id.
    """
    if not SESSION.exists():
        return []
    session, began = json.loads(SESSION.read_text())
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session:
                found.append(process)
        except ProcessLookupError:
            continue
    reused = any(p.pid == session and p.create_time() != began for p in found)
    return [] if reused else found
