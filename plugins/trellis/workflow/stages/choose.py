"""choose: the best trials of the search, and the jobs that train them in full.

trials.json, schema 1:
    {"schema": 1, "job": resource name, "metric": "accuracy", "goal": "maximize",
     "trials": [{"id", "state", "parameters", "final": {"step", "value"} or null, "start", "end"}],
     "chosen": [{"rank": 1, "trial": "4", "parameters": {...}, "value": 0.95}]}
"""

import math
from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException

from research import layout
from research.experiment import Experiment
from research.plan import from_json
from research.platform import Platform
from research.stages import train
from research.trainer_schema import Hyperparameter
from research.trainer_schema import load as load_schema

SCHEMA = 1


def task(experiment: Experiment, platform: Platform, tuning: Any) -> Any:
    """The Airflow task. `tuning`: what `tune` returns. Returns the jobs of the trainings."""

    @airflow_task(task_id="choose")
    def choose(tuning, run_id):
        from research import storage

        folder = layout.run_folder(run_id, experiment.generation)
        run = layout.Run(platform.bucket, experiment.name, folder)
        plan = from_json(storage.read_json(platform, run.plan), run)
        content = rank(tuning, plan.experiment)
        storage.write_json(platform, run.trials, content)
        chosen = content["chosen"]
        if not chosen:
            raise AirflowFailException(nothing_to_choose(content))
        for winner in chosen:
            print(
                f"Rank {winner['rank']}: trial {winner['trial']}, {content['metric']} "
                f"{winner['value']:.4f}, {winner['parameters']}"
            )
        if len(chosen) < plan.experiment.train.top:
            print(
                f"Only {len(chosen)} trials succeeded: {plan.experiment.train.top} were to be "
                f"trained in full, these are."
            )
        return [train.job(plan, platform, winner) for winner in chosen]

    return choose(tuning)


def rank(tuning: dict[str, Any], experiment: Experiment) -> dict[str, Any]:
    """trials.json: all trials in the trainer's types, and the best of those that succeeded.

    Of equals, the earlier trial comes first. A trial whose metric is no number (a loss that
    overflowed) is not chosen.
    """
    tune = experiment.tune
    known = load_schema().of_model(experiment.model)
    trials = [_trial(trial, tune.metric, known) for trial in tuning["trials"]]
    candidates = [
        trial
        for trial in trials
        if trial["state"] == "SUCCEEDED"
        and trial["final"] is not None
        and math.isfinite(trial["final"]["value"])
    ]
    sign = -1 if tune.goal == "maximize" else 1
    candidates.sort(key=lambda trial: (sign * trial["final"]["value"], int(trial["id"])))
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


def _trial(trial: dict[str, Any], metric: str, known: dict[str, Hyperparameter]) -> dict[str, Any]:
    final = trial["final"]
    value = final["metrics"].get(metric) if final else None
    return {
        "id": trial["id"],
        "state": trial["state"],
        "parameters": {name: known[name].cast(v) for name, v in trial["parameters"].items()},
        "final": None if value is None else {"step": final["step"], "value": value},
        "start": trial["start"],
        "end": trial["end"],
    }
