"""The index of all runs, written by the tasks that begin and end one. Called by tasks only."""

import contextlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from google.cloud.exceptions import NotFound, PreconditionFailed
from pydantic import ValidationError

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.champion_record import ChampionRecord
from trellis.workflow.contracts.index_document import short, text_of
from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.contracts.prediction_record import LaterScore, PredictionRecord
from trellis.workflow.contracts.record import Failure, RunRecord, Scored
from trellis.workflow.lookups import documents, storage
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis_contracts.approval import Approval
from trellis_contracts.deployment import Deployment
from trellis_contracts.leaderboard import Leaderboard
from trellis_contracts.performance import Performance
from trellis_contracts.plan import PlanFile

Kind = TypeVar("Kind", RunRecord, ChampionRecord, PredictionRecord)


def begin(platform: Platform, run: layout.Run, record: RunRecord) -> None:
    """Add a run that was planned. One that is there stays: `result` replaces it."""
    _add(platform, run.record, record)


def end(
    platform: Platform,
    run: layout.Run,
    board: Leaderboard,
    deployment: Deployment | None,
    failure: str | None,
    actual_usd: dict[str, float] | None = None,
    spot_savings_usd: float | None = None,
    approval: Approval | None = None,
) -> None:
    """Complete a run's record. Other arguments as those of RunRecord.ended."""
    record = _find(platform, run)
    if record is None:
        # Somebody deleted it.
        record = RunRecord.planned(documents.read_file(platform, PlanFile, run.plan))
    ended = record.ended(board, deployment, failure, now(), actual_usd, spot_savings_usd, approval)
    ended.upload(storage.blob(platform, run.record))


def fail(platform: Platform, run: layout.Run, failure: Failure) -> None:
    """Note a failure in the record of a run without a result. Of no record, nothing."""
    blob = storage.blob(platform, run.record)
    try:
        blob.reload()
        record = RunRecord.model_validate_json(text_of(blob))
        if record.result is None:
            failed = record.model_copy(update={"failure": failure})
            failed.upload(blob, if_generation_match=blob.generation)
    except (NotFound, ValidationError):
        print(f"{run.record} is not there, or unreadable: the run was not planned.")
    except PreconditionFailed:
        print(f"{run.record} was changed at the same moment, by another failure or the result.")


def trained_on(platform: Platform, experiment: str, without: str = "") -> frozenset[str]:
    """Fingerprints of the datasets of an experiment's runs that came to a leaderboard.

    without: folder of a run that does not count.
    """
    folder = layout.run_records(platform.bucket, experiment)
    return frozenset(
        record.dataset
        for record in _each(RunRecord, platform, folder)
        if record.result is not None and record.folder != without
    )


def of_experiment(platform: Platform, experiment: str) -> list[RunRecord]:
    """The runs of an experiment."""
    return list(_each(RunRecord, platform, layout.run_records(platform.bucket, experiment)))


def of_month(platform: Platform, month: str, without: layout.Run) -> list[RunRecord]:
    """The group's runs of a month as in "2026-05", but one."""
    records = _each(RunRecord, platform, layout.index(platform.bucket), "/runs/")
    return [r for r in records if r.month == month and r.uri != without.uri]


def _each(kind: type[Kind], platform: Platform, folder: str, part: str = "") -> Iterator[Kind]:
    """The readable records of a kind below a folder. part: of the names of those to be read."""
    for blob in storage.each_blob(platform, folder):
        if part in blob.name:
            with contextlib.suppress(ValidationError):
                yield kind.model_validate_json(text_of(blob))


def add_champion(platform: Platform, address: str, record: ChampionRecord) -> None:
    """Record a version that a person has put into service. One that is there stays."""
    _add(platform, address, record)


def reserves(platform: Platform, experiment: str) -> list[ChampionRecord]:
    """The readable records of champions that were served anew."""
    folder = layout.reserve_records(platform.bucket, experiment)
    return list(_each(ChampionRecord, platform, folder))


def add_prediction(
    platform: Platform, plan: PredictionPlan, predicted: int | None, warnings: Iterable[str]
) -> None:
    """Record a batch prediction, in place of what an earlier attempt has recorded. The last two are
    those of PredictionRecord.
    """
    record = PredictionRecord(
        experiment=plan.experiment.name,
        run_id=plan.run.run_id,
        uri=plan.run.uri,
        at=now(),
        version=plan.model,
        trained=plan.model_run,
        predicted=predicted,
        output=None if predicted is None else plan.table,
        warnings=tuple(short(text) for text in warnings),
    )
    record.upload(storage.blob(platform, plan.run.indexed))


def claim_requests(where: Prediction, record: PredictionRecord) -> bool:
    """Record that a day's comparison of an endpoint's requests begins; False if one has begun."""
    try:
        record.upload(storage.blob(where.platform, where.indexed), if_generation_match=0)
    except PreconditionFailed:
        return False
    return True


def end_requests(where: Prediction, record: PredictionRecord) -> None:
    """Record what a day's comparison has found, in place of its beginning."""
    record.upload(storage.blob(where.platform, where.indexed))


def predictions(platform: Platform, experiment: str) -> list[PredictionRecord]:
    """The readable records of an experiment's batch predictions, and of the comparisons of its
    endpoint's requests, newest first.
    """
    folder = layout.prediction_records(platform.bucket, experiment)
    found = _each(PredictionRecord, platform, folder)
    return sorted(found, key=lambda record: record.at, reverse=True)


def add_performance(
    platform: Platform, experiment: Experiment, folder: str, found: Performance
) -> None:
    """Complete the record of a batch prediction by its scores. folder: its name."""
    where = f"{layout.prediction_records(platform.bucket, experiment.name)}{folder}.json"
    score = found.metrics.get(found.primary)
    named = (
        Scored(name=found.primary, value=score.value, low=score.low, high=score.high)
        if score
        else None
    )
    later = LaterScore(
        at=now(),
        examples=found.examples,
        groups=found.groups,
        score=named,
    )
    record = PredictionRecord.model_validate(storage.read_json(platform, where))
    record.model_copy(update={"performance": later}).upload(storage.blob(platform, where))


def _find(platform: Platform, run: layout.Run) -> RunRecord | None:
    """Find the record; None if there is none, or an unreadable one: it is written again."""
    try:
        return RunRecord.model_validate(storage.read_json(platform, run.record))
    except (NotFound, ValidationError):
        return None


def _add(platform: Platform, uri: str, record: RunRecord | ChampionRecord) -> None:
    """Write a record, unless there is one."""
    try:
        record.upload(storage.blob(platform, uri), if_generation_match=0)
    except PreconditionFailed:
        print(f"{uri} is there already.")


def now() -> str:
    """The time, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
