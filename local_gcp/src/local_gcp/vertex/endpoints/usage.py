"""Counts the requests of deployed models minute by minute, the source of Cloud Monitoring's
metrics.

Counts are in memory, and on disk within a second: a kill loses what was counted in that second, and
no prediction waits for the disk. They are kept for six weeks, as Cloud Monitoring keeps Google's
metrics: https://cloud.google.com/monitoring/quotas#data_retention_policy
"""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

from google.cloud import aiplatform_v1 as api

from local_gcp.state import State

MINUTE = 60
KEPT = 42 * 24 * 3600
"""Seconds."""
_FLUSH = 1.0
"""Seconds between two writes."""


@dataclasses.dataclass
class RequestCounts:
    """The requests of one deployed model in one minute.

    endpoint: its resource name. minute: its start, in seconds since 1970. predictions: instances
    that were predicted; a raw request counts as one. responses: their number by class, "2xx".
    """

    endpoint: str
    endpoint_display_name: str
    deployed_model_id: str
    model_display_name: str
    minute: int
    predictions: int = 0
    responses: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.endpoint}/deployedModels/{self.deployed_model_id}/{self.minute}"


class Usage:
    """See the module."""

    def __init__(self, state: State):
        self._state = state
        self._table = state.table("predictionMinutes", dict)
        self._lock = threading.Lock()
        self._minutes: dict[str, RequestCounts] = {}
        self._changed: set[str] = set()
        self._stopping = threading.Event()
        self._writer = threading.Thread(target=self._write, name="usage", daemon=True)

    def start(self) -> None:
        """Read what was counted before, forget what is too old, and write from now on."""
        for name, record in self._table.list():
            counts = RequestCounts(**record)
            if counts.minute < time.time() - KEPT:
                self._table.delete(name)
            else:
                self._minutes[name] = counts
        self._writer.start()

    def stop(self) -> None:
        """Write the last counts."""
        self._stopping.set()
        if self._writer.ident is not None:
            self._writer.join()
        self._flush()

    def add(self, endpoint: api.Endpoint, deployed: Any, status: int, predictions: int) -> None:
        """Count one response of a deployed model with an HTTP status, and its predictions."""
        minute = int(time.time()) // MINUTE * MINUTE
        new = RequestCounts(
            endpoint.name, endpoint.display_name, deployed.id, deployed.display_name, minute
        )
        with self._lock:
            counts = self._minutes.setdefault(new.name, new)
            class_ = f"{status // 100}xx"
            counts.responses[class_] = counts.responses.get(class_, 0) + 1
            counts.predictions += predictions
            self._changed.add(new.name)

    def between(self, start: float, end: float) -> list[RequestCounts]:
        """Copies of the minutes that overlap an interval in seconds since 1970, oldest first."""
        with self._lock:
            found = [
                dataclasses.replace(counts, responses=dict(counts.responses))
                for counts in self._minutes.values()
                if counts.minute < end and counts.minute + MINUTE > start
            ]
        return sorted(found, key=lambda counts: counts.minute)

    def _write(self) -> None:
        while not self._stopping.wait(_FLUSH):
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            records = {name: dataclasses.asdict(self._minutes[name]) for name in self._changed}
            self._changed.clear()
        if records:
            with self._state.transaction():
                for name, record in records.items():
                    self._table.put(name, record)
