"""The machine types and accelerators of Vertex AI: which fit together, and what an hour costs.

machines.json is the one table; it names the source of every figure and its date. Prices are those
of one region or more, on demand: spot machines cost less and count in full, so that a limit stays
one. `trellis prices` renews all regions, and adds the group's. The table as it comes has no prices
of spot machines, which change every month; renewing it adds them.
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
"""Use of a machine: jobs that train or compare, or deployed models and batch predictions."""


@dataclass(frozen=True)
class MachineType:
    """A machine type. gpu, gpus: the accelerators that are part of it. only: the one use that it
    is for.
    """

    vcpus: float
    memory_gb: float
    gpu: str | None = None
    gpus: int = 0
    only: Use | None = None


@dataclass(frozen=True)
class Attachable:
    """An accelerator that n1 machines can have, with the most vCPUs of a machine by its number."""

    most_vcpus: Mapping[str, int]
    most_memory_gb: float = math.inf

    def counts(self, type_: MachineType) -> list[int]:
        """Numbers of this accelerator that a machine can have."""
        if type_.memory_gb > self.most_memory_gb:
            return []
        return [int(count) for count, most in self.most_vcpus.items() if type_.vcpus <= most]


@dataclass(frozen=True)
class Price:
    """An hour of a machine type or an accelerator, in US dollars.

    usd, spot_usd: on Compute Engine, on demand and as a spot machine. training_usd, serving_usd: on
    Vertex AI, where its own price is known.
    """

    usd: float | None = None
    spot_usd: float | None = None
    training_usd: float | None = None
    serving_usd: float | None = None


@dataclass(frozen=True)
class Machines:
    """The table, with the prices of one region.

    regions: all that it has prices of. factors: what Vertex AI charges on top of Compute Engine, by
    use. prices: by machine type or accelerator; the region has no machine that is missing there.
    """

    region: str
    regions: tuple[str, ...]
    date: str
    sources: Mapping[Use, str]
    factors: Mapping[Use, float]
    types: Mapping[str, MachineType]
    attachable: Mapping[str, Attachable]
    prices: Mapping[str, Price]

    def of(self, use: Use) -> list[str]:
        """The machine types for a use."""
        return [name for name, type_ in self.types.items() if type_.only in (None, use)]

    @property
    def gpus(self) -> list[str]:
        """Every accelerator, by Vertex AI's name."""
        fixed = {type_.gpu for type_ in self.types.values() if type_.gpu}
        return sorted(fixed | set(self.attachable))

    def unpriced(self, machine: Machine) -> list[str]:
        """List the parts of the machine that have no price in the region."""
        return [name for name in self._parts(machine) if name not in self.prices]

    def usd(self, machine: Machine, use: Use) -> float:
        """An hour of one replica, in US dollars. Raises KeyError for what has no price."""
        parts = self._parts(machine)
        return sum(number * self._price(name, use) for name, number in parts.items())

    def spot_usd(self, machine: Machine) -> float | None:
        """An hour of one replica that trains as a spot machine; None if that is not known.

        Vertex AI adds the same management fee to Compute Engine's price as on demand:
        https://cloud.google.com/vertex-ai/pricing#custom-trained_models
        """
        total = 0.0
        for name, number in self._parts(machine).items():
            price = self.prices[name]
            if price.usd is None or price.spot_usd is None:
                return None
            fee = max(0.0, self._price(name, "training") - price.usd)
            total += number * (price.spot_usd + fee)
        return total

    def _parts(self, machine: Machine) -> dict[str, int]:
        if machine.gpu is None or self.types[machine.type].gpu:
            return {machine.type: 1}
        return {machine.type: 1, machine.gpu: machine.gpus}

    def _price(self, name: str, use: Use) -> float:
        price = self.prices[name]
        own = price.training_usd if use == "training" else price.serving_usd
        if own is not None:
            return own
        if price.usd is None:  # renewal.py lets no such price into the table
            raise KeyError(f"no price of {name} for {use}")
        return price.usd * self.factors[use]


@functools.cache
def table(region: str | None = None, path: Path = TABLE) -> Machines:
    """The table of a file with a region's prices; with those of its first, if it has none."""
    raw: dict[str, Any] = json.loads(path.read_text())
    regions = tuple(raw["prices"])
    whose = region if region is not None and region in regions else regions[0]
    return Machines(
        whose,
        regions,
        raw["date"],
        {use: raw[use]["source"] for use in ("training", "serving")},
        {use: raw[use]["factor"] for use in ("training", "serving")},
        {name: MachineType(**entry) for name, entry in raw["machines"].items()},
        {name: Attachable(**entry) for name, entry in raw["attachable"].items()},
        {name: Price(**entry) for name, entry in raw["prices"][whose].items()},
    )
