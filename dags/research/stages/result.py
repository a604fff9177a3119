"""result: say who won, and fail the run if a training is missing.

A run whose leaderboard lacks a training must not look like one that is complete: this task, the
last of the DAG, decides the run's state.
"""

from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException

from research import layout
from research.experiment import Experiment
from research.platform import Platform


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns {"champion", "metric", "value", "report"}."""

    @airflow_task(task_id="result")
    def result(run_id):
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
        return champion(board) | {"report": run.report}

    return result()


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
