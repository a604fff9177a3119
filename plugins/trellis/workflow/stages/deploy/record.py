"""Writes deployment.json (trellis_contracts.deployment), step by step."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.lookups import documents
from trellis.workflow.spec.platform import Platform
from trellis_contracts.deployment import Deployment


class Record:
    """The deployment.json of one run."""

    def __init__(self, platform: Platform, run: layout.Run):
        self._platform = platform
        self._run = run

    def find(self) -> Deployment | None:
        """Read the record; None before a deployment has started."""
        return documents.find_file(self._platform, Deployment, self._run.deployment)

    def read(self) -> Deployment:
        return documents.read_file(self._platform, Deployment, self._run.deployment)

    def begin(self, challenger: str, endpoint: str, model: str, previous: str | None) -> None:
        """Record that a deployment starts, or starts again."""
        self._write(Deployment(self._run.uri, challenger, endpoint, model, previous))

    def step(self, name: str, details: dict[str, Any], **changes: Any) -> None:
        """Record a step, as the last one even if repeated. changes: to the other fields."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        before = self.read()
        steps = [step for step in before.steps if step["step"] != name]
        done = {"step": name, "at": at, **details}
        self._write(replace(before, steps=(*steps, done), **changes))

    def change(self, **changes: Any) -> None:
        self._write(replace(self.read(), **changes))

    def _write(self, content: Deployment) -> None:
        documents.write_file(self._platform, self._run.deployment, content)
