"""Machines of jobs and deployed models: the keys that every section `machines` has."""

from typing import Literal

from pydantic import ValidationInfo, field_validator

from trellis.workflow.spec.quantities import Duration
from trellis.workflow.spec.sections import Section, broken, key

# https://docs.cloud.google.com/vertex-ai/docs/training/persistent-resource-create
_RESOURCE_ID = r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"
_RESERVATION = r"^[a-z]+-[a-z]+[0-9]+-[a-z]/[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"


class Machine(Section):
    """One replica: a machine type, with or without accelerators."""

    type: str = key("Compute Engine machine type", "n1-standard-4")
    gpu: str | None = key("accelerator type of each replica, as in NVIDIA_TESLA_T4", None)
    gpus: int = key("accelerators of each replica, if `gpu` names a type", 1, ge=1, le=16)

    @field_validator("gpus")
    @classmethod
    def _named(cls, gpus: int, info: ValidationInfo) -> int:
        if gpus != 1 and info.data.get("gpu", "?") is None:
            raise broken(f"{gpus} of which type? Name it: `gpu: NVIDIA_TESLA_T4`")
        return gpus

    @property
    def text(self) -> str:
        """Machine in words: type and accelerators."""
        return f"{self.type} with {self.gpus} {self.gpu}" if self.gpu else self.type


class Machines(Machine):
    """Machines of each replica of a job."""

    spot: bool = key("use spot machines: far cheaper, but Google may stop them at any time", False)
    persistent: str | None = key(
        "ID of a persistent resource of Vertex AI, in the group's project and region, with such "
        "machines: a job starts there at once, and the resource is paid for until it is deleted",
        None,
        pattern=_RESOURCE_ID,
    )
    wait: Duration | None = key(
        "time that a job waits for its machines; then it is cancelled, and the run fails. Left "
        "out: as platform.yaml has it (`machines.wait`)",
        None,
    )
    queue: Literal["flex"] | None = key(
        "flex: queue for rare GPUs (L4 to B200) in Google's Dynamic Workload Scheduler, at most "
        "for `wait`; the job starts when all its machines are free, and keeps them",
        None,
    )

    reservation: str | None = key(
        "ZONE/NAME of a reservation of Compute Engine, in the group's project and shared with "
        "Vertex AI: a job takes its machines and no others; it is paid for, used or not",
        None,
        pattern=_RESERVATION,
    )

    @field_validator("reservation")
    @classmethod
    def _reserved(cls, reservation: str | None, info: ValidationInfo) -> str | None:
        for other, why in (
            ("spot", "its machines are no spot machines"),
            ("persistent", "the machines of `persistent` are there already"),
            ("queue", "its machines are not queued for"),
        ):
            if reservation is not None and info.data.get(other):
                raise broken(f"{why}: leave `{other}` out")
        return reservation

    @field_validator("persistent")
    @classmethod
    def _kept(cls, persistent: str | None, info: ValidationInfo) -> str | None:
        if persistent is not None and info.data.get("spot"):
            raise broken("its machines are there already: leave `spot` out")
        return persistent

    @field_validator("queue")
    @classmethod
    def _waits(cls, queue: str | None, info: ValidationInfo) -> str | None:
        if queue is None:
            return None
        if info.data.get("spot"):
            raise broken("does not queue for spot machines: leave `spot` out")
        if info.data.get("persistent"):
            raise broken("the machines of `persistent` are there already: leave it out")
        if info.data.get("wait", "?") is None:
            raise broken("for how long? Add it: `wait: 1 day`")
        return queue

    @property
    def text(self) -> str:
        return f"{super().text}{' (spot)' if self.spot else ''}"


class ParameterServers(Section):
    """The machines that hold the weights of an asynchronous training."""

    count: int = key("number of servers; each holds a share of the weights", 1, ge=1, le=16)
    type: str = key("Compute Engine machine type of each", "n1-standard-4")


class ReductionServers(Section):
    """Machines that sum the gradients of workers in lockstep."""

    # 64 workers of 100 Gbps need 200 of 32: https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/training/distributed-training
    count: int = key(
        "number of servers; together they need the network bandwidth of all workers", ge=1, le=200
    )
    type: str = key("Compute Engine machine type of each, without GPUs", "n1-highcpu-16")


class TrainingMachines(Machines):
    """Machines of one full training's replicas."""

    workers: int = key("machines that train one model together", 1, ge=1, le=64)
    parameter_servers: ParameterServers | None = key(
        "train asynchronously: each worker updates weights on servers at its own pace, so that no "
        "worker waits for a slow or lost one, and no training is like another, bit for bit; one "
        "more machine of the workers' type leads. Left out: all workers in lockstep",
        None,
    )
    reduction_servers: ReductionServers | None = key(
        "use Vertex AI's Reduction Server, which sums the gradients of several workers with "
        "GPUs, in half the traffic; the images must hold Google's library for it. Left out: the "
        "workers sum them among themselves",
        None,
    )

    @property
    def pools(self) -> list[tuple[Machine, int]]:
        """A job's worker pools in Vertex AI's order, the chief's first: a machine and how many."""
        if servers := self.parameter_servers:
            return [(self, 1), (self, self.workers), (Machine(type=servers.type), servers.count)]
        workers: list[tuple[Machine, int]] = [(self, 1)]
        if self.workers > 1:
            workers.append((self, self.workers - 1))
        if reducers := self.reduction_servers:
            workers.append((Machine(type=reducers.type), reducers.count))
        return workers

    @property
    def lockstep(self) -> bool:
        """True if several workers make every step together."""
        return self.workers > 1 and self.parameter_servers is None

    @property
    def replicas(self) -> int:
        """Machines of a job in all."""
        return sum(count for _, count in self.pools)
