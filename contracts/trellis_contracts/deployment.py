"""deployment.json: the steps of a run's deployment as they are done. The tasks of the deployment
write and read it; the pages and the record of the run show it.

A step reads the state of endpoint and aliases. This file adds only how far this run itself had
come, so that changes by others can be detected. steps (the values are examples):

    {"step": "canary_10", "at": "2026-01-01T00:00:00+00:00", "share": 10}
    {"step": "smoke_10", "at": ..., "examples": 20, "requests": 213, "latency_ms": 4.2}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from trellis_contracts.files import File

State = Literal["deploying", "serving", "retreated"]

DEPLOYING: State = "deploying"
SERVING: State = "serving"
RETREATED: State = "retreated"


@dataclass(frozen=True)
class Deployment(File):
    """run: its folder. challenger: name on the leaderboard. endpoint: resource name. model,
    previous: resource names with version, the second of the champion before; None: there was none.
    state: DEPLOYING, SERVING (it is the champion) or RETREATED. share: percent of the requests that
    this run gave it. reason: why a step failed.
    """

    CONTRACT: ClassVar[str] = "deployment"

    run: str
    challenger: str
    endpoint: str
    model: str
    previous: str | None
    state: State = DEPLOYING
    share: int = 0
    reason: str | None = None
    steps: tuple[Mapping[str, Any], ...] = ()

    def time_of(self, step: str) -> str | None:
        """When a step was done, ISO 8601; None if it was not."""
        return next((found["at"] for found in self.steps if found["step"] == step), None)
