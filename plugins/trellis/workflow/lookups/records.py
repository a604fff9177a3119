"""The index of all runs, written by the tasks that begin and end one. Called by tasks only."""

from datetime import UTC, datetime
from typing import Any

from google.cloud.exceptions import NotFound, PreconditionFailed
from pydantic import ValidationError

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.record import RollbackRecord, RunRecord
from trellis.workflow.lookups import documents, storage
from trellis.workflow.spec.platform import Platform


def begin(platform: Platform, run: layout.Run, record: RunRecord) -> None:
    """Add a run that was planned. One that is there stays: `result` replaces it."""
    try:
        _write(platform, run.record, record, if_generation_match=0)
    except PreconditionFailed:
        print(f"{run.record} is there already.")


def end(
    platform: Platform,
    run: layout.Run,
    board: dict[str, Any],
    deployment: dict[str, Any] | None,
    failure: str | None,
) -> None:
    """Complete a run's record. Other arguments as those of RunRecord.ended."""
    record = _find(platform, run)
    if record is None:
        # Planned by a version without an index.
        record = RunRecord.planned(documents.read(platform, "run_plan", run.plan))
    complete = record.ended(board, deployment, failure, _now())
    _write(platform, run.record, complete)


def add_rollback(platform: Platform, user: str | None, experiment: str, decided: Any) -> None:
    """Record a rollback that is done. decided: the content of rollbacks/RUN.json."""
    record = RollbackRecord(
        experiment=experiment,
        run_id=decided["run_id"],
        at=_now(),
        user=user,
        asked=decided["asked"],
        version=decided["version"],
        before=decided["before"],
    )
    address = layout.rollback_record(platform.bucket, experiment, record.run_id)
    try:
        _write(platform, address, record, if_generation_match=0)
    except PreconditionFailed:
        print(f"{address} is there already.")


def _find(platform: Platform, run: layout.Run) -> RunRecord | None:
    """None if there is none, or one that this version cannot read: it is made again."""
    try:
        return RunRecord.model_validate(storage.read_json(platform, run.record))
    except (NotFound, ValidationError):
        return None


def _write(
    platform: Platform, uri: str, record: RunRecord | RollbackRecord, **conditions: int
) -> None:
    """In one request, so that text and metadata are of one record."""
    blob = storage.blob(platform, uri)
    blob.metadata = record.metadata
    blob.upload_from_string(f"{record.text}\n", content_type="application/json", **conditions)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
