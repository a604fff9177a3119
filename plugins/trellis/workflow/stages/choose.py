"""choose: the best trials of the search, which are trained in full.

trials.json (trellis_contracts.trials) has all trials and those chosen. Each of the experiment's
other models that has a search has such a file of its own, tuning/MODEL/trials.json. Ranks go on
from one model to the next: those of `model` come first.

A trial's loss on the validation split comes from the metrics.json that the trial itself writes:
the metrics of a Measurement are those that the StudySpec names, so Vertex AI keeps no loss.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import start, train, tune
from trellis.workflow.stages.stage import Building, Row, Stage
from trellis.workflow.validation.file import known_to
from trellis_contracts.catalog import Hyperparameter
from trellis_contracts.start import Start
from trellis_contracts.training import Training
from trellis_contracts.trials import Chosen, Measurement, Trial, Trials


def task(experiment: Experiment, platform: Platform, tunings: list[Any]) -> Any:
    """The Airflow task. tunings: what the tasks `tune` return, those of other models in the file's
    order. Returns the trials to train, those of other models with "model".
    """
    from trellis.workflow.lookups import documents, plans
    from trellis.workflow.stages.function_operator import function_task

    @function_task(task_id="choose")
    def choose(tunings, run_id=None):
        plan = plans.load(experiment, platform, run_id)
        searches = list(tunings)
        chosen: list[dict[str, Any]] = []
        for n, part in enumerate(plan.experiment.parts):
            chosen += _of_part(searches, n, plan, platform, part)
        if plan.experiment.train.start is None:
            return chosen
        return start.with_start(chosen, documents.find_file(platform, Start, plan.run.start))

    return choose(tunings)


def _of_part(
    searches: list[Any], n: int, plan: Plan, platform: Platform, part: str | None
) -> list[dict[str, Any]]:
    """The trials to train in a fold, the n-th of `parts`, of all models. searches: results of the
    tasks `tune`, each with one for every part if there are folds.
    """
    left = iter(searches)
    found: list[dict[str, Any]] = []
    for model, one in plan.experiment.by_model.items():
        if one.tune is None:
            found.append(train.untuned(model, len(found) + 1))
            continue
        tuning = next(left)
        tuning = tuning if plan.experiment.folds is None else tuning[n]
        found += _best(tuning, plan.part(part), platform, model, len(found) + 1)
    return train.in_part(found, part)


def _best(
    tuning: dict[str, Any] | None,
    plan: Plan,
    platform: Platform,
    model: str | None,
    first: int,
) -> list[dict[str, Any]]:
    """The best trials of one model, ranked from `first` on. Writes its trials.json.

    Raises AirflowFailException if there is none.
    """
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import documents, left

    if not tuning:
        raise left.NothingLeftError(tune.task_id(model), "trials")
    losses = validation_losses(tuning, plan, platform, model)
    own = plan.of(model).experiment
    found = rank(tuning, own, losses, first)
    documents.write_file(platform, plan.run.trials_of(model), found)
    if not found.chosen:
        raise AirflowFailException(nothing_to_choose(found))
    of = f"{model}, " if model else ""
    for one in found.chosen:
        print(
            f"Rank {one.rank}: {of}trial {one.trial}, {found.metric} {one.value:.4f}, "
            f"{one.parameters}"
        )
    if (count := len(found.chosen)) < own.train.top:
        print(
            f"{count} trial{'s' * (count > 1)} succeeded, so {count} instead of {own.train.top} "
            "will be trained in full."
        )
    return [one.to_document() | ({"model": model} if model else {}) for one in found.chosen]


def validation_losses(
    tuning: dict[str, Any], plan: Plan, platform: Platform, model: str | None = None
) -> dict[str, float]:
    """Validation loss by trial id, for trials that succeeded and wrote one: that of the epoch
    that counts for the trial. A trial that the tuner stopped early has written none.

    Raises AirflowFailException if a metrics.json does not fit its schema.
    """
    from trellis.workflow.lookups import documents

    losses = {}
    for trial in tuning["trials"]:
        if trial["state"] != "SUCCEEDED":
            continue
        address = plan.run.trial_metrics(trial["id"], model)
        training = documents.find_file(platform, Training, address)
        if training and plan.experiment.tuning.measurement == "last":
            losses[trial["id"]] = training.history[-1]["val_loss"]
        elif training:
            losses[trial["id"]] = training.validation["loss"]
    return losses


def rank(
    tuning: dict[str, Any], experiment: Experiment, losses: dict[str, float], first: int = 1
) -> Trials:
    """trials.json: all trials in the trainer's types, and the best of those that succeeded.

    Of trials with an equal metric, the one with the lower loss comes first, as among a training's
    epochs; trials without a loss follow, and remaining ties go to the earlier trial. A trial whose
    metric is not finite (a loss that overflowed) is not chosen.

    losses: by trial id, as `validation_losses` returns them. first: rank of the best.
    """
    search = experiment.tuning
    known = known_to(experiment)
    trials = tuple(
        _trial(trial, search.metric, known, losses.get(trial["id"])) for trial in tuning["trials"]
    )
    candidates = [
        (trial, trial.final)
        for trial in trials
        if trial.state == "SUCCEEDED" and trial.final and math.isfinite(trial.final.value)
    ]
    sign = -1 if search.goal == "maximize" else 1

    def order(candidate: tuple[Trial, Measurement]) -> tuple[float, float, int]:
        trial, final = candidate
        return sign * final.value, math.inf if final.loss is None else final.loss, int(trial.id)

    candidates.sort(key=order)
    best = enumerate(candidates[: experiment.train.top], start=first)
    return Trials(
        job=tuning["name"],
        metric=search.metric,
        goal=search.goal,
        trials=trials,
        chosen=tuple(
            Chosen(rank, trial.id, trial.parameters, final.value) for rank, (trial, final) in best
        ),
    )


def nothing_to_choose(found: Trials) -> str:
    """Explain why there is no trial to train."""
    states = ", ".join(f"trial {trial.id} {trial.state}" for trial in found.trials)
    return (
        f"No trial succeeded with a {found.metric} to compare: {states or 'no trial ran'}. "
        f"The tuning job is {found.job}; its trials' logs say why."
    )


def _trial(
    trial: dict[str, Any], metric: str, known: Mapping[str, Hyperparameter], loss: float | None
) -> Trial:
    final = trial["final"]
    value = final["metrics"].get(metric) if final else None
    return Trial(
        id=trial["id"],
        state=trial["state"],
        parameters={name: known[name].cast(v) for name, v in trial["parameters"].items()},
        final=None if value is None else Measurement(final["step"], value, loss),
        start=trial["start"],
        end=trial["end"],
    )


def _tasks(dag: Building) -> Any:
    return task(dag.experiment, dag.platform, [each.output for each in dag.made["tune"].last])


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    each = " of each model" if experiment.other_models else ""
    yield "choose", f"selects the best {experiment.train.top} of the trials that succeeded{each}"


STAGE = Stage(
    name="choose",
    where="Airflow",
    writes=["trials.json"],
    when=tune.searches,
    tasks=_tasks,
    page=_page,
    advice={"choose": "The search found nothing to train: see the stage `tune`."},
)
