"""A deployed model: what is stored of it, and what only the running server knows.

Stored (`to_json`): everything that the next server needs to find the serving processes again.
Not stored: whether a replica is ready and how many requests it has; that is found out anew.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

DeploymentState = Literal["deploying", "serving", "failing", "undeploying"]


@dataclasses.dataclass(frozen=True)
class Launch:
    """How each replica is started and asked. Its port is not in here: each attempt has its own."""

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


@dataclasses.dataclass(eq=False)
class Replica:
    """A place for a serving process; its process is the latest attempt."""

    number: int
    attempt: int = 1
    port: int = 0
    leaving: bool = False
    """Gets no more requests; its process is stopped when it has answered those it has."""

    ready: bool = False
    """Healthy, and listening on `port`."""
    in_flight: int = 0
    failed_checks: int = 0
    """In a row."""
    next_check: float = 0.0
    checking: bool = False
    deaths: int = 0
    """Since it was last ready."""
    not_before: float = 0.0
    """When its next attempt may start."""
    launched: float = 0.0
    """When this server started its process."""
    was_ready: bool = False
    left: float = 0.0
    """When it was told to leave."""
    stopping: bool = False
    """Its process was told to end."""


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
    """The operation that is under way: of its deployment, or of its undeployment."""
    state: DeploymentState = "deploying"
    began: float = dataclasses.field(default_factory=time.time)
    error: str | None = None
    replicas: list[Replica] = dataclasses.field(default_factory=list)
    next_number: int = 0

    load: float = 0.0
    """Requests in flight, averaged over the last seconds."""
    idle_since: float | None = None
    """Since when fewer replicas than there are would do."""

    @property
    def key(self) -> str:
        """ENDPOINT/deployedModels/ID."""
        return f"{self.endpoint}/deployedModels/{self.id}"

    @property
    def ready(self) -> list[Replica]:
        """Those that take requests."""
        return [r for r in self.replicas if r.ready and not r.leaving]

    @property
    def staying(self) -> list[Replica]:
        return [r for r in self.replicas if not r.leaving]

    def add_replica(self) -> Replica:
        """A further place; its process is started by the fleet."""
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
