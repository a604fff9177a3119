"""result: say who won and what became of it; fail the run if a training or the deployment failed.

A run whose leaderboard lacks a training must not look like one that is complete, nor one whose
promoted model is not served: this task, the last of the DAG, decides the run's state. Not to be
promoted is no failure.
"""

from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException

from research import layout
from research.experiment import Experiment
from research.platform import Platform


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns {"champion", "metric", "value", "report"}, and if the experiment
    deploys {"deployment": what became of it}."""

    @airflow_task(task_id="result")
    def result(ti, dag, run_id):
        from research import storage

        folder = layout.run_folder(run_id, experiment.generation)
        run = layout.Run(platform.bucket, experiment.name, folder)
        board = storage.read_json(platform, run.leaderboard)
        for line in summary(board):
            print(line)
        print(f"Report: {run.report}")
        if missing := failed(board):
            raise AirflowFailException(
                f"The leaderboard is there ({run.report}), but not complete: {missing}. "
                "Clear the failed training to run it again; comparison and result follow."
            )
        found = champion(board) | {"report": run.report}
        if experiment.deploy is None:
            return found
        broken = _failed_tasks(ti, dag)
        record = _record(platform, run)
        text = deployment(board, record, broken)
        promoted = board["promotion"] is not None and board["promotion"]["promoted"]
        if broken or (promoted and record.get("state") != "serving"):
            raise AirflowFailException(text)
        print(text)
        return found | {"deployment": text}

    return result()


def deployment(board: dict[str, Any], record: dict[str, Any], broken: list[str]) -> str:
    """What became of the challenger, in one sentence or two.

    record: what deployment.json says, {} if there is none. broken: failed tasks of the deployment.
    """
    decision = board["promotion"]
    if decision is None:
        return "Nothing was to be deployed: `deploy` is switched off for this run."
    who = decision["challenger"] or "No training"
    why = record.get("reason") or (f"see the log of {broken[0]}" if broken else "")
    why = why.rstrip(".")
    if not decision["promoted"]:
        failed_too = f" But {broken[0]} failed: see its log." if broken else ""
        return f"{who} is not promoted: {decision['reason']}. What is served stays.{failed_too}"
    if record.get("state") == "serving":
        text = f"{who} is promoted and deployed: {record['endpoint']} serves {record['model']}."
        return f"{text} But what comes after that failed: {why}." if broken else text
    if broken:
        back = ", and what was served before is served again" if record.get("previous") else ""
        back = f" It was taken back{back}." if record.get("state") == "retreated" else ""
        return f"{who} was promoted, but not deployed: {why}.{back}"
    return f"{who} is promoted, and its deployment has not ended: see deployment.json."


def _failed_tasks(ti: Any, dag: Any) -> list[str]:
    """Tasks from `promote` on that failed by themselves, in order."""
    behind = dag.get_task("promote").get_flat_relative_ids(upstream=False)
    order = [task.task_id for task in dag.topological_sort()]
    tasks = [name for name in order if name in {"promote", *behind} - {"settled", ti.task_id}]
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=tasks, run_ids=[ti.run_id])
    return [name for name in tasks if states.get(ti.run_id, {}).get(name) == "failed"]


def _record(platform: Platform, run: layout.Run) -> dict[str, Any]:
    from google.cloud.exceptions import NotFound

    from research import storage

    try:
        return storage.read_json(platform, run.deployment)
    except NotFound:
        return {}


def summary(board: dict[str, Any]) -> list[str]:
    """The leaderboard in lines, champion first."""
    metric = board["primary_metric"]
    winner = board["champion"]
    lines = [f"Champion: {winner}"]
    for contender in sorted(board["contenders"], key=lambda c: c["name"] != winner):
        if contender["status"] == "ok":
            lines.append(
                f"{contender['name']}: {metric} {contender['metrics'][metric]['value']:.4f}"
            )
        else:
            lines.append(f"{contender['name']}: failed, {contender['reason']}")
    return lines


def champion(board: dict[str, Any]) -> dict[str, Any]:
    """Name of the best contender, and its value of the primary metric on the test split."""
    metric = board["primary_metric"]
    best = next(c for c in board["contenders"] if c["name"] == board["champion"])
    return {"champion": best["name"], "metric": metric, "value": best["metrics"][metric]["value"]}


def failed(board: dict[str, Any]) -> str:
    """The trainings that failed, with the reason; empty if none did.

    A baseline that failed stands on the leaderboard as failed, and that is all.
    """
    return "; ".join(
        f"{contender['name']} failed ({contender['reason']})"
        for contender in board["contenders"]
        if contender["status"] != "ok" and contender["name"].startswith("training/")
    )
