"""resolve: decides once for a run which version to serve.

gs://BUCKET/EXPERIMENT/rollbacks/RUN.json, schema 1:
    {"schema": 1, "run_id", "asked": "previous", "version": "projects/.../models/ID@2",
     "before": "projects/.../models/ID@3"}         the champion then; null if there was none

The alias `previous` names another version after a rollback. So a run that is cleared keeps its
recorded decision, and a second run triggered before the first has ended does not roll forward
again. (`result` writes the same content again, so that the object's time is that of the end.)

A rollback that failed after it had moved the alias `previous` left it on the version that it was to
replace. So `previous` then means what it meant for that rollback, which this run completes.
"""

from datetime import datetime
from typing import Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.aliases import CHAMPION, PREVIOUS
from trellis.workflow.contracts.conf import refuse_unknown
from trellis.workflow.lookups import documents, endpoint, storage, versions
from trellis.workflow.lookups.versions import VersionError
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.refusal import refused

SCHEMA = 1
PARAMS = ("experiment", "version")
"""The DAG's parameters."""


def task(experiments: dict[str, Experiment], platform: Platform) -> Any:
    """The Airflow task. Returns {"experiment", "version", "before", "record"}."""

    @function_task(task_id="resolve")
    def resolve(params=None, run_id=None, dag_run=None):
        try:
            refuse_unknown("rollback", params, PARAMS)
            name, wanted = params["experiment"], params["version"]
            if name not in experiments:
                known = ", ".join(experiments)
                raise AirflowFailException(f"No experiment '{name}' deploys models; known: {known}")
            return make(experiments[name], platform, wanted, run_id, dag_run.run_after)
        except AirflowSkipException as nothing:
            print(nothing)
            raise
        except (FileError, VersionError) as error:
            raise refused(error, platform, state="nothing was changed") from None

    return resolve()


def make(
    experiment: Experiment, platform: Platform, wanted: str, run_id: str, triggered: datetime
) -> dict[str, Any]:
    """Decide, and record the decision; repeating it gives the same.

    Raises VersionError if there is no such version, AirflowSkipException if there is nothing to do.
    """
    folder = f"gs://{platform.bucket}/{experiment.name}/rollbacks/"
    record = f"{folder}{layout.run_folder(run_id)}.json"
    known = versions.versions(experiment, platform)
    decided, requested = documents.find(platform, "rollback", record), wanted
    if decided is None:
        if wanted == PREVIOUS:
            _not_twice(platform, folder, triggered)
        unfinished = (
            _unfinished(platform, experiment, folder, known) if wanted == PREVIOUS else None
        )
        if unfinished is not None:
            wanted = _number(unfinished["version"])
            print(
                f"The rollback {unfinished['run_id']} failed after it had moved aliases: this run "
                "completes it. For another version, trigger a run with its number."
            )
        version = _find(experiment, known, wanted)
        champion = versions.find(known, CHAMPION)
        if (
            unfinished is None
            and champion == version
            and _serves_alone(experiment, platform, version.name)
        ):
            raise AirflowSkipException(
                f"Nothing to do: version {version}, is the champion and has all requests."
            )
        decided = {
            "schema": SCHEMA,
            "run_id": run_id,
            "asked": requested,
            "version": version.name,
            "before": champion.name if champion else None,
        }
        if unfinished is not None:
            decided["before"] = unfinished["before"]
        documents.write(platform, "rollback", record, decided)
    else:
        version = _find(experiment, known, _number(decided["version"]))
    print(f"To be served: version {version}")
    print(f"Champion until now: {decided['before'] or 'none'}")
    return {
        "experiment": experiment.name,
        "version": version.name,
        "before": decided["before"],
        "record": record,
    }


def conclude(platform: Platform, record: str) -> dict[str, Any]:
    """Record that the rollback is done: runs triggered before now meant the same one. Returns the
    decision.
    """
    decided: dict[str, Any] = documents.read(platform, "rollback", record)
    documents.write(platform, "rollback", record, decided)
    return decided


def _find(experiment: Experiment, known: Any, wanted: str) -> Any:
    if not known:
        raise versions.VersionError(
            f"{experiment.name} was never deployed: its model has no version yet. A run of the DAG "
            f"`{experiment.name}` must promote one first."
        )
    found = versions.find(known, wanted)
    if found is None:
        why = "Nothing was replaced yet. " if wanted == PREVIOUS else ""
        raise versions.VersionError(f"{why}{versions.missing(known, wanted)}")
    return found


def _unfinished(
    platform: Platform, experiment: Experiment, folder: str, known: Any
) -> dict[str, Any] | None:
    """The decision of the newest rollback, if it moved the alias `previous` and did not end.

    One that has ended is in the index of all runs.
    """
    newest = max(storage.each_blob(platform, folder), key=lambda blob: blob.updated, default=None)
    previous = versions.find(known, PREVIOUS)
    if newest is None or previous is None:
        return None
    uri = f"gs://{platform.bucket}/{newest.name}"
    decided: dict[str, Any] = documents.read(platform, "rollback", uri)
    moved = decided["before"] is not None and previous.number == _number(decided["before"])
    ended = layout.rollback_record(platform.bucket, experiment.name, decided["run_id"])
    if not moved or storage.blob(platform, ended).exists():
        return None
    return decided


def _number(version: str) -> str:
    return version.rpartition("@")[2]


def _serves_alone(experiment: Experiment, platform: Platform, version: str) -> bool:
    found = endpoint.find(platform, layout.Run(platform.bucket, experiment.name, ""))
    served = {v.name.rpartition("/")[2]: v.traffic for v in found.versions} if found else {}
    return served == {version.rpartition("/")[2]: 100}


def _not_twice(platform: Platform, folder: str, triggered: datetime) -> None:
    """Raises AirflowSkipException if another rollback began, or ended, after this one was
    triggered.
    """
    later = [blob.name for blob in storage.each_blob(platform, folder) if blob.updated > triggered]
    if later:
        raise AirflowSkipException(
            f"Nothing to do: another run has rolled back since this one was triggered "
            f"({later[-1].rpartition('/')[2].removesuffix('.json')}). To go back further, trigger "
            "a new run and name the version."
        )
