"""A leaderboard of the trainings that left metrics, and of the baselines on record.

Of the gate it knows the least accuracy. The challenger is served by serve.py; with --seed 4 it
answers wrongly.
"""

import argparse
import json

from trainer import path

parser = argparse.ArgumentParser()
for name in ("--run", "--metric"):
    parser.add_argument(name, required=True)
options = parser.parse_args()
run = path(options.run)
contenders = []
for winner in json.loads((run / "trials.json").read_text())["chosen"]:
    name = f"training/{winner['rank']}"
    metrics = run / name / "metrics.json"
    done = metrics.exists()
    contenders.append(
        {
            "name": name,
            "status": "ok" if done else "failed",
            "reason": None if done else "it left no metrics.json",
            "metrics": {"accuracy": {"value": json.loads(metrics.read_text())["accuracy"]}}
            if done
            else {},
        }
    )
plan = json.loads((run / "plan.json").read_text())
for name in plan["baselines"]:
    found = json.loads((run / "baselines" / name / "baseline.json").read_text())
    done = found["status"] == "succeeded"
    contenders.append(
        {
            "name": f"baselines/{name}",
            "status": "ok" if done else "failed",
            "reason": found["reason"],
            "metrics": {"accuracy": {"value": 0.5}} if done else {},
        }
    )
promotion = None
if "deploy" in plan["configuration"]:
    least = plan["configuration"]["deploy"]["gate"]["require"]["accuracy"]
    best = contenders[0]["metrics"]["accuracy"]["value"]
    served = json.loads((run / "served.json").read_text())
    promotion = {
        "challenger": "training/1",
        "promoted": best >= least,
        "reason": f"its accuracy is {best:.4f}",
        "checks": [
            {
                "check": f"accuracy at least {least}",
                "passed": best >= least,
                "detail": f"accuracy {best:.4f}",
            }
        ],
        "served": served if served["model"] else None,
    }
board = {
    "primary_metric": "accuracy",
    "champion": "training/1",
    "contenders": contenders,
    "promotion": promotion,
}
(run / "leaderboard").mkdir(exist_ok=True)
if promotion:
    (run / "training/1/model").mkdir(parents=True, exist_ok=True)
    rules = {"skew": 0.1} if plan["configuration"]["seed"] == 4 else {}
    (run / "training/1/model/serving.json").write_text(json.dumps(rules))
    challenger = {
        "contender": "training/1",
        "model": f"{options.run}training/1/model/",
        "examples": [{"key": "row-1", "instance": {"x": 1}, "prediction": {"value": 2}}],
        "explanation_spec": None,
        "hyperparameters": {},
        "provenance": {"run": options.run, "dataset": "3f2a", "versions": {}, "code_sha256": ""},
    }
    (run / "leaderboard/challenger.json").write_text(json.dumps(challenger))
(run / "leaderboard/leaderboard.json").write_text(json.dumps(board))
