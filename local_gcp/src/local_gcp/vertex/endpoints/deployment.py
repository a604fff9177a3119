"""A deployed model: its stored state, and the transient state of the running server.

Stored (`to_json`): all that the next server needs to find the serving processes again.
Transient: whether a replica is ready, and its number of requests.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

DeploymentState = Literal["deploying", "serving", "failing", "undeploying"]


@dataclasses.dataclass(frozen=True)
class Launch:
    """The command and calls of each replica; without the port, which each attempt has."""

    argv: Sequence[str]
    image: Mapping[str, str]
    """Variables of the image and of Vertex AI (AIP_...)."""
    env: Mapping[str, str]
    """The model's own variables; they may refer to those before them."""
    cwd: str
    health: str
    predict: str
    timeout: float
    """Seconds from the deployment's start until its replicas must be healthy."""
    notes: Sequence[str] = ()
    """Lines for the top of each replica's log."""
    account: str = ""
    """Service account that it runs as; without one it has no rights."""


@dataclasses.dataclass(eq=False)
class Replica:
    """A place for a serving process; its process is the latest attempt."""

    number: int
    attempt: int = 1
    port: int = 0
    leaving: bool = False
    """Gets no more requests; its process is stopped after its current requests."""

    ready: bool = False
    """Healthy, and listening on `port`."""
    in_flight: int = 0
    failed_checks: int = 0
    """Consecutive failed checks."""
    next_check: float = 0.0
    checking: bool = False
    deaths: int = 0
    """Failures since it was last ready."""
    not_before: float = 0.0
    """Earliest time of the next attempt."""
    launched: float = 0.0
    """Time at which this server started its process."""
    was_ready: bool = False
    left: float = 0.0
    """Time at which it began to drain."""
    stopping: bool = False
    """Its process was asked to end."""


_STORED = ("number", "attempt", "port", "leaving")


@dataclasses.dataclass
class Deployment:
    """See the module. Times are Unix seconds."""

    endpoint: str
    id: str
    model: str
    """MODEL@VERSION."""
    launch: Launch
    least: int
    most: int
    required: int
    """Replicas that must be healthy before it is deployed."""
    labels: Mapping[str, str]
    display_name: str
    operation: str | None
    """The current operation: its deployment, its undeployment, or a change."""
    state: DeploymentState = "deploying"
    began: float = dataclasses.field(default_factory=time.time)
    error: str | None = None
    replicas: list[Replica] = dataclasses.field(default_factory=list)
    next_number: int = 0

    load: float = 0.0
    """Moving average of the requests in flight."""
    idle_since: float | None = None
    """Since when fewer replicas would suffice."""

    @property
    def key(self) -> str:
        """ENDPOINT/deployedModels/ID."""
        return f"{self.endpoint}/deployedModels/{self.id}"

    @property
    def ready(self) -> list[Replica]:
        """The replicas that take requests."""
        return [r for r in self.replicas if r.ready and not r.leaving]

    @property
    def staying(self) -> list[Replica]:
        return [r for r in self.replicas if not r.leaving]

    def add_replica(self) -> Replica:
        """Add a replica; the fleet starts its process."""
        replica = Replica(self.next_number)
        self.next_number += 1
        self.replicas.append(replica)
        return replica

    def to_json(self) -> dict[str, Any]:
        record = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del record["load"], record["idle_since"]
        record["launch"] = dataclasses.asdict(self.launch)
        record["labels"] = dict(self.labels)
        record["replicas"] = [{n: getattr(r, n) for n in _STORED} for r in self.replicas]
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Deployment:
        replicas = [Replica(**replica) for replica in record["replicas"]]
        return cls(**{**record, "launch": Launch(**record["launch"]), "replicas": replicas})
