"""choose: the best trials of the search, which are trained in full.

trials.json, schema 1:
    {"schema": 1, "job": resource name, "metric": "accuracy", "goal": "maximize",
     "trials": [{"id", "state", "parameters", "final": {"step", "value", "loss"} or null,
                 "start", "end"}],
     "chosen": [{"rank": 1, "trial": "4", "parameters": {...}, "value": 0.95}]}

A trial's loss on the validation split comes from the metrics.json that the trial itself writes:
the metrics of a Measurement are those that the StudySpec names, so Vertex AI keeps no loss.
"""

import math
from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import documents, plans
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.trainer_schema import Hyperparameter
from trellis.workflow.validation.file import known_to

SCHEMA = 1


def task(experiment: Experiment, platform: Platform, tuning: Any) -> Any:
    """The Airflow task. `tuning`: what `tune` returns. Returns the trials to train."""

    @airflow_task(task_id="choose")
    def choose(tuning, run_id=None):
        plan = plans.load(experiment, platform, run_id)
        losses = validation_losses(tuning, plan, platform)
        content = rank(tuning, plan.experiment, losses)
        documents.write(platform, "trials", plan.run.trials, content)
        chosen = content["chosen"]
        if not chosen:
            raise AirflowFailException(nothing_to_choose(content))
        for trial in chosen:
            print(
                f"Rank {trial['rank']}: trial {trial['trial']}, {content['metric']} "
                f"{trial['value']:.4f}, {trial['parameters']}"
            )
        if len(chosen) < plan.experiment.train.top:
            print(
                f"{len(chosen)} trial{'s' * (len(chosen) > 1)} succeeded, so {len(chosen)} instead "
                f"of {plan.experiment.train.top} will be trained in full."
            )
        return chosen

    return choose(tuning)


def validation_losses(tuning: dict[str, Any], plan: Plan, platform: Platform) -> dict[str, float]:
    """Validation loss by trial id, for trials that succeeded and wrote one: that of the epoch
    that counts for the trial. A trial that the tuner stopped early has written none.

    Raises AirflowFailException if a metrics.json does not fit its schema.
    """
    losses = {}
    for trial in tuning["trials"]:
        if trial["state"] != "SUCCEEDED":
            continue
        metrics = documents.find(platform, "metrics", plan.run.trial_metrics(trial["id"]))
        if metrics and plan.experiment.tuning.measurement == "last":
            losses[trial["id"]] = metrics["history"][-1]["val_loss"]
        elif metrics:
            losses[trial["id"]] = metrics["validation"]["loss"]
    return losses


def rank(
    tuning: dict[str, Any], experiment: Experiment, losses: dict[str, float]
) -> dict[str, Any]:
    """trials.json: all trials in the trainer's types, and the best of those that succeeded.

    Of trials with an equal metric, the one with the lower loss comes first, as among a training's
    epochs; trials without a loss follow, and remaining ties go to the earlier trial. A trial whose
    metric is not finite (a loss that overflowed) is not chosen.

    losses: by trial id, as `validation_losses` returns them.
    """
    tune = experiment.tuning
    known = known_to(experiment)
    trials = [
        _trial(trial, tune.metric, known, losses.get(trial["id"])) for trial in tuning["trials"]
    ]
    candidates = [
        trial
        for trial in trials
        if trial["state"] == "SUCCEEDED"
        and trial["final"] is not None
        and math.isfinite(trial["final"]["value"])
    ]
    sign = -1 if tune.goal == "maximize" else 1

    def order(trial: dict[str, Any]) -> tuple[float, float, int]:
        final = trial["final"]
        loss = math.inf if final["loss"] is None else final["loss"]
        return sign * final["value"], loss, int(trial["id"])

    candidates.sort(key=order)
    return {
        "schema": SCHEMA,
        "job": tuning["name"],
        "metric": tune.metric,
        "goal": tune.goal,
        "trials": trials,
        "chosen": [
            {
                "rank": rank,
                "trial": trial["id"],
                "parameters": trial["parameters"],
                "value": trial["final"]["value"],
            }
            for rank, trial in enumerate(candidates[: experiment.train.top], start=1)
        ],
    }


def nothing_to_choose(content: dict[str, Any]) -> str:
    """Why there is no trial to train."""
    states = ", ".join(f"trial {trial['id']} {trial['state']}" for trial in content["trials"])
    return (
        f"No trial succeeded with a {content['metric']} to compare: {states or 'no trial ran'}. "
        f"The tuning job is {content['job']}; its trials' logs say why."
    )


def _trial(
    trial: dict[str, Any], metric: str, known: dict[str, Hyperparameter], loss: float | None
) -> dict[str, Any]:
    final = trial["final"]
    value = final["metrics"].get(metric) if final else None
    return {
        "id": trial["id"],
        "state": trial["state"],
        "parameters": {name: known[name].cast(v) for name, v in trial["parameters"].items()},
        "final": None if value is None else {"step": final["step"], "value": value, "loss": loss},
        "start": trial["start"],
        "end": trial["end"],
    }
