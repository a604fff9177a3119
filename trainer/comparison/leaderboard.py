"""leaderboard.json and its table in the terminal.

leaderboard.schema.json of trellis_contracts describes every field. The file does not depend on the
time: the same run and the same image give the same bytes.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from trainer.comparison import bootstrap, learned, provenance
from trainer.comparison.importance import PERMUTATIONS, Importance
from trainer.comparison.intervals import LEVEL
from trainer.comparison.notes import notes, of_data, of_learning, reused
from trainer.comparison.outcome import AnyOutcome
from trainer.comparison.promotion import Promotion
from trainer.comparison.repeats import Repeats
from trainer.comparison.run_folder import Contender, Run
from trainer.comparison.scoreboard import (
    Difference,
    Estimate,
    Scoreboard,
    Standing,
)
from trellis_contracts import documents
from trellis_contracts.dataset import DatasetDescription

SCHEMA_VERSION = 5


def document(
    run: Run,
    outcomes: Mapping[str, AnyOutcome],
    scores: Scoreboard,
    selected: str | None,
    failures: Mapping[str, str],
    promotion: Promotion | None,
    repeats: Repeats | None = None,
    importance: Importance | None = None,
) -> dict:
    """The content of leaderboard.json.

    outcomes, scores: of the contenders that were scored. selected: the training that competes.
    failures: reason by name, of the others. promotion: None without a deploy section.
    repeats, importance: of the selected training, if the experiment asks for any; of a table.
    """
    plan, dataset = run.plan, run.dataset
    primary, standings = scores.primary, scores.standings
    contenders = {contender.name: contender for contender in run.contenders}
    idle = learned.findings(scores)
    ranked = [
        _ranked(contenders[s.name], s, s.name == selected)
        | ({"learned_nothing": idle[s.name]} if s.name in idle else {})
        for s in standings
    ]
    failed = [_failed(contenders[name], reason) for name, reason in failures.items()]
    groups = next(iter(outcomes.values())).groups
    remarks = [run.served.remark] if run.served and run.served.remark else []
    remarks += reused(plan.reuse.steps)
    return {
        "schema": SCHEMA_VERSION,
        "experiment": plan.experiment,
        "run": run.name,
        "run_id": plan.run_id,
        "created": plan.created,
        "data_interval": plan.data_interval,
        "task": _task(dataset),
        "dataset": {
            "uri": run.dataset_uri,
            "fingerprint": dataset.fingerprint,
            "kind": dataset.kind,
            "label": dataset.label.column,
            "features": len(dataset.features),
            "classes": list(dataset.classes),
            "examples": {split: counts.examples for split, counts in dataset.counts.items()},
            "rejected": dataset.rejected,
        },
        **({"positive": dataset.positive} if dataset.positive else {}),
        "primary_metric": primary.name,
        "metrics": {
            metric.name: {
                "title": metric.title,
                "average": metric.average,
                "goal": metric.goal,
                "description": metric.description,
                "interval": metric.interval,
                "difference_interval": metric.difference_interval,
                "decimals": scores.decimals(metric),
                "chance": scores.chance(metric),
            }
            for metric in scores.metrics.values()
        },
        "uncertainty": {
            "level": LEVEL,
            "comparisons": scores.comparisons,
            "difference_level": round(scores.difference_level, 6),
            "resamples": bootstrap.RESAMPLES,
            "seed": bootstrap.SEED,
            **({"groups": groups.count} if groups else {}),
        },
        "provenance": {
            "versions": provenance.versions(),
            "code_sha256": provenance.code_sha256(),
        },
        "notes": of_learning(idle, contenders, scores, selected)
        + of_data(dataset.warnings)
        + notes(outcomes, scores, len(failed), selected, dataset.classes, dataset.split.by, repeats)
        + remarks,
        "winner": standings[0].name,
        "promotion": _promotion(promotion),
        "contenders": ranked + failed,
        **({"repeats": _repeats(repeats)} if repeats else {}),
        **({"importance": _importance(importance)} if importance else {}),
    }


def to_json(board: Mapping) -> str:
    """The text of leaderboard.json. Raises ContractError if it does not match its schema."""
    return documents.to_json("leaderboard", board, "leaderboard.json")


def _task(dataset: DatasetDescription) -> str:
    """The task of a table as in its columns.json; that of images by the number of classes."""
    if dataset.task:
        return dataset.task
    return f"{'binary' if len(dataset.classes) == 2 else 'multiclass'}_classification"


def _ranked(contender: Contender, standing: Standing, selected: bool) -> dict:
    return _described(contender) | {
        "rank": standing.rank,
        "status": "ok",
        "reason": None,
        "selected": selected if contender.kind == "tensorflow" else None,
        "metrics": _estimates(standing.metrics),
        "difference": _difference(standing.difference),
    }


def _failed(contender: Contender, reason: str) -> dict:
    return _described(contender) | {
        "rank": None,
        "status": "failed",
        "reason": reason,
        "metrics": {},
        "difference": None,
    }


def _described(contender: Contender) -> dict:
    return {
        "name": contender.name,
        "rank": None,
        "kind": contender.kind,
        "status": None,
        "reason": None,
        "selected": None,
        "metrics": {},
        "difference": None,
        "trial": contender.trial,
        "hyperparameters": dict(contender.parameters),
        "training": _training(contender.training),
        "baseline": _baseline(contender.baseline),
        "seconds": _rounded(contender.seconds, 1),
        "cost_usd": _rounded(contender.cost_usd, 4),
        "uri": contender.uri,
    }


def _training(metrics: Mapping[str, Any] | None) -> dict | None:
    """The fields of metrics.json that the leaderboard shows; None if the training left none."""
    if metrics is None:
        return None
    copied = ("model", "parameters", "seed", "strategy", "epochs_run", "best_epoch")
    return {name: metrics[name] for name in copied} | {
        "validation": {metrics["metric"]: metrics["validation"][metrics["metric"]]},
        **({"threshold": metrics["threshold"]} if "threshold" in metrics else {}),
        "replicas": len(metrics["replicas"]),
        "weights_sha256": metrics["weights_sha256"],
    }


def _baseline(document: Mapping[str, Any] | None) -> dict | None:
    """Describe what a service trained and what it left out; None for a training."""
    if document is None:
        return None
    return {
        "model": document["model"],
        "options": dict(document["options"]),
        "features_left_out": list(document["features_left_out"]),
        "evaluation": _scalars(document["evaluation"]),
    }


def _scalars(figures: Mapping) -> dict:
    """The single values of a service's evaluation: no curves, matrices or NaN."""
    return {
        name: value
        for name, value in figures.items()
        if isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))
    }


def _rounded(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)


def _estimates(estimates: Mapping[str, Estimate]) -> dict:
    return {
        name: {"value": estimate.value, "interval": [estimate.low, estimate.high]}
        for name, estimate in estimates.items()
    }


def _difference(difference: Difference | None) -> dict | None:
    if difference is None:
        return None
    return {
        "metrics": _estimates(difference.metrics),
        "won_by_winner": difference.won_by_winner,
        "won_by_this": difference.won_by_this,
        "distinguishable": difference.distinguishable,
    }


def _repeats(repeats: Repeats) -> dict:
    return {
        "of": repeats.of,
        "seeds": list(repeats.seeds),
        "metrics": {
            name: {"mean": spread.mean, "sd": spread.sd, "values": list(spread.values)}
            for name, spread in repeats.metrics.items()
        },
        "failed": [{"seed": seed, "reason": reason} for seed, reason in repeats.failed.items()],
    }


def _importance(found: Importance) -> dict:
    return {
        "of": found.of,
        "metric": found.metric,
        "examples": found.rows,
        "permutations": PERMUTATIONS,
        "features": [
            {"feature": name, "value": loss.value, "interval": [loss.low, loss.high]}
            for name, loss in found.features.items()
        ],
    }


def _promotion(promotion: Promotion | None) -> dict | None:
    if promotion is None:
        return None
    served = promotion.served
    return {
        "challenger": promotion.challenger,
        "promoted": promotion.promoted,
        "reason": promotion.reason,
        "checks": [dataclasses.asdict(check) for check in promotion.checks],
        "served": {"model": served.model, "endpoint": served.endpoint} if served else None,
    }


def table(board: Mapping) -> str:
    """The leaderboard as plain text, for a terminal or a job's log: the ranking, then every metric
    by name, with the contenders' ranks as heads, and what chance scores.
    """
    ranked = [c for c in board["contenders"] if c["status"] == "ok"]
    primary = board["primary_metric"]
    title = board["metrics"][primary]["title"]
    rows = [["", "", "contender", f"{title} [{board['uncertainty']['level']:.0%} interval]"]]
    rows += [
        [str(c["rank"]), _mark(c, board), c["name"], _with_interval(c["metrics"][primary], board)]
        for c in ranked
    ]
    failed = [
        f"-  {contender['name']}  failed: {contender['reason']}"
        for contender in board["contenders"]
        if contender["status"] != "ok"
    ]
    better = "larger" if board["metrics"][primary]["goal"] == "maximize" else "smaller"
    tests = board["dataset"]["examples"]["test"]
    classes = board["dataset"]["classes"]
    positive = f", positive is {board['positive']}" if "positive" in board else ""
    heading = (
        f"{board['experiment']}, {board['run']}: {tests:,} test examples, "
        f"{f'{len(classes)} classes' if classes else 'regression'}{positive}, "
        f"ranked by {title} ({better} is better)"
    )
    notes = [f"Note: {note}" for note in board["notes"]]
    if promotion := board["promotion"]:
        verdict = "Promoted" if promotion["promoted"] else "Not promoted"
        notes.append(f"{verdict}: {promotion['reason']}.")
    lines = [heading, "", *_aligned(rows), *failed, "", *_aligned(_by_metric(board, ranked)), ""]
    return "\n".join([*lines, *notes])


def _with_interval(estimate: Mapping, board: Mapping) -> str:
    places = shown_decimals(board["metrics"][board["primary_metric"]])
    low, high = estimate["interval"]
    return f"{estimate['value']:.{places}f} [{low:.{places}f}, {high:.{places}f}]"


def _by_metric(board: Mapping, ranked: Sequence[Mapping]) -> list[list[str]]:
    rows = [["metric", "better", *(f"#{c['rank']}" for c in ranked), "chance"]]
    for name, metric in board["metrics"].items():
        values = [c["metrics"].get(name, {}).get("value") for c in ranked]
        better = "larger" if metric["goal"] == "maximize" else "smaller"
        cells = ["-" if v is None else _shown(v, metric) for v in [*values, metric["chance"]]]
        rows.append([metric["title"], better, *cells])
    return rows


def _shown(value: float, metric: Mapping) -> str:
    return f"{value:.{shown_decimals(metric)}f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _mark(contender: Mapping, board: Mapping) -> str:
    """* for the winner, - for a training that does not compete."""
    if contender["name"] == board["winner"]:
        return "*"
    return "-" if contender["selected"] is False else ""


def shown_decimals(metric: Mapping) -> int:
    """Number of decimals to show: two fewer than the file has."""
    return max(0, metric["decimals"] - 2)
