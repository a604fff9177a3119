"""baselines: a baseline.json for each baseline of the run, whatever became of it.

baseline.json, schema 1:
    {"schema": 1, "name": "bqml-logistic_reg", "kind": "bqml" | "automl",
     "status": "succeeded" | "failed", "reason": null | "...",
     "model": resource name | null, "options": {...}, "features_left_out": [...],
     "seconds": float | null, "cost_usd": at most, from prices,
     "feature_importance": [{"feature", "weight", "what"}], "evaluation": the service's own metrics}

A baseline that failed neither stops this task nor the run: the leaderboard shows it as failed.
"""

from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowSkipException

from research import layout
from research.experiment import Experiment
from research.plan import Plan, from_json
from research.platform import Platform
from research.stages import automl

SCHEMA = 1


def task(experiment: Experiment, platform: Platform, ready: str) -> Any:
    """The Airflow task. `ready`: id of the task that the baselines wait for. Returns the statuses
    by name: the comparison is done anew when one has changed.
    """

    @airflow_task(task_id="baselines", trigger_rule="all_done")
    def baselines(ti, run_id):
        from research import storage

        if not _had_rows(ti, ready):
            raise AirflowSkipException(f"The baselines did not begin: '{ready}' did not succeed.")
        folder = layout.run_folder(run_id, experiment.generation)
        run = layout.Run(platform.bucket, experiment.name, folder)
        content = storage.read_json(platform, run.plan)
        if not content["baselines"]:
            raise AirflowSkipException("This run has no baselines.")
        plan = from_json(content, run)
        statuses = {}
        for name in content["baselines"]:
            found = record(plan, platform, name, ti)
            storage.write_json(platform, f"{run.baseline(name)}baseline.json", found)
            statuses[name] = found["status"]
            print(f"{name}: {found['status']}{_because(found['reason'])}")
        return statuses

    return baselines()


def _had_rows(ti: Any, ready: str) -> bool:
    """Whether the task that the baselines wait for let them begin.

    The rule all_done, which makes this task run after baselines that failed, makes it run after a
    refusal too.
    """
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[ready], run_ids=[ti.run_id])
    return states.get(ti.run_id, {}).get(ready) in ("success", "skipped")


def record(plan: Plan, platform: Platform, name: str, ti: Any) -> dict[str, Any]:
    """The content of a baseline.json: what the service says of the task's own jobs."""
    from research import verdicts

    content: dict[str, Any] = {
        "schema": SCHEMA,
        "name": name,
        "kind": name.partition("-")[0],
        "status": "failed",
        "reason": None,
        "model": None,
        "options": {},
        "features_left_out": plan.table.left_out() if plan.table else [],
        "seconds": None,
        "cost_usd": None,
        "feature_importance": [],
        "evaluation": {},
    }
    try:
        if name == automl.NAME:
            content |= verdicts.automl(plan, platform, ti)
        else:
            content |= verdicts.bqml(plan, platform, name.removeprefix("bqml-"), ti)
    except verdicts.BaselineFailedError as error:
        content["reason"] = str(error)
    except Exception as error:  # whatever it is, the run goes on without this baseline
        content["reason"] = f"it could not be looked at: {type(error).__name__}: {error}"
    return content


def _because(reason: str | None) -> str:
    return f", {reason}" if reason else ""
