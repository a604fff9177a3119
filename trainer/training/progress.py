"""Tells how far a training has come, in a file that the pages in Airflow read."""

import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from trainer import storage
from trainer.training.settings import Settings
from trellis_contracts.progress import Point, Progress, by_epoch

_EVERY = 15.0
"""Seconds between two writes at least: each costs a request to Cloud Storage."""


class ProgressFile:
    """progress.json of a training. The last epochs may be missing in it: metrics.json has all."""

    def __init__(self, settings: Settings):
        self._path = settings.places.progress
        self._metric, self._epochs = settings.metric, settings.epochs
        self._written = -math.inf

    def show(self, history: Sequence[Mapping[str, float]]) -> None:
        """Write the epochs so far, unless that was done a moment ago. history: as in metrics.json;
        epochs without the metric are left out.
        """
        if not history or time.monotonic() - self._written < _EVERY:
            return
        progress = Progress(
            metric=self._metric,
            epochs=max(self._epochs, int(history[-1]["epoch"])),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=history[-1].get("seconds", 0.0),
            points=tuple(Point(*found) for found in by_epoch(history, f"val_{self._metric}")),
        )
        storage.write_text(self._path, progress.to_json(str(self._path)))
        self._written = time.monotonic()
