"""result: whether the version is the champion and has all requests, and what to do next."""

from typing import Any

from airflow.sdk.exceptions import AirflowException

from trellis.vertex.versions import parse_version
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.aliases import CHAMPION
from trellis.workflow.contracts.champion_record import ChampionRecord
from trellis.workflow.lookups import left, records
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.deploy.current import CurrentState
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.rollback import resolve


def task(platform: Platform) -> Any:
    """The Airflow task. Returns {"experiment", "endpoint", "version", "before"}."""

    @function_task(task_id="result")
    def result(ti=None, dag_run=None):
        resolved = left.returned(ti, "resolve", "version")
        endpoint = left.returned(ti, "endpoint", "endpoint")["endpoint"]
        check(platform, endpoint, resolved["version"])
        decided = resolve.conclude(platform, resolved["record"])
        experiment = resolved["experiment"]
        record = ChampionRecord(
            experiment=experiment,
            at=records.now(),
            user=dag_run.triggering_user_name,
            **{name: decided[name] for name in ("run_id", "asked", "version", "before")},
        )
        address = layout.rollback_record(platform.bucket, experiment, record.run_id)
        records.add_champion(platform, address, record)
        print(f"{resolved['version']} is the champion and has all requests of {endpoint}.")
        print(
            f"The next run of {resolved['experiment']} deploys any model that passes its gate. If "
            "the gate let a bad model through, tighten `deploy.gate` first, or switch `deploy` off "
            "in the trigger form."
        )
        return {
            "experiment": resolved["experiment"],
            "endpoint": endpoint,
            "version": resolved["version"],
            "before": resolved["before"],
        }

    return result()


def check(platform: Platform, endpoint: str, version: str) -> None:
    """Raises AirflowException, to be retried, if someone else has changed it meanwhile."""
    current = CurrentState(platform)
    _, share = current.deployed(endpoint, version)
    champion = current.version_with(version, CHAMPION)
    same = champion and parse_version(champion).is_the_same_as(parse_version(version))
    if share != 100 or not same:
        raise AirflowException(
            f"{version} has {share}% of the requests, and the champion is "
            f"{champion or 'no version'}: something else changes this endpoint, too. Find the run "
            "that is deploying, then clear this rollback from `endpoint` on."
        )
