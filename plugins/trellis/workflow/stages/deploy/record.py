"""deployment.json: what a run's deployment did, written step by step, for people and the demo.

schema 1:
    {"schema": 1, "run": "gs://.../runs/RUN/", "challenger": "training/1",
     "endpoint": "projects/P/locations/R/endpoints/NAME",
     "model": "projects/P/locations/R/models/NAME@3",
     "previous": "projects/.../models/NAME@2",        the champion before; null: there was none
     "state": "deploying", "serving" (it is the champion) or "retreated",
     "share": 10,                                     percent of the requests it has by our steps
     "reason": null,                                  why a step failed
     "steps": [{"step": "canary_10", "at": "2026-01-01T00:00:00+00:00", "share": 10},
               {"step": "smoke_10", "at": ..., "examples": 20, "requests": 213,
                "largest_difference": 6e-8, "latency_ms": 4.2}, ...]}

What a step does follows from the endpoint and the aliases; from here it takes only what these
cannot tell: how far this run itself had come, so that another's change is known as one.
"""

from datetime import UTC, datetime
from typing import Any

from research import layout
from research.platform import Platform

SCHEMA = 1

DEPLOYING = "deploying"
SERVING = "serving"
RETREATED = "retreated"


class Record:
    """The deployment.json of one run."""

    def __init__(self, platform: Platform, run: layout.Run):
        self._platform = platform
        self._run = run

    def read(self) -> dict[str, Any]:
        from research import storage

        return storage.read_json(self._platform, self._run.deployment)

    def begin(self, challenger: str, endpoint: str, model: str, previous: str | None) -> None:
        """A deployment begins, or begins again."""
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
        """A step was done, or done again: it stands last. changes: of the fields above."""
        content = self.read()
        at = datetime.now(UTC).isoformat(timespec="seconds")
        steps = [step for step in content["steps"] if step["step"] != name]
        content["steps"] = [*steps, {"step": name, "at": at, **details}]
        self._write({**content, **changes})

    def change(self, **changes: Any) -> None:
        self._write({**self.read(), **changes})

    def _write(self, content: dict[str, Any]) -> None:
        from research import storage

        storage.write_json(self._platform, self._run.deployment, content)
