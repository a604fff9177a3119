"""The machine types and accelerators of Vertex AI: which fit together, and what an hour costs.

machines.json is the one table; it names the source of every figure and its date. Prices are those
of one region, on demand: spot machines cost less and count in full, so that a limit stays one.
"""

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trellis.workflow.spec.machines import Machine

TABLE = Path(__file__).with_name("machines.json")

Use = Literal["training", "serving"]
"""What a machine is for: jobs that train or compare, or deployed models and batch predictions."""


@dataclass(frozen=True)
class MachineType:
    """A machine type.

    usd: an hour on Compute Engine, in US dollars. training_usd, serving_usd: an hour on Vertex AI,
    where its own price is known. gpu, gpus: the accelerators that are part of it. only: the one use
    that it is for.
    """

    vcpus: float
    memory_gb: float
    usd: float | None = None
    training_usd: float | None = None
    serving_usd: float | None = None
    gpu: str | None = None
    gpus: int = 0
    only: Use | None = None


@dataclass(frozen=True)
class Attachable:
    """An accelerator that n1 machines can have, with the most vCPUs of a machine by its number."""

    most_vcpus: Mapping[str, int]
    usd: float | None = None
    most_memory_gb: float = math.inf
    training_usd: float | None = None
    serving_usd: float | None = None

    def counts(self, type_: MachineType) -> list[int]:
        """How many of it a machine can have."""
        if type_.memory_gb > self.most_memory_gb:
            return []
        return [int(count) for count, most in self.most_vcpus.items() if type_.vcpus <= most]


@dataclass(frozen=True)
class Machines:
    """The table. factors: what Vertex AI charges on top of Compute Engine, by use."""

    region: str
    date: str
    sources: Mapping[Use, str]
    factors: Mapping[Use, float]
    types: Mapping[str, MachineType]
    attachable: Mapping[str, Attachable]

    def of(self, use: Use) -> list[str]:
        """The machine types for a use."""
        return [name for name, type_ in self.types.items() if type_.only in (None, use)]

    @property
    def gpus(self) -> list[str]:
        """Every accelerator, by Vertex AI's name."""
        fixed = {type_.gpu for type_ in self.types.values() if type_.gpu}
        return sorted(fixed | set(self.attachable))

    def usd(self, machine: Machine, use: Use) -> float:
        """An hour of one replica, in US dollars. Raises KeyError for what is not in the table."""
        type_ = self.types[machine.type]
        total = self._price(type_, use)
        if machine.gpu and not type_.gpu:
            total += machine.gpus * self._price(self.attachable[machine.gpu], use)
        return total

    def _price(self, entry: MachineType | Attachable, use: Use) -> float:
        own = entry.training_usd if use == "training" else entry.serving_usd
        if own is not None:
            return own
        if entry.usd is None:  # renewal.py lets no such entry into the table
            raise KeyError(f"no price for {use}")
        return entry.usd * self.factors[use]


@functools.cache
def table(path: Path = TABLE) -> Machines:
    """The table of a file."""
    raw: dict[str, Any] = json.loads(path.read_text())
    return Machines(
        raw["region"],
        raw["date"],
        {use: raw[use]["source"] for use in ("training", "serving")},
        {use: raw[use]["factor"] for use in ("training", "serving")},
        {name: MachineType(**entry) for name, entry in raw["machines"].items()},
        {name: Attachable(**entry) for name, entry in raw["attachable"].items()},
    )
