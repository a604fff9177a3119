"""How far the trials and trainings of a run have come, as they report it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trellis.results.files import each_blob, read_file
from trellis.workflow.contracts.layout import Run
from trellis_contracts.documents import ContractError
from trellis_contracts.layout import metrics, progress
from trellis_contracts.progress import Progress, by_epoch
from trellis_contracts.training import Training

MOST = 60
"""Trials and trainings that are read; those that changed last."""


@dataclass(frozen=True)
class Learner:
    """A trial or a training. name: its folder in the run. metric: on the validation split, of the
    points (epoch, value). epochs: that it takes unless it stops earlier. ended: it has its result.
    at: when it reported last, ISO 8601. seconds_left: at the pace of its last epoch, at most.
    """

    name: str
    metric: str
    points: tuple[tuple[int, float], ...]
    epochs: int
    ended: bool
    at: str
    seconds_left: float | None = None

    @property
    def trial(self) -> bool:
        """Whether it is a trial of the search."""
        return self.name.startswith("tuning/")

    @property
    def epoch(self) -> int:
        """The last epoch that it has reported; 0: none."""
        return self.points[-1][0] if self.points else 0

    @property
    def value(self) -> float | None:
        """The metric after that epoch."""
        return self.points[-1][1] if self.points else None


def load_live(client: Any, run: Run) -> list[Learner]:
    """Those of a run that have reported an epoch, trials first, in the order of their names.

    client: google.cloud.storage.Client.
    """
    last: dict[str, datetime] = {}
    for folder in (run.tuning, run.trainings):
        # The folders hold checkpoints and models, too.
        for found in each_blob(client, folder, "**/{progress,metrics}.json"):
            parent = f"gs://{found.bucket.name}/{found.name.rpartition('/')[0]}/"
            last[parent] = max(found.updated, last.get(parent, found.updated))
    newest = sorted(last, key=lambda parent: last[parent])[-MOST:]
    with ThreadPoolExecutor(8) as pool:
        learners = pool.map(
            lambda parent: _learner(client, parent, run, last[parent].isoformat()), newest
        )
    return sorted(filter(None, learners), key=lambda each: (not each.trial, _order(each.name)))


def _learner(client: Any, folder: str, run: Run, at: str) -> Learner | None:
    name = folder.removeprefix(run.uri).rstrip("/")
    try:
        if ended := read_file(client, Training, metrics(folder)):
            points = by_epoch(ended.history, f"val_{ended.metric}")
            return Learner(name, ended.metric, points, ended.epochs_run, ended=True, at=at)
        if found := read_file(client, Progress, progress(folder)):
            points = tuple((point.epoch, point.value) for point in found.points)
            left = max(0, found.epochs - points[-1][0]) * found.seconds if points else None
            return Learner(name, found.metric, points, found.epochs, False, found.at, left)
    except ContractError:  # of another version of Trellis
        return None
    return None


def _order(name: str) -> list[tuple[int, str]]:
    """tuning/9 before tuning/10."""
    return [(int(part) if part.isdigit() else 0, part) for part in name.split("/")]
