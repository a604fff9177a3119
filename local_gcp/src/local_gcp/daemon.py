"""Starts, finds, calls and ends the server as a background process: `up`, `down`, `status`."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import psutil

from local_gcp.home import LOOPBACK, Home, write_atomically
from local_gcp.imports import leave_out_clients, without_collector

START_SECONDS = 60
STOP_SECONDS = 60
"""Seconds for `down`: jobs get as long to end as on Vertex AI, then they are killed."""


_CLOCK_SECONDS = 5
"""Tolerance in seconds: a process's start time changes if the machine's clock is adjusted."""


class DaemonError(Exception):
    """An error about the server for the user; the message says what to do."""

    exit_code = 1


class AlreadyRunningError(DaemonError):
    """Another process serves this home, or is about to."""

    exit_code = 3


def running(home: Home) -> psutil.Process | None:
    """The process that serves `home`, or None.

    A process id may have been reused by another program, so its start time is compared too.
    """
    try:
        record = json.loads(home.pid_file.read_text())
        process = psutil.Process(record["pid"])
        same = abs(process.create_time() - record["started"]) < _CLOCK_SECONDS
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (FileNotFoundError, ValueError, KeyError, psutil.NoSuchProcess):
        return None


def run(home: Home) -> None:
    """Serve `home` in this process until SIGTERM or SIGINT (`up --foreground`)."""
    home.create()
    with _lock(home):
        endpoints = home.choose_endpoints()
        ports = {"proxy": endpoints.proxy, "http": endpoints.http}
        try:
            sockets = {name: _bind(port) for name, port in ports.items()}
        except OSError as error:
            raise DaemonError(_port_taken(home, ports)) from error
        leave_out_clients()
        with without_collector():
            import asyncio

            from local_gcp.server import serve  # imports every service, which takes seconds

        me = psutil.Process()
        write_atomically(home.pid_file, json.dumps({"pid": me.pid, "started": me.create_time()}))
        try:
            asyncio.run(serve(home, sockets))
        finally:
            home.pid_file.unlink(missing_ok=True)


def start(home: Home) -> bool:
    """Start a background server and wait until it is healthy; False if one is up already."""
    if running(home):
        wait_healthy(home, None)
        return False
    home.create()
    with home.log.open("ab") as log:
        offset = log.tell()
        child = subprocess.Popen(
            [sys.executable, "-m", "local_gcp", "--home", str(home.root), "up", "--foreground"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # outlives the terminal
        )
    try:
        wait_healthy(home, child)
    except DaemonError as error:
        with home.log.open(errors="replace") as log:
            log.seek(offset)
            tail = "".join(log.readlines()[-15:])
        raise DaemonError(f"{error}\nThe end of {home.log}:\n{tail}") from None
    return True


def wait_healthy(home: Home, child: subprocess.Popen | None) -> None:
    """Return when the server is healthy; raises DaemonError if `child` ended or time is up."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(DaemonError):
            if ask(home, "health", timeout=2)["home"] == str(home.root):
                return
        # A concurrent `up` may have been faster; then wait for that server.
        if child and child.poll() not in (None, AlreadyRunningError.exit_code):
            raise DaemonError(f"local_gcp did not start (exit code {child.returncode}).")
        time.sleep(0.05)
    raise DaemonError(f"local_gcp is not healthy after {START_SECONDS} s.")


def stop(home: Home) -> bool:
    """Stop the server and its jobs; False if none is running."""
    process = running(home)
    if not process:
        home.pid_file.unlink(missing_ok=True)
        return False
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait()
        raise DaemonError(
            f"local_gcp did not stop within {STOP_SECONDS} s and was killed; see {home.log}. "
            "Jobs that still run are found again at the next `up`."
        ) from None
    return True


def ask(home: Home, what: str, *, post: bool = False, timeout: float = 30, **query: str) -> Any:
    """The JSON response to GET (or POST) /local_gcp/`what`; raises DaemonError if none."""
    endpoints = home.endpoints()
    if not endpoints:
        raise DaemonError(f"{home.root} was never started: run `local-gcp up`.")
    url = f"{endpoints.http_url}/local_gcp/{what}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(url, method="POST" if post else "GET")
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        try:
            with direct.open(request, timeout=timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            refusal = json.load(error)["error"]["message"]
    except (OSError, ValueError) as error:
        raise DaemonError(
            f"local_gcp of {home.root} does not answer ({error}): run `local-gcp up`."
        ) from None
    raise DaemonError(refusal)


@contextlib.contextmanager
def _lock(home: Home) -> Iterator[None]:
    """One server for each home, also when two start at the same moment; a kill releases it."""
    with home.lock_file.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = running(home)
            pid = process.pid if process else "unknown"
            message = f"local_gcp is already up in {home.root} (process {pid})."
            raise AlreadyRunningError(message) from None
        yield


def _bind(port: int) -> socket.socket:
    # With the protocol named, asyncio sets TCP_NODELAY; without, small answers take 40 ms.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a restart meets TIME_WAIT
    sock.bind((LOOPBACK, port))
    return sock


def _port_taken(home: Home, ports: dict[str, int]) -> str:
    name, port = next((n, p) for n, p in ports.items() if not _free(p))
    return (
        f"Port {port} on {LOOPBACK}, recorded in {home.endpoints_file} as this home's {name!r} "
        f"port, is taken by {_owner(port)}. End that program; or delete {home.endpoints_file}, run "
        "`up` again, and give clients the new `env`."
    )


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex((LOOPBACK, port)) != 0


def _owner(port: int) -> str:
    with contextlib.suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            if connection.laddr and connection.laddr.port == port and connection.pid:
                return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return "another process"


def configure_logging() -> None:
    """One line for each event, on stderr, which is HOME/server.log in the background."""
    logging.basicConfig(
        level=os.environ.get("LOCAL_GCP_LOG_LEVEL", "INFO"),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
