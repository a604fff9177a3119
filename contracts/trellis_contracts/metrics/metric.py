"""What a metric is, for those that name, check and explain it."""

from dataclasses import dataclass
from typing import Literal

Goal = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Metric:
    """goal: maximize or minimize. tasks: that have it. gate_only: a gate may bound it, but nothing
    may be chosen by it. by_decision: it depends on which class is decided, so that a threshold can
    be chosen for it. part: what it is an average over, of which a gate may bound each one; None:
    it has no parts. served: a server's answers have all that it needs, so that labels which come
    later score them by it.
    """

    goal: Goal
    tasks: tuple[str, ...]
    description: str
    gate_only: bool = False
    by_decision: bool = False
    part: str | None = None
    served: bool = True
