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
from trellis_contracts.layout import metrics
from trellis_contracts.trials import Measurement, Trials

_LEFT_OUT = r"(^|/)(checkpoints|seeds)/"
# Trials and trainings write it last.
_LAST = r"(^|/)metrics\.json$"


def training(connection: str, source: str, target: str) -> dict[str, Any]:
    """Copy a training, unless that was done. Returns what its task does: {"name", "reused"}.

    Raises AirflowFailException if the earlier one is gone.
    """
    mark = metrics(target)
    if not storage.exists(connection, mark):
        if not storage.exists(connection, metrics(source)):
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
        own = trials
    found = summary(own)
    return {**found, "console": console.vertex(found["name"]), "reused": source}


def trials_beside(tuning_folder: str) -> str:
    """trials.json of the run whose trials are in this folder; it says that the study is whole."""
    return f"{tuning_folder.removesuffix('tuning/')}trials.json"


def summary(trials: Trials) -> dict[str, Any]:
    """Return the result of `tune`, from the trials.json that `choose` wrote."""
    return {
        "name": trials.job,
        "trials": [
            trial.to_document() | {"final": _final(trial.final, trials.metric), "reason": ""}
            for trial in trials.trials
        ],
    }


def _final(final: Measurement | None, metric: str) -> dict[str, Any] | None:
    return {"step": final.step, "metrics": {metric: final.value}} if final else None


def _trials(connection: str, folder: str) -> Trials | None:
    address = trials_beside(folder)
    try:
        content = storage.read_json_by(connection, address)
    except NotFound:
        return None
    documents.check("trials", content, address)
    return Trials.from_document(content)


def _gone(source: str) -> AirflowFailException:
    return AirflowFailException(
        f"{source}, which this run was to reuse, is no longer there: clear `plan` with all that "
        "follows. It plans the run again, with a job in place of what is gone."
    )
