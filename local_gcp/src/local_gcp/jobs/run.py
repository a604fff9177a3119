"""The records of the runner: what a run does (`Spec`) and its progress (`Run`).

A run is one CustomJob, one trial of a tuning job, or one Dataflow job: pools of replicas, each
replica a process. `Run` is what is stored, as JSON, and what observers are given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from local_gcp.jobs.attempts import Exit

TYPES = ("chief", "worker", "ps", "evaluator")
"""TF_CONFIG's names of the replicas of worker pools 0 to 3."""

RunState = Literal["queued", "pending", "running", "cancelling", "succeeded", "failed", "cancelled"]
"""Vertex AI's JobState without its prefix."""

FINAL = ("succeeded", "failed", "cancelled")
HAS_MACHINES = ("pending", "running", "cancelling")
"""States of a run that has its cores."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A command as the kernel sees it; argv[0] is looked up in env["PATH"]."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str


@dataclasses.dataclass(frozen=True)
class Pool:
    """`replicas` processes of the same program."""

    program: Program
    replicas: int = 1


@dataclasses.dataclass(frozen=True)
class Spec:
    """The programs of a run. The position of a pool is its role (`TYPES`); None is an empty
    pool.
    """

    pools: Sequence[Pool | None]
    timeout: float | None = None
    """Seconds that the run may take from its start; then it is ended and has failed."""
    max_wait: float | None = None
    """Seconds that it may wait for cores; then it has failed."""
    spot: bool = False
    """May be preempted."""
    restart_job_on_worker_restart: bool = False
    disable_retries: bool = False
    trial: str | None = None
    """Trial id, for TF_CONFIG and CLUSTER_SPEC."""
    cluster: bool = True
    """True if replicas learn of each other: CLUSTER_SPEC, and TF_CONFIG if distributed."""
    notes: Sequence[str] = ()
    """Lines for the top of each replica's log: differences from Google Cloud."""

    def __post_init__(self) -> None:
        if not self.pools or self.pools[0] is None or self.pools[0].replicas != 1:
            raise ValueError("The first pool must be there and have one replica, the primary.")
        if len(self.pools) > len(TYPES):
            raise ValueError(f"At most {len(TYPES)} pools: {', '.join(TYPES)}.")

    @property
    def cores(self) -> int:
        """Core slots it takes: one for each replica."""
        return sum(pool.replicas for pool in self.pools if pool)

    def seats(self) -> Iterator[tuple[int, int]]:
        """(pool, index) of each replica, the primary first."""
        for number, pool in enumerate(self.pools):
            for index in range(pool.replicas if pool else 0):
                yield number, index


@dataclasses.dataclass
class Replica:
    """One place in a run, and its latest attempt."""

    pool: int
    index: int
    attempt: int = 0
    """Latest attempt, from 1; 0 before the first."""
    restarts: int = 0
    """Restarts since the job was last (re)started; the limit is `recovery.REPLICA_RESTARTS`."""
    started: float | None = None
    log_start: int = 0
    """Offset in the log at which the latest attempt begins, in bytes."""
    exit: Exit | None = None
    """End of the latest attempt."""

    @property
    def name(self) -> str:
        """workerpool1-0: Vertex AI's name of it, also of its folder."""
        return f"workerpool{self.pool}-{self.index}"

    @property
    def running(self) -> bool:
        return self.attempt > 0 and self.exit is None

    @property
    def state(self) -> str:
        """waiting, running, succeeded, failed, killed, or stopped (asked to end by local_gcp)."""
        if self.exit is None:
            return "running" if self.attempt else "waiting"
        if self.exit.stopped:
            return "stopped"
        if self.exit.lost or self.exit.signal:
            return "killed"
        return "failed" if self.exit.code else "succeeded"


@dataclasses.dataclass
class Ending:
    """The run's processes are being stopped, and the action after that."""

    then: Literal["succeeded", "failed", "cancelled", "restarted", "requeued"]
    since: float
    why: str = ""


@dataclasses.dataclass
class Run:
    """A run as it is stored. Times are Unix seconds."""

    id: str
    """Also its folder under HOME/jobs; may contain "/"."""
    number: int
    """Place in the order of submission."""
    spec: Spec
    created: float
    updated: float
    state: RunState = "queued"
    waits: bool = False
    """True if there were too few free cores for it, as it was in the queue."""
    started: float | None = None
    """Time of the first start."""
    admitted: float | None = None
    """Time at which it last got its cores; its timeout counts from here, not while it is queued."""
    ended: float | None = None
    error: dict[str, Any] | None = None
    """{"code": google.rpc.Code, "message": ...} of a failed run."""
    replicas: list[Replica] = dataclasses.field(default_factory=list)
    addresses: list[str] = dataclasses.field(default_factory=list)
    """host:port of each replica, new for each start of the whole job."""
    job_restarts: int = 0
    """Retries of the whole job after repeated deaths; limit `recovery.JOB_RETRIES`."""
    preemptions: int = 0
    incident: float | None = None
    """Time at which a replica last died while others ran on, which may cause their exits."""
    suspect: str | None = None
    """Name of a secondary replica that failed by itself; the primary has the word for a while."""
    ending: Ending | None = None

    @property
    def final(self) -> bool:
        return self.state in FINAL

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Run:
        spec = dict(record["spec"])
        spec["pools"] = [
            pool and Pool(Program(**pool["program"]), pool["replicas"]) for pool in spec["pools"]
        ]
        replicas = [
            Replica(**{**replica, "exit": replica["exit"] and Exit(**replica["exit"])})
            for replica in record["replicas"]
        ]
        ending = record["ending"] and Ending(**record["ending"])
        return cls(**{**record, "spec": Spec(**spec), "replicas": replicas, "ending": ending})
