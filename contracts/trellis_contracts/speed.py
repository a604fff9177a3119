"""Where the time of a training went: a row for each epoch in metrics.json, and what limited it.

The parts of an epoch are seconds of its process, the chief: `input`, for which a step waited for
its batch; `communication`, between a process's own gradients and the updated weights: summing over
the processes, so waiting for the slowest; `evaluation` of the validation split; `checkpoints`. What
is left is computing. trainer/training/speed.py measures them.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trellis_contracts import byte_size
from trellis_contracts.files import Part, optional

COMPUTING = "computing"
PARTS = ("input", "communication", "evaluation", "checkpoints")
NOT_MEASURED = "not measured"

# A process that computes so many times as long as the others' median slows all of them down.
_STRAGGLES = 1.25


@dataclass(frozen=True, kw_only=True)
class Device(Part):
    """A GPU during an epoch. use: share of the time in which it computed; memory: most bytes used
    at once, by all programs.
    """

    use: float
    memory: int


@dataclass(frozen=True, kw_only=True)
class Speed(Part):
    """An epoch. seconds: its duration with evaluation and checkpoints; examples: of the training
    split a second of it. input, communication: None where the strategy does not show them. cpu:
    share of the machine's cores; memory: most bytes of the process until now; read: bytes that the
    process read, but for checkpoints and for examples that it keeps on disk itself; of the first
    epoch with those of the data before it. devices: None where NVML does not show any.
    """

    epoch: int
    seconds: float
    examples: float
    input: float | None = optional()
    communication: float | None = optional()
    evaluation: float
    checkpoints: float
    cpu: float
    memory: int
    read: int | None = optional()
    devices: tuple[Device, ...] | None = optional()

    def figures(self) -> dict[str, float]:
        """The row as numbers by name, for TensorBoard and the log."""
        shared = {
            f"{part}_share": value / self.seconds
            for part in PARTS
            if (value := getattr(self, part)) is not None and self.seconds
        }
        devices = {
            f"gpu_{number}_{name}": float(value)
            for number, device in enumerate(self.devices or ())
            for name, value in device.to_document().items()
        }
        figures = {"examples_per_second": self.examples, "cpu_share": self.cpu, **shared, **devices}
        if self.read is not None:
            figures["read_bytes"] = float(self.read)
        return {**figures, "memory_bytes": float(self.memory)}


@dataclass(frozen=True)
class Limit:
    """What took most of a training's time. share: of it. advice: what to try next, a sentence."""

    name: str
    share: float
    advice: str


def steady(rows: Sequence[Speed]) -> Sequence[Speed]:
    """Leave out the first epoch where there are others: it also builds the steps. Of short epochs,
    those alone whose steps were measured, if any.
    """
    later = rows[1:] or rows
    return [row for row in later if row.input is not None] or later


def examples_per_second(rows: Sequence[Speed]) -> float:
    """Median over the epochs."""
    return statistics.median(row.examples for row in steady(rows))


def shares(rows: Sequence[Speed]) -> dict[str, float | None]:
    """Share of the time by part and of computing, None where it was not measured. rows: of one
    training, at least one.
    """
    found: dict[str, float | None] = {}
    total = sum(row.seconds for row in steady(rows)) or 1.0
    for part in PARTS:
        seconds = [getattr(row, part) for row in steady(rows)]
        known = [value for value in seconds if value is not None]
        found[part] = sum(known) / total if len(known) == len(seconds) else None
    measured = [share for share in found.values() if share is not None]
    whole = len(measured) == len(PARTS)
    return {COMPUTING: max(0.0, 1 - sum(measured)) if whole else None, **found}


def usage(rows: Sequence[Speed]) -> dict[str, str]:
    """Say what a training used: CPU, the mean share of its machine's cores; memory, the most of its
    process; read, the bytes of all epochs; GPU, the mean use and most memory of each.

    rows: of one training, at least one.
    """
    read = [row.read for row in rows if row.read is not None]
    every = zip(*(row.devices or () for row in steady(rows)), strict=True)
    devices = (
        f"{statistics.fmean(d.use for d in own):.0%}, {byte_size.text(max(d.memory for d in own))}"
        for own in every
    )
    return {
        "CPU": f"{statistics.fmean(row.cpu for row in steady(rows)):.0%}",
        "memory": byte_size.text(max(row.memory for row in rows)),
        "read": byte_size.text(sum(read)) if read else NOT_MEASURED,
        "GPU": "; ".join(devices) or NOT_MEASURED,
    }


def limit(rows: Sequence[Speed], computing: Mapping[str, float | None]) -> Limit | None:
    """What limited a training; None if its steps were not measured.

    computing: seconds that each process computed, by its name.
    """
    known = {name: share for name, share in shares(rows).items() if share is not None}
    if COMPUTING not in known:
        return None
    name = max(known, key=lambda part: known[part])
    advice = _ADVICE[name]
    if name == COMPUTING and any(row.devices for row in rows):
        advice = _ON_GPUS
    if name == "input" and _reads_again(rows):
        advice = _KEPT
    if slow := straggler(computing):
        advice = (
            f"{slow[0]} computed {slow[1]:.1f} times as long as the others, which waited for it: "
            "look at its machine, or use equal ones"
        )
    return Limit(name, known[name], advice)


def _reads_again(rows: Sequence[Speed]) -> bool:
    """Return whether later epochs read about as much as the first: the examples are not kept."""
    first, *later = (row.read or 0 for row in rows)
    return bool(later) and min(later) > first / 2 > 0


def straggler(computing: Mapping[str, float | None]) -> tuple[str, float] | None:
    """The process for which the others waited, and how many times their median it computed."""
    known = {name: seconds for name, seconds in computing.items() if seconds}
    if len(known) < 2:
        return None
    slowest = max(known, key=lambda name: known[name])
    others = statistics.median(s for name, s in known.items() if name != slowest)
    times = known[slowest] / others
    return (slowest, times) if times >= _STRAGGLES else None


_ADVICE = {
    COMPUTING: "try a machine with a GPU, a larger batch_size, or a smaller model",
    "input": "try more shards (files are read beside each other), a machine with more CPU cores, "
    "or smaller images",
    "communication": "try fewer workers, a larger batch_size or accumulation, or machines with a "
    "faster network",
    "evaluation": "try a smaller validation split; it is evaluated after every epoch",
    "checkpoints": "try a bucket in the region of the job, or a smaller model",
}
_ON_GPUS = "try mixed_precision, jit_compile or a larger batch_size, or a faster GPU"
_KEPT = (
    "each epoch reads and decodes the examples again: try a machine with more memory or a larger "
    "disk, where they are kept decoded (cache), more shards, or smaller images"
)
