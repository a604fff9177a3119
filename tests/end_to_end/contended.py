"""A whole run of digits in a local_gcp that is set up in some way, and what must hold whatever way.

One trial, the first, whose hyperparameters do not depend on chance; so the leaderboard's winner has
the same weights in every run, bit for bit.
"""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from testbed import redeployment
from testbed.local_run import Demo

PARAMS = {"trials": 1, "parallel": 1, "top": 1, "tune_epochs": 1, "train_epochs": 8}


@contextlib.contextmanager
def new_demo() -> Iterator[Demo]:
    """A local run's folder of its own, stopped and removed at the end."""
    local = Path(tempfile.mkdtemp(prefix="trellis-"))
    demo = Demo(local)
    demo.replace_images([])
    try:
        yield demo
    finally:
        demo.command("stop").communicate(timeout=180)
        if not os.environ.get("TRELLIS_KEEP"):
            shutil.rmtree(local, ignore_errors=True)


def check_run(demo: Demo, afterwards: Callable[[], object] = lambda: None) -> Path:
    """A run in full: green, exactly the planned jobs, its winner served. Returns its folder.

    afterwards: called when the run is over, before anything is asked.
    """
    done = demo.run(PARAMS, timeout=1800)
    afterwards()
    assert done.returncode == 0, done.stdout
    run = demo.runs()[-1]
    planned = read(run / "plan.json")["jobs"]
    assert {kind: len(demo.jobs(kind, "digits")) for kind in planned} == planned
    (model,) = demo.serving()["models"]
    assert (model["traffic"], model["aliases"]) == (100, ["champion"])
    assert model["artifact_uri"].rstrip("/").endswith(f"{run.name}/{winner(run)['name']}/model")
    assert [version["aliases"] for version in demo.versions()] == [["champion"]]
    return run


def check_redeployment(demo: Demo, source: Path) -> None:
    """The champion and the traffic move when the same model takes over again, step by step."""
    airflow = demo.operator
    redeployment.start(airflow, source, "again", demo.serving())
    assert airflow.wait("digits", "again", seconds=900) == "success"
    (model,) = demo.serving()["models"]
    assert (model["version"], model["traffic"]) == ("2", 100)
    aliases = {version["version"]: version["aliases"] for version in demo.versions()}
    assert aliases == {"1": ["previous"], "2": ["champion"]}


def winner(run: Path) -> dict:
    """The leaderboard's winner: its name, hyperparameters and weights."""
    name = read(run / "leaderboard" / "leaderboard.json")["winner"]
    (chosen,) = read(run / "trials.json")["chosen"]
    metrics = read(run / name / "metrics.json")
    return {
        "name": name,
        "parameters": chosen["parameters"],
        "weights": metrics["weights_sha256"],
    }


def read(path: Path) -> dict:
    return json.loads(path.read_text())
