"""Adds runs to the index that are not in it, such as those of a copied bucket.

A record is made of the run's own files. Airflow knows who triggered a run, the files do not.
"""

from datetime import UTC, datetime
from typing import Any

from trellis.results.files import blob, load_files
from trellis.results.index import folders, load_index, run_folders
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.record import RunRecord


def add_missing(client: Any, bucket: str) -> int:
    """Add the missing runs to the index; return how many. A folder without a readable plan.json is
    no run yet.
    """
    from google.cloud.exceptions import PreconditionFailed

    known = {(run.experiment, run.folder) for run in load_index(client, bucket).runs}
    added = 0
    for name in folders(client, bucket):
        experiment = name.rstrip("/")
        for folder in run_folders(client, bucket, experiment):
            if (experiment, folder) in known:
                continue
            run = Run(bucket, experiment, folder)
            record = _record(client, run)
            if record is None:
                continue
            try:
                record.upload(blob(client, run.record), if_generation_match=0)
            except PreconditionFailed:
                continue  # the run itself was quicker
            added += 1
    return added


def _record(client: Any, run: Run) -> RunRecord | None:
    files = load_files(client, run)
    if files.plan is None:
        return None
    record = RunRecord.planned(files.plan)
    if files.leaderboard is None:
        return record
    board = blob(client, run.leaderboard)
    board.reload()
    ended = (board.updated or datetime.now(UTC)).isoformat(timespec="seconds")
    return record.ended(files.leaderboard, files.deployment, None, ended, approval=files.approval)
