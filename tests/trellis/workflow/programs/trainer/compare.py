"""A leaderboard of the trainings that left metrics, and of the baselines on record.

Of the gate it knows the least accuracy. The challenger is served by serve.py; with --seed 4 it
answers wrongly.
"""

import argparse
import json

from trainer import path

PROVENANCE = {"versions": {}, "code_sha256": "0" * 64}

parser = argparse.ArgumentParser()
for name in ("--run", "--metric"):
    parser.add_argument(name, required=True)
options = parser.parse_args()
run = path(options.run)
plan = json.loads((run / "plan.json").read_text())


def contender(name, kind, accuracy, reason):
    """accuracy: None of one that failed."""
    scores = {"accuracy": {"value": accuracy, "interval": [0, 1]}}
    return {
        "name": name,
        "rank": None,
        "kind": kind,
        "status": "failed" if accuracy is None else "ok",
        "reason": reason,
        "selected": None,
        "metrics": {} if accuracy is None else scores,
        "difference": None,
        "trial": None,
        "hyperparameters": {},
        "training": None,
        "baseline": None,
        "seconds": None,
        "cost_usd": None,
        "uri": f"{options.run}{name}",
    }


contenders = []
tuned = [path for path in [run / "trials.json", *run.glob("tuning/*/trials.json")] if path.exists()]
chosen = {c["rank"] for path in tuned for c in json.loads(path.read_text())["chosen"]}
# Trainings without a search are found by their folders.
found = {path.name for path in run.glob("training/*")}
if plan["configuration"]["train"].get("ensemble"):
    found.add("ensemble")
for rank in sorted({*map(str, chosen)} | found):
    name = f"training/{rank}"
    metrics = run / name / "metrics.json"
    if metrics.exists():
        accuracy = json.loads(metrics.read_text())["validation"]["accuracy"]
        contenders.append(contender(name, "training", accuracy, None))
    else:
        contenders.append(contender(name, "training", None, "it left no metrics.json"))
for name in plan["baselines"]:
    found = json.loads((run / "baselines" / name / "baseline.json").read_text())
    accuracy = 0.5 if found["status"] == "succeeded" else None
    contenders.append(contender(f"baselines/{name}", found["kind"], accuracy, found["reason"]))
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
        "served": {"model": served["model"], "endpoint": served["endpoint"]}
        if served["model"]
        else None,
    }
board = {
    "schema": 5,
    "experiment": plan["experiment"],
    "run": run.name,
    "run_id": plan["run_id"],
    "created": plan["created"],
    "data_interval": plan["data_interval"],
    "task": plan["configuration"]["task"],
    "dataset": {
        "uri": plan["dataset"]["uri"],
        "fingerprint": plan["dataset"]["fingerprint"],
        "label": plan["table"]["label"]["name"] if plan["table"] else None,
        "features": 1,
        "classes": ["0", "1"],
        "examples": {"train": 80, "validation": 10, "test": 10},
        "rejected": 0,
    },
    "primary_metric": "accuracy",
    "metrics": {
        "accuracy": {
            "title": "Accuracy",
            "average": "examples",
            "chance": None,
            "goal": "maximize",
            "description": "",
            "interval": "clopper-pearson",
            "difference_interval": "bonett-price",
            "decimals": 6,
        }
    },
    "uncertainty": {
        "level": 0.95,
        "comparisons": 1,
        "difference_level": 0.95,
        "resamples": 1,
        "seed": 0,
    },
    "provenance": PROVENANCE,
    "notes": [],
    "winner": "training/1",
    "promotion": promotion,
    "contenders": contenders,
}
(run / "leaderboard").mkdir(exist_ok=True)
if promotion:
    (run / "training/1/model").mkdir(parents=True, exist_ok=True)
    rules = {"skew": 0.1} if plan["configuration"]["seed"] == 4 else {}
    (run / "training/1/model/serving.json").write_text(json.dumps(rules))
    challenger = {
        "schema": 1,
        "contender": "training/1",
        "model": f"{options.run}training/1/model/",
        "examples": [{"key": "row-1", "instance": {"x": 1}, "prediction": {"value": 2}}],
        "hyperparameters": {},
        "provenance": {"run": options.run, "dataset": "3f2a", **PROVENANCE},
    }
    (run / "leaderboard/challenger.json").write_text(json.dumps(challenger))
(run / "leaderboard/leaderboard.json").write_text(json.dumps(board))
