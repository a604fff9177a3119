"""Fixtures for pytest: local_gcp as a real process, controlled by its command line.

    pytest_plugins = ["local_gcp.testing"]     # in the top-level conftest.py

    def test_upload(local_gcp):
        local_gcp.run(Path("upload.py"), "bucket")       # a program with Google's clients
        assert (local_gcp.buckets / "bucket/object").exists()

This module needs nothing but pytest, so tests may import it in environments that lack local_gcp's
own dependencies: see `local_gcp_environments`.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import pytest


class LocalGcp:
    """One local_gcp with a home of its own.

    `environments`: see the fixture `local_gcp_environments`.
    """

    def __init__(self, home: Path, environments: Mapping[str, Path]):
        self.home, self.environments = home, environments

    def command(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`local-gcp ARGUMENTS`, to its end."""
        return subprocess.run(
            [self._python("local_gcp"), "-m", "local_gcp", *arguments],
            env={**os.environ, "LOCAL_GCP_HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=check,
            timeout=120,
        )

    def up(self) -> None:
        """Start it, or start it again; AssertionError with its output if it does not start."""
        done = self.command("up", check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def down(self) -> None:
        """End it with its jobs."""
        self.command("down")

    def kill(self) -> None:
        """kill -9 of the server process, which gets no chance to tidy up."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    @property
    def pid(self) -> int:
        return json.loads((self.home / "server.pid").read_text())["pid"]

    @property
    def buckets(self) -> Path:
        """Cloud Storage, and /gcs of every job: BUCKET/OBJECT as plain files."""
        return self.home / "buckets"

    @cached_property
    def client_env(self) -> dict[str, str]:
        """The variables that direct clients to this local_gcp, and no others; a home keeps them."""
        return json.loads(self.command("env", "--json").stdout)

    @property
    def env(self) -> dict[str, str]:
        """A whole environment for a client program."""
        return {**os.environ, **self.client_env}

    def status(self) -> dict:
        """The status document, as the server gives it to `local-gcp status --json`."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{self.client_env['LOCAL_GCP_URL']}/local_gcp/status") as response:
            return json.load(response)

    def run(
        self,
        program: Path,
        *arguments: str,
        environment: str | None = None,
        timeout: float = 240,
        **variables: str,
    ) -> str:
        """Run a Python program as a client, to its end, and return its standard output.

        `environment`: one of `local_gcp_environments`; None is the one that runs the tests.
        `timeout`: seconds that it may take.
        `variables`: further environment variables; an empty one is removed.
        """
        python = self._python(environment) if environment else sys.executable
        env = {k: v for k, v in {**self.env, **variables}.items() if v}
        done = subprocess.run(
            [python, program, *arguments],
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, f"{program.name}:\n{done.stdout}\n{done.stderr[-6000:]}"
        return done.stdout

    def _python(self, environment: str) -> str | Path:
        return self.environments.get(environment, sys.executable)


@pytest.fixture(scope="session")
def local_gcp_environments() -> Mapping[str, Path]:
    """Python interpreters by name, "local_gcp" is the server's. Override it where there are more
    than the one that runs the tests, which stands for every name that is not here.
    """
    return {}


@pytest.fixture(scope="session")
def local_gcp(
    tmp_path_factory: pytest.TempPathFactory, local_gcp_environments: Mapping[str, Path]
) -> Iterator[LocalGcp]:
    """A running local_gcp for all tests of the session: use names of your own in it."""
    server = LocalGcp(tmp_path_factory.mktemp("local_gcp"), local_gcp_environments)
    server.up()
    yield server
    server.down()


@pytest.fixture
def new_local_gcp(
    tmp_path: Path, local_gcp_environments: Mapping[str, Path]
) -> Iterator[Callable[[], LocalGcp]]:
    """Makes local_gcps that a test may kill, each with a home of its own; not started yet."""
    servers: list[LocalGcp] = []

    def make() -> LocalGcp:
        servers.append(LocalGcp(tmp_path / f"local_gcp_{len(servers)}", local_gcp_environments))
        return servers[-1]

    yield make
    for server in servers:
        if any((server.home / "jobs").glob("*")):
            server.up()  # if it was killed: finds its jobs, so that `down` can end them
        server.down()
