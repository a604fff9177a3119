"""deployment.json: the steps of a run's deployment as they are done, for people and the demo.

schema 1:
    {"schema": 1, "run": "gs://.../runs/RUN/", "challenger": "training/1",
     "endpoint": "projects/P/locations/R/endpoints/NAME",
     "model": "projects/P/locations/R/models/NAME@3",
     "previous": "projects/.../models/NAME@2",        the champion before; null: there was none
     "state": "deploying", "serving" (it is the champion) or "retreated",
     "share": 10,                                     percent of the requests this run gave it
     "reason": null,                                  why a step failed
     "steps": [{"step": "canary_10", "at": "2026-01-01T00:00:00+00:00", "share": 10},
               {"step": "smoke_10", "at": ..., "examples": 20, "requests": 213,
                "largest_difference": 6e-8, "latency_ms": 4.2}, ...]}

A step reads the state of endpoint and aliases. This file adds only how far this run itself had
come, so that changes by others can be detected.
"""

from datetime import UTC, datetime
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.lookups import documents
from trellis.workflow.spec.platform import Platform

SCHEMA = 1

DEPLOYING = "deploying"
SERVING = "serving"
RETREATED = "retreated"


class Record:
    """The deployment.json of one run."""

    def __init__(self, platform: Platform, run: layout.Run):
        self._platform = platform
        self._run = run

    def find(self) -> dict[str, Any] | None:
        """Read the record; None before a deployment has started."""
        return documents.find(self._platform, "deployment", self._run.deployment)

    def read(self) -> dict[str, Any]:
        return documents.read(self._platform, "deployment", self._run.deployment)

    def begin(self, challenger: str, endpoint: str, model: str, previous: str | None) -> None:
        """Record that a deployment starts, or starts again."""
        self._write(
            {
                "schema": SCHEMA,
                "run": self._run.uri,
                "challenger": challenger,
                "endpoint": endpoint,
                "model": model,
                "previous": previous,
                "state": DEPLOYING,
                "share": 0,
                "reason": None,
                "steps": [],
            }
        )

    def step(self, name: str, details: dict[str, Any], **changes: Any) -> None:
        """Record a step, as the last one even if repeated. changes: to the fields above."""
        content = self.read()
        at = datetime.now(UTC).isoformat(timespec="seconds")
        steps = [step for step in content["steps"] if step["step"] != name]
        content["steps"] = [*steps, {"step": name, "at": at, **details}]
        self._write({**content, **changes})

    def change(self, **changes: Any) -> None:
        self._write({**self.read(), **changes})

    def _write(self, content: dict[str, Any]) -> None:
        documents.write(self._platform, "deployment", self._run.deployment, content)
