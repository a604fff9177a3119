"""Starts serving processes, and manages their folders, logs and ports."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from local_gcp.environment import without_rights
from local_gcp.home import LOOPBACK, Home
from local_gcp.jobs.attempts import Attempt
from local_gcp.jobs.logs import QUOTED_LINES, append_line, last_lines
from local_gcp.jobs.machine import Machine, free_addresses
from local_gcp.jobs.variables import environment, expand
from local_gcp.vertex.endpoints.deployment import Deployment, Replica

log = logging.getLogger(__name__)

GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL."""


class Processes:
    """Serving processes. `environment`: directs clients in them to this local_gcp."""

    def __init__(self, home: Home, environment: Mapping[str, str], machine: Machine):
        self._home, self._environment, self._machine = home, dict(environment), machine

    def folder(self, deployment: Deployment, replica: Replica) -> Path:
        """The folder with a replica's log and attempts."""
        _, _, _, location, _, endpoint = deployment.endpoint.split("/")
        folder = self._home.jobs / "endpoints" / location / endpoint / deployment.id
        return folder / f"replica-{replica.number}"

    def attempt(self, deployment: Deployment, replica: Replica) -> Attempt:
        return Attempt(self.folder(deployment, replica) / f"attempt-{replica.attempt}")

    def runs(self, deployment: Deployment, replica: Replica) -> bool:
        """Return whether its process was started and has not ended."""
        attempt = self.attempt(deployment, replica)
        return attempt.was_started and attempt.poll() is None

    def prepare(self, deployment: Deployment, replica: Replica, taken: Collection[int]) -> None:
        """Give it a new attempt, and a port that is not `taken`."""
        while self.attempt(deployment, replica).folder.exists():
            replica.attempt += 1
        addresses = free_addresses(1, {f"{LOOPBACK}:{port}" for port in taken})
        replica.port = int(addresses[0].rpartition(":")[2])

    def launch(self, deployment: Deployment, replica: Replica) -> None:
        """Start its process; the caller has stored it."""
        launch, folder = deployment.launch, self.folder(deployment, replica)
        folder.mkdir(parents=True, exist_ok=True)
        if replica.attempt == 1:
            for note in launch.notes:
                append_line(folder / "log", note)
        rights = self._environment if launch.account else without_rights(self._environment)
        service = {**self._machine.thread_environment(), **rights}
        image = {**environment(service, launch.image), "AIP_HTTP_PORT": str(replica.port)}
        variables = environment(image, launch.env)
        self.attempt(deployment, replica).start(
            [expand(argument, variables) for argument in launch.argv],
            variables,
            launch.cwd,
            folder / "log",
            GRACE,
            self._home.buckets,
        )
        log.info("%s: replica %d at port %d", deployment.key, replica.number, replica.port)

    def note(self, deployment: Deployment, replica: Replica, text: str) -> None:
        """Write a line of local_gcp to its log."""
        append_line(self.folder(deployment, replica) / "log", text)

    def last_words(self, deployment: Deployment, replica: Replica) -> str:
        """The path and the end of its log, for a message."""
        path = self.folder(deployment, replica) / "log"
        quote = "".join(f"\n  {line}" for line in last_lines(path, QUOTED_LINES))
        return f"Model server logs can be found at {path}\nIt ended with:{quote}"

    def describe(self, deployment: Deployment, replica: Replica) -> dict[str, Any]:
        """A replica in the JSON of `local-gcp status`."""
        path = self.folder(deployment, replica) / "log"
        state = "draining" if replica.leaving else "ready" if replica.ready else "starting"
        return {
            "pool": 0,
            "index": replica.number,
            "type": "replica",
            "attempt": replica.attempt,
            "state": state,
            "pid": self.attempt(deployment, replica).pid,
            "port": replica.port,
            "log": str(path),
            "last_line": "".join(last_lines(path, 1)),
        }
