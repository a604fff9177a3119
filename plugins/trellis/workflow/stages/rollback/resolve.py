"""resolve: which version is to be served, decided once for a run.

gs://BUCKET/EXPERIMENT/rollbacks/RUN.json, schema 1:
    {"schema": 1, "run_id", "asked": "previous", "version": "projects/.../models/ID@2",
     "before": "projects/.../models/ID@3"}         the champion then; null if there was none

The alias `previous` names another version once a rollback is done. So a run that is cleared keeps
to what it has written down, and a second run that someone triggered before the first had ended, as
people do who are in a hurry, does not roll forward again. (`result` writes the same once more, so
that the object's time is that of the end.)
"""

from datetime import datetime
from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from research import layout
from research.experiment import Experiment
from research.platform import Platform
from research.registry_names import CHAMPION, PREVIOUS
from research.stages.deploy import messages

SCHEMA = 1


def task(experiments: dict[str, Experiment], platform: Platform) -> Any:
    """The Airflow task. Returns {"experiment", "version", "before", "record", "endpoint", ...}."""

    @airflow_task(task_id="resolve")
    def resolve(params, run_id, dag_run):
        from research.registry import VersionError

        name, wanted = params["experiment"], params["version"]
        if name not in experiments:
            known = ", ".join(experiments)
            raise AirflowFailException(f"No experiment '{name}' deploys models; known: {known}")
        try:
            return make(experiments[name], platform, wanted, run_id, dag_run.run_after)
        except AirflowSkipException as nothing:
            print(nothing)
            raise
        except VersionError as error:
            raise AirflowFailException(f"Refused, nothing was changed. {error}") from None

    return resolve()


def make(
    experiment: Experiment, platform: Platform, wanted: str, run_id: str, triggered: datetime
) -> dict[str, Any]:
    """Decide, and write it down; again: the same.

    Raises VersionError if there is no such version, AirflowSkipException if there is nothing to do.
    """
    from google.cloud.exceptions import NotFound

    from research import registry, storage

    folder = f"gs://{platform.bucket}/{experiment.name}/rollbacks/"
    record = f"{folder}{layout.run_folder(run_id)}.json"
    known = registry.versions(experiment, platform)
    try:
        decided = storage.read_json(platform, record)
    except NotFound:
        decided = None
    if decided is None:
        if wanted == PREVIOUS:
            _not_twice(platform, folder, triggered)
        version = _find(experiment, known, wanted)
        champion = registry.find(known, CHAMPION)
        if champion == version and _serves_alone(experiment, platform, version.name):
            raise AirflowSkipException(
                f"Nothing to do: version {version}, is the champion and has all requests."
            )
        decided = {
            "schema": SCHEMA,
            "run_id": run_id,
            "asked": wanted,
            "version": version.name,
            "before": champion.name if champion else None,
        }
        storage.write_json(platform, record, decided)
    else:
        version = _find(experiment, known, decided["version"].rpartition("@")[2])
    print(f"To be served: version {version}")
    print(f"Champion until now: {decided['before'] or 'none'}")
    number = version.number
    return {
        "experiment": experiment.name,
        "version": version.name,
        "before": decided["before"],
        "record": record,
        "endpoint": messages.endpoint(experiment, platform),
        "deployed_model": {
            "display_name": f"{experiment.name} version {number}",
            **messages.resources(experiment, platform),
        },
    }


def conclude(platform: Platform, record: str) -> None:
    """A rollback is done: whoever has triggered another one until now meant this one."""
    from research import storage

    storage.write_json(platform, record, storage.read_json(platform, record))


def _find(experiment: Experiment, known: Any, wanted: str) -> Any:
    from research import registry

    if not known:
        raise registry.VersionError(
            f"{experiment.name} was never deployed: its model has no version yet. A run of the DAG "
            f"`{experiment.name}` must promote one first."
        )
    found = registry.find(known, wanted)
    if found is None:
        why = "Nothing was replaced yet. " if wanted == PREVIOUS else ""
        raise registry.VersionError(f"{why}{registry.missing(known, wanted)}")
    return found


def _serves_alone(experiment: Experiment, platform: Platform, version: str) -> bool:
    from research import endpoint

    found = endpoint.look(platform, layout.Run(platform.bucket, experiment.name, ""))
    served = {v.name.rpartition("/")[2]: v.traffic for v in found.versions} if found else {}
    return served == {version.rpartition("/")[2]: 100}


def _not_twice(platform: Platform, folder: str, triggered: datetime) -> None:
    """Raises AirflowSkipException if another rollback began, or ended, after this one was
    triggered.
    """
    from research import storage

    later = [blob.name for blob in storage.each_blob(platform, folder) if blob.updated > triggered]
    if later:
        raise AirflowSkipException(
            f"Nothing to do: another run has rolled back since this one was triggered "
            f"({later[-1].rpartition('/')[2].removesuffix('.json')}). To go back further, trigger "
            "a new run and name the version."
        )
