"""The facts of a run that has a leaderboard: its files, gathered."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trellis.results.files import RunFiles, each_blob, frozen_rows, read, read_file
from trellis.results.selection import NoRunError
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.layout import FoldRun, Run
from trellis.workflow.contracts.record import RunRecord
from trellis_contracts.columns import SPLIT_BY
from trellis_contracts.dataset import SPLITS, DatasetDescription
from trellis_contracts.folds import Folds
from trellis_contracts.layout import metrics
from trellis_contracts.leaderboard import Contender, Leaderboard
from trellis_contracts.plan import PlanFile
from trellis_contracts.training import Training
from trellis_contracts.trials import Trials

_TRAININGS = r"(folds/[^/]+/)?training/"
"""Folders of full trainings, below a run's; others that have a metrics.json are trials."""


@dataclass(frozen=True)
class Dates:
    """The first and the last value of a column in each split that has any, ISO 8601."""

    column: str
    by_split: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Facts:
    """record: of the index; None if it has none. version: of Trellis that planned the run. trials:
    by model; None is the experiment's `model`. fold_trials: of the searches in folds. seconds: of
    all full trainings, by folder below the run's: unselected ones, those in folds and those with
    other seeds, too. dates: of the columns of the frozen rows that hold days or times. groups: that
    the frozen rows of each split are of, where groups decide the split. Both are empty if the rows
    are gone.
    """

    files: RunFiles
    plan: PlanFile
    board: Leaderboard
    dataset: DatasetDescription
    record: RunRecord | None
    version: str
    trials: Mapping[str | None, Trials]
    fold_trials: tuple[Trials, ...]
    seconds: Mapping[str, float]
    dates: tuple[Dates, ...]
    groups: Mapping[str, int]

    @property
    def settings(self) -> Mapping[str, Any]:
        """The experiment file as this run had it."""
        return self.plan.configuration

    @property
    def models(self) -> Mapping[str | None, Mapping[str, Any]]:
        """`hyperparameters` and `search` of each model; None is the experiment's `model`."""
        tune = self.settings.get("tune", {})
        own = {
            "hyperparameters": self.settings.get("hyperparameters", {}),
            "search": tune.get("search", {}),
        }
        return {None: own, **self.settings.get("other_models", {})}

    def name_of(self, model: str | None) -> str:
        """Name of one of `models`."""
        return model or str(self.settings["model"])

    @property
    def trainings(self) -> list[Contender]:
        """The trainings that were scored."""
        return [c for c in self.board.contenders if c.training is not None]

    @property
    def ranked(self) -> list[Contender]:
        """The contenders that were scored, the winner first."""
        return [c for c in self.board.contenders if c.rank]

    @property
    def selected(self) -> Contender | None:
        """The training that the validation split selected."""
        return self.board.selected

    @property
    def trial_hours(self) -> float:
        """Sum of the hours between start and end of all trials, those in folds included."""
        every = (
            trial for one in (*self.trials.values(), *self.fold_trials) for trial in one.trials
        )
        return sum(_hours(one.start, one.end) for one in every if one.start and one.end)


def load(client: Any, files: RunFiles, record: RunRecord | None) -> Facts:
    """Gather a run's facts. client: google.cloud.storage.Client.

    Raises NoRunError if the run has no leaderboard, or its dataset is gone, ContractError for a
    file that this version of Trellis cannot read, and Google's exceptions.
    """
    run, plan = files.run, files.plan
    if plan is None or files.leaderboard is None:
        why = "; ".join(files.problems) or "the run has not ended, or failed"
        raise NoRunError(f"{run.uri} has no leaderboard: {why}")
    mark = layout.dataset_mark(plan.dataset.uri)
    dataset = read_file(client, DatasetDescription, mark)
    if dataset is None:
        raise NoRunError(f"there is no {mark}: it was deleted")
    models = (None, *plan.configuration.get("other_models", {}))
    found = {model: read_file(client, Trials, run.trials_of(model)) for model in models}
    train = plan.configuration["train"]
    folds = Folds(train["folds"], train.get("repeats", 1)) if "folds" in train else None
    in_folds = [
        read_file(
            client, Trials, FoldRun(run.bucket, run.experiment, run.folder, part).trials_of(m)
        )
        for part in (folds.parts if folds else ())
        for m in models
    ]
    dates, groups = _of_rows(client, plan, dataset)
    written = json.loads(read(client, run.plan) or b"{}")
    return Facts(
        files=files,
        plan=plan,
        board=files.leaderboard,
        dataset=dataset,
        record=record,
        version=str(written.get("contracts", "unknown")),
        trials={model: trials for model, trials in found.items() if trials is not None},
        fold_trials=tuple(trials for trials in in_folds if trials is not None),
        seconds=dict(_seconds(client, run)),
        dates=dates,
        groups=groups,
    )


def _seconds(client: Any, run: Run) -> Iterator[tuple[str, float]]:
    """Folder, below the run's, and duration of each full training."""
    _, _, prefix = run.uri.removeprefix("gs://").partition("/")
    for one in each_blob(client, run.uri, f"{prefix}**/{metrics('')}"):
        folder = one.name.removeprefix(prefix).removesuffix(metrics(""))
        if re.match(_TRAININGS, folder):
            training = Training.parse(one.download_as_bytes(), f"gs://{run.bucket}/{one.name}")
            yield folder, training.seconds


def _of_rows(
    client: Any, plan: PlanFile, dataset: DatasetDescription
) -> tuple[tuple[Dates, ...], dict[str, int]]:
    """Read the frozen rows: first and last values by split of their columns of days and times, and
    the number of groups by split, where groups decide it.
    """
    names = {f.column: f.name for f in dataset.features}
    names |= {kept["column"]: kept["name"] for kept in plan.table.get("kept", ())}
    ends: dict[str, dict[str, tuple[Any, Any]]] = {}
    groups: dict[str, set[str]] = {}
    for blob in frozen_rows(client, plan):
        file = pq.ParquetFile(pa.BufferReader(blob.download_as_bytes()))
        temporal = [f.name for f in file.schema_arrow if pa.types.is_temporal(f.type)]
        columns = [name for name in temporal if name in names]
        by = [name for name in file.schema_arrow.names if name == SPLIT_BY]
        if not columns and not by:
            continue
        table = file.read(columns=["split", *by, *columns])
        for split in SPLITS:
            part = table.filter(pc.equal(table["split"].cast(pa.string()), split))
            for column in by:
                groups.setdefault(split, set()).update(part[column].unique().to_pylist())
            for column in columns:
                found = pc.min_max(part[column]).as_py()
                if found["min"] is not None:
                    low, high = ends.setdefault(column, {}).get(split, tuple(found.values()))
                    both = min(low, found["min"]), max(high, found["max"])
                    ends[column][split] = both
    dates = tuple(
        Dates(names[column], {s: (a.isoformat(), b.isoformat()) for s, (a, b) in known.items()})
        for column, known in ends.items()
    )
    return dates, {split: len(found) for split, found in groups.items()}


def _hours(start: str, end: str) -> float:
    span = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return span.total_seconds() / 3600
