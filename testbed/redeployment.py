"""Runs that only deploy: their trainings are taken from an earlier run.

What an operator would do in Airflow's UI: the tasks from the plan to the comparison are marked as
done by hand, with the files that they would have made put into the run's folder. All the others run
as ever. So a deployment takes half a minute instead of three, and can be disturbed again and again.
"""

import json
import shutil
import time
from pathlib import Path

from demo.airflow_api import Airflow

DONE_BY_HAND = (
    "plan",
    "served",
    "export",
    "changes",
    "tune",
    "choose",
    "train",
    "trained",
    "compare",
)


class Operator(Airflow):
    """Airflow's REST API, with what an operator does by hand."""

    def pause(self, dag: str) -> None:
        self._call("PATCH", f"/api/v2/dags/{dag}", json={"is_paused": True})

    def mark_done(self, dag: str, run: str, task: str) -> None:
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}"
        self._call("PATCH", path, json={"new_state": "success"})

    def runs(self, dag: str) -> list[dict]:
        return self._get(f"/api/v2/dags/{dag}/dagRuns")["dag_runs"]

    def state(self, dag: str, run: str) -> str:
        return self.run(dag, run)["state"]

    def wait(self, dag: str, run: str, seconds: float = 600) -> str:
        """Return how the run ended: success or failed."""
        deadline = time.monotonic() + seconds
        while (state := self.state(dag, run)) not in ("success", "failed"):
            assert time.monotonic() < deadline, f"{run} is {state} after {seconds} s"
            time.sleep(0.5)
        return state


def start(
    airflow: Operator, source: Path, run: str, served: dict | None, dag: str = "digits"
) -> Path:
    """Trigger a run that deploys the challenger of the run whose folder is `source`.

    served: what the endpoint serves, as Demo.serving tells it: the run's own comparison would have
    scored that model. Returns the new run's folder.
    """
    folder = source.with_name(run)
    for part in ("training", "leaderboard"):
        shutil.copytree(source / part, folder / part)
    shutil.copy(source / "plan.json", folder)
    for file in (folder / "plan.json", *(folder / "leaderboard").glob("*.json")):
        file.write_text(file.read_text().replace(source.name, run))
    board = read(folder / "leaderboard" / "leaderboard.json")
    board["promotion"] |= {
        "promoted": True,
        "reason": "taken from another run",
        "served": scored(served),
    }
    (folder / "leaderboard" / "leaderboard.json").write_text(json.dumps(board))
    airflow.pause(dag)
    airflow.trigger(dag, run)
    for task in DONE_BY_HAND:
        airflow.mark_done(dag, run, task)
    airflow.unpause(dag)
    return folder


def scored(served: dict | None) -> dict | None:
    """Return the leaderboard's entry of the model that was served."""
    if not served or not served["models"]:
        return None
    model = served["endpoint"].replace("/endpoints/", "/models/")
    return {"endpoint": served["endpoint"], "model": f"{model}@{served['models'][0]['version']}"}


def read(path: Path) -> dict:
    return json.loads(path.read_text())
