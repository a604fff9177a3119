"""Baselines of a run: what BigQuery ML and AutoML predicted, as contenders like any other.

    RUN/baselines/NAME/raw/                  as the service wrote it, see `raw_predictions`
    RUN/baselines/NAME/baseline.json         what the service was asked, took and found (below)
    RUN/baselines/NAME/predictions.parquet   written here: the same in the trainer's form

baseline.json, schema 1:

    {"schema": 1, "name": "bqml-logistic_reg", "kind": "bqml",            or "automl"
     "status": "succeeded", "reason": null,                               or "failed", "..."
     "model": "projects/p/datasets/d/models/m",                           null if there is none
     "options": {"model_type": "LOGISTIC_REG", ...}, "features_left_out": ["pulse"],
     "seconds": 41.2, "cost_usd": 0.05,                                   at most; null if unknown
     "feature_importance": [{"feature": "radius", "weight": 0.4, "what": "gain"}, ...],
     "evaluation": {"roc_auc": 0.99, ...}}                                the service's own metrics

A baseline that failed, left nothing, or whose predictions are not for exactly the test split's keys
is a contender that failed, with the reason: it spoils neither the trainings nor their comparison.
"""

import dataclasses
from collections.abc import Mapping
from math import isfinite

from trainer import predictions, storage
from trainer.comparison import raw_predictions
from trainer.comparison.run import Contender, Run, RunError, read_document
from trainer.comparison.test_split import TestSplit, TestSplitError
from trainer.predictions import PredictionsError


def with_baselines(run: Run, split: TestSplit) -> Run:
    """The run with a contender for every baseline that plan.json expects or that left a folder.

    Writes the predictions.parquet of each that can be scored.
    """
    expected = run.plan.get("baselines") or []
    folder = storage.local_path(storage.join(run.uri, "baselines"))
    found = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    names = [*expected, *sorted(found - set(expected))]
    baselines = [_contender(name, run, split) for name in names]
    return dataclasses.replace(run, contenders=[*run.contenders, *baselines])


def _contender(name: str, run: Run, split: TestSplit) -> Contender:
    uri = storage.join(run.uri, "baselines", name) + "/"
    try:
        document = read_document(storage.join(uri, "baseline.json"))
        reason = None
    except RunError as error:
        document, reason = None, str(error)
    contender = Contender(
        name=f"baselines/{name}",
        kind="automl" if name.startswith("automl") else "bqml",
        uri=uri,
        baseline=document or {},
        seconds=(document or {}).get("seconds"),
        cost_usd=(document or {}).get("cost_usd"),
    )
    if reason is None and document is None:
        reason = "it left no baseline.json: its stage did not finish; see the task's log"
    elif reason is None and document.get("status") != "succeeded":
        reason = document.get("reason") or "it failed, and gave no reason"
    if reason:
        return dataclasses.replace(contender, reason=reason)
    return _with_predictions(contender, split)


def _with_predictions(contender: Contender, split: TestSplit) -> Contender:
    folder = storage.local_path(contender.uri)
    try:
        predicted = raw_predictions.read(folder / "raw", split)
    except (PredictionsError, TestSplitError) as error:
        return dataclasses.replace(contender, reason=str(error))
    predictions.write(folder / "predictions.parquet", predicted)
    return dataclasses.replace(contender, predictions=predicted)


def importances(baseline: Mapping) -> list[Mapping]:
    """A baseline.json's feature importances that are numbers, the largest first."""
    found = [
        one
        for one in baseline.get("feature_importance") or []
        if isinstance(one["weight"], int | float) and isfinite(one["weight"])
    ]
    return sorted(found, key=lambda one: -abs(one["weight"]))
