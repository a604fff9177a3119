"""Copies what a run reuses into its own folder, in place of a job. Called by tasks only.

Later stages and pages find it where a job would have written it, also when the earlier run has been
deleted since. Checkpoints are left out: the training has ended.
"""

from typing import Any

from airflow.sdk.exceptions import AirflowFailException
from google.cloud.exceptions import NotFound

from trellis import console
from trellis.workflow.lookups import storage
from trellis_contracts import documents

_LEFT_OUT = r"(^|/)(checkpoints|seeds)/"
# Trials and trainings write it last.
_LAST = r"(^|/)metrics\.json$"


def training(connection: str, source: str, target: str) -> dict[str, Any]:
    """Copy a training, unless that was done. Returns what its task does: {"name", "reused"}.

    Raises AirflowFailException if the earlier one is gone.
    """
    mark = f"{target}metrics.json"
    if not storage.exists(connection, mark):
        if not storage.exists(connection, f"{source}metrics.json"):
            raise _gone(source)
        storage.copy_folder(connection, source, target, _LEFT_OUT, _LAST)
    return {"name": source, "reused": source}


def tuning(connection: str, source: str, target: str) -> dict[str, Any]:
    """Copy the reused trials of a study. Returns {"name", "console", "trials", "reused"}."""
    own, trials = _trials(connection, target), _trials(connection, source)
    if own is None:
        if trials is None:
            raise _gone(source)
        storage.copy_folder(connection, source, target, _LEFT_OUT, _LAST)
    found = summary(own or trials or {})
    return {**found, "console": console.vertex(found["name"]), "reused": source}


def trials_beside(tuning_folder: str) -> str:
    """trials.json of the run whose trials are in this folder; it says that the study is whole."""
    return f"{tuning_folder.removesuffix('tuning/')}trials.json"


def summary(trials: dict[str, Any]) -> dict[str, Any]:
    """Return the result of `tune`, from the trials.json that `choose` wrote."""
    return {
        "name": trials["job"],
        "trials": [
            {**trial, "final": _final(trial["final"], trials["metric"]), "reason": ""}
            for trial in trials["trials"]
        ],
    }


def _final(final: dict[str, Any] | None, metric: str) -> dict[str, Any] | None:
    return final and {"step": final["step"], "metrics": {metric: final["value"]}}


def _trials(connection: str, folder: str) -> dict[str, Any] | None:
    address = trials_beside(folder)
    try:
        content: dict[str, Any] = storage.read_json_by(connection, address)
    except NotFound:
        return None
    documents.check("trials", content, address)
    return content


def _gone(source: str) -> AirflowFailException:
    return AirflowFailException(
        f"{source}, which this run was to reuse, is no longer there: clear `plan` with all that "
        "follows. It plans the run again, with a job in place of what is gone."
    )
