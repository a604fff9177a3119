"""Runs as they leave their files: a leaderboard, a deployment, and the record of both."""

import copy
import json

from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts.champion_record import ChampionRecord
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.prediction_record import LaterScore, PredictionRecord
from trellis.workflow.contracts.record import RunRecord, Scored
from trellis_contracts.approval import Approval
from trellis_contracts.charts import GUIDE, chart, layer, number
from trellis_contracts.deployment import Deployment
from trellis_contracts.leaderboard import Leaderboard
from trellis_contracts.plan import PlanFile

MODEL = "projects/1/locations/us-central1/models/digits"

_CONTENDER = {
    "rank": None,
    "status": "ok",
    "reason": None,
    "difference": None,
    "trial": None,
    "hyperparameters": {},
    "training": None,
    "baseline": None,
    "seconds": None,
    "cost_usd": None,
    "uri": "gs://bucket/x/",
}
_METRIC = {
    "average": "examples",
    "chance": None,
    "description": "",
    "interval": "bootstrap",
    "difference_interval": "bonett-price",
    "decimals": 6,
}


def a_contender(name, accuracy, low, high, **changes):
    scores = {"accuracy": (accuracy, low, high), "log_loss": (1 - accuracy, 1 - high, 1 - low)}
    metrics = {m: {"value": v, "interval": [a, b]} for m, (v, a, b) in scores.items()}
    kind = "training" if name.startswith("training/") else "bqml"
    selected = name == "training/1" if kind == "training" else None
    known = {"name": name, "kind": kind, "metrics": metrics, "selected": selected}
    return {**_CONTENDER, **known, **changes}


def a_board(*contenders, promoted=True, fingerprint="3f2a"):
    """A leaderboard.json; its first contender wins."""
    contenders = contenders or (a_contender("training/1", 0.97, 0.95, 0.98, cost_usd=0.25),)
    reason = "training/1 passes all 2 checks" if promoted else "accuracy 0.97 is below 0.99"
    decision = {
        "challenger": "training/1",
        "promoted": promoted,
        "reason": reason,
        "checks": [],
        "served": None,
    }
    return {
        "schema": 5,
        "experiment": "digits",
        "run": "r",
        "run_id": "r",
        "created": "2026-01-01T00:00:00+00:00",
        "data_interval": None,
        "task": "multiclass_classification",
        "dataset": {
            "uri": "gs://bucket/digits/datasets/3f2a/",
            "fingerprint": fingerprint,
            "label": None,
            "features": 1,
            "classes": ["0", "1"],
            "examples": {"train": 80, "validation": 10, "test": 10},
            "rejected": 0,
        },
        "primary_metric": "accuracy",
        "metrics": {
            "accuracy": {"title": "accuracy", "goal": "maximize", **_METRIC},
            "log_loss": {"title": "log loss", "goal": "minimize", **_METRIC},
        },
        "uncertainty": {
            "level": 0.95,
            "comparisons": 1,
            "difference_level": 0.95,
            "resamples": 1,
            "seed": 0,
        },
        "provenance": {"versions": {}, "code_sha256": "0" * 64},
        "notes": [],
        "winner": contenders[0]["name"],
        "promotion": None if promoted is None else decision,
        "contenders": list(contenders),
    }


def an_estimate(value, low, high):
    return {"value": value, "interval": [low, high]}


SLICES = {
    "of": "training/1",
    "metric": "accuracy",
    "comparisons": 1,
    "level": 0.95,
    "slices": [
        {
            "name": "site = b",
            "by": ["site"],
            "examples": 20,
            "judged": True,
            "gap": an_estimate(-0.45, -0.7, -0.2),
            "metrics": {
                "training/1": {"accuracy": an_estimate(0.5, 0.3, 0.7)},
                "baselines/bqml": {"accuracy": an_estimate(0.8, 0.7, 0.9)},
            },
        },
        {
            "name": "site = c",
            "by": ["site"],
            "examples": 5,
            "judged": False,
            "gap": None,
            "metrics": {"training/1": {}, "baselines/bqml": {}},
        },
    ],
}
"""Slices of a leaderboard, one of them too small."""


def a_leaderboard(*contenders, **others):
    """The board of `a_board` in its class."""
    return Leaderboard.from_document(a_board(*contenders, **others))


def a_deployment(version=2, previous=1, state="serving", reason=None):
    """A deployment.json."""
    last = "champion" if state == "serving" else "retreat"
    return {
        "schema": 1,
        "run": "gs://bucket/digits/runs/r/",
        "challenger": "training/1",
        "endpoint": "projects/1/locations/us-central1/endpoints/digits",
        "model": f"{MODEL}@{version}",
        "previous": f"{MODEL}@{previous}" if previous else None,
        "state": state,
        "share": 100 if state == "serving" else 0,
        "reason": reason,
        "steps": [
            {"step": "canary_10", "at": "2026-01-01T01:00:00+00:00", "share": 10},
            {"step": last, "at": "2026-01-01T02:00:00+00:00"},
        ],
    }


def a_plan_of(experiment, folder="r", bucket="bucket", created="2026-01-01T00:00:00+00:00"):
    """The content of a plan.json."""
    plan = a_plan(experiment, Run(bucket, experiment.name, folder)).file().to_document()
    return {**copy.deepcopy(plan), "created": created}


def a_rollback(version=1, before=2, at="2026-01-03T00:00:00+00:00", user="ada", image=None):
    return ChampionRecord(
        experiment="digits",
        run_id="manual__3",
        at=at,
        user=user,
        asked="previous",
        version=f"{MODEL}@{version}",
        before=f"{MODEL}@{before}" if before else None,
        image=image,
    )


def an_approval(state="rejected", by="olga", reason="site B is worse"):
    """An approval.json."""
    return {
        "schema": 1,
        "run": "gs://bucket/digits/runs/r/",
        "challenger": "training/1",
        "leaderboard": "0" * 64,
        "approvers": ["role:Op"],
        "asked": "2026-01-01T02:00:00+00:00",
        "until": "2026-01-04T02:00:00+00:00",
        "state": state,
        "at": None if state == "waiting" else "2026-01-02T02:00:00+00:00",
        "by": by,
        "reason": reason,
    }


def a_run(
    experiment, folder="r", board=None, deployment=None, failure=None, approval=None, **planned
):
    """The record of a run; board None: it has not ended."""
    of_plan = {k: planned.pop(k) for k in ("bucket", "created") if k in planned}
    record = RunRecord.planned(
        PlanFile.from_document(a_plan_of(experiment, folder, **of_plan)), "manual", "ada", **planned
    )
    if board is None:
        return record
    return record.ended(
        Leaderboard.from_document(board),
        Deployment.from_document(deployment) if deployment else None,
        failure,
        "2026-01-01T03:00:00+00:00",
        approval=Approval.from_document(approval) if approval else None,
    )


def with_cost(record, actual_usd):
    """Return the run with its cost by stage in the result."""
    result = record.result.model_copy(update={"actual_usd": actual_usd})
    return record.model_copy(update={"result": result})


def write_files(buckets, plan, board=None, deployment=None, approval=None):
    """The files of the plan's run, below the folder of all buckets."""
    folder = buckets / plan["run"].removeprefix("gs://")
    (folder / "leaderboard").mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(plan))
    if board:
        (folder / "leaderboard/leaderboard.json").write_text(json.dumps(board))
        (folder / "leaderboard/report.html").write_text("<!doctype html><title>Report</title>")
    if deployment:
        (folder / "deployment.json").write_text(json.dumps(deployment))
    if approval:
        (folder / "approval.json").write_text(json.dumps(approval))
    return folder


# An epoch of metrics.json that waited for its input.
SPEED = {
    "epoch": 2,
    "seconds": 4,
    "examples": 1250,
    "input": 2.5,
    "communication": 0,
    "evaluation": 1,
    "checkpoints": 0,
    "cpu": 0.5,
    "memory": 2_000_000_000,
    "read": 40_000_000,
    "devices": [{"use": 0.75, "memory": 3_000_000_000}],
}


def a_training(folder, accuracies, metric="accuracy", speed=()):
    """Writes the metrics.json of a training: a value on validation for each epoch, and `speed`."""
    history = [
        {"epoch": n, "learning_rate": 0.1, "seconds": 1, f"val_{metric}": a, "val_loss": 1 - a}
        for n, a in enumerate(accuracies, 1)
    ]
    digest = "0" * 64
    content = {
        "schema": 1,
        "model": "dense",
        "task": "multiclass_classification",
        "metric": metric,
        "hyperparameters": {},
        "seed": 0,
        "strategy": "single",
        "epochs_run": len(history),
        "best_epoch": 1 + accuracies.index(max(accuracies)),
        "history": history,
        "validation": {},
        "test": None,
        "replicas": {
            "0": {
                "steps": 1,
                "examples": 1,
                "weights_sha256": digest,
                "last_weights_sha256": digest,
            }
        },
        "weights_sha256": digest,
        "parameters": 1,
        "dataset": {"uri": "gs://bucket/digits/datasets/3f2a/", "fingerprint": "3f2a"},
        **({"speed": list(speed)} if speed else {}),
    }
    folder.mkdir(parents=True)
    (folder / "metrics.json").write_text(json.dumps(content))


def a_progress(folder, accuracies, epochs, metric="accuracy"):
    """Writes the progress.json of a training that goes on."""
    points = [{"epoch": n, "value": value} for n, value in enumerate(accuracies, 1)]
    content = {
        "schema": 1,
        "metric": metric,
        "epochs": epochs,
        "at": "2026-11-26T14:50:00+00:00",
        "seconds": 90,
        "points": points,
    }
    folder.mkdir(parents=True)
    (folder / "progress.json").write_text(json.dumps(content))


CURVE = [
    {"curve": name, "x": x / 9, "y": y} for name in "ab" for x, y in enumerate([0.2] * 9 + [1])
]


def roc():
    """The specification of a figure: two curves and the diagonal."""
    x, y = number("x", "false positive rate"), number("y", "true positive rate")
    encoding = {"x": x, "y": y, "color": {"field": "curve", "type": "nominal"}}
    diagonal = [{"x": 0, "y": 0}, {"x": 1, "y": 1}]
    guide = layer("line", {"x": x, "y": y}, diagonal, **GUIDE)
    return chart(
        [guide, layer("line", encoding)], "ROC of a & b", width=300, height=200, rows=CURVE
    )


def a_prediction(name="daily", run="r", bucket="b", score=None, **changed):
    """A PredictionRecord of digits. score: value and interval on later labels."""
    later = score and LaterScore(
        at="2026-01-09T00:00:00+00:00",
        examples=200,
        groups=None,
        score=Scored(name="accuracy", value=score[0], low=score[1], high=score[2]),
    )
    record = PredictionRecord(
        experiment="digits",
        run_id=name,
        uri=f"gs://{bucket}/digits/predictions/{name}/",
        at="2026-01-02T03:00:00+00:00",
        version="projects/p/locations/r/models/digits@3",
        trained=f"gs://{bucket}/digits/runs/{run}/",
        predicted=1200,
        output="p.d.predictions",
        warnings=(),
        performance=later,
    )
    return record.model_copy(update=changed)
