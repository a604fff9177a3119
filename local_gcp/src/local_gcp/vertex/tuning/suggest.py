"""Suggests the hyperparameters of the next trial.

A pure function of the study and its trials so far, seeded with the study's name and the trial's
number: no state of the optimiser is stored, and a repetition after a crash gives the same result.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_gcp.vertex.tuning import space
from local_gcp.vertex.tuning.space import Value
from local_gcp.vertex.tuning.spec import Algorithm, Study
from local_gcp.vertex.tuning.trials import State, Trial

if TYPE_CHECKING:
    import optuna

_ATTEMPTS = 20
"""Number of repeated suggestions before an untried point is taken instead."""


def suggest(study: Study, trials: Sequence[Trial]) -> dict[str, Value] | None:
    """Hyperparameters for trial number `len(trials) + 1`; None: the grid has been searched.

    `trials` are all trials of the study so far, in the order of their ids.
    """
    if study.algorithm is Algorithm.GRID_SEARCH:
        number = len(trials)
        exhausted = number >= space.size(study.parameters)
        return None if exhausted else space.point(study.parameters, number)
    if study.algorithm is Algorithm.RANDOM_SEARCH:
        return _ask(study, trials, "random")
    return _bayesian(study, trials)


def _bayesian(study: Study, trials: Sequence[Trial]) -> dict[str, Value]:
    """Vertex's default: the middle of the space first, then model-based search.

    That the first trial is the centre shows in Vertex's documentation (trial 1 of a double from
    1e-05 to 1 was 0.500005) and in open-source Vizier (`seed_with_default`).
    """
    if not trials:
        return {parameter.id: parameter.centre for parameter in study.parameters}
    points = space.size(study.parameters)
    if points == math.inf:
        return _ask(study, trials, "tpe")
    tried = {_key(trial.parameters) for trial in trials}
    for attempt in range(_ATTEMPTS):
        values = _ask(study, trials, f"tpe {attempt}")
        # As on Vertex AI: the default algorithm may repeat points after all have been tried.
        if _key(values) not in tried or len(tried) >= points:
            return values
    start = _seed(study, trials, "untried") % int(points)
    for offset in range(len(tried) + 1):
        values = space.point(study.parameters, (start + offset) % int(points))
        if _key(values) not in tried:
            return values
    raise AssertionError("a space with more points than trials has an untried one")


def _ask(study: Study, trials: Sequence[Trial], purpose: str) -> dict[str, Value]:
    import optuna  # a third of a second, and only tuning jobs need it

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed = _seed(study, trials, purpose)
    distributions = {parameter.id: parameter.distribution() for parameter in study.parameters}
    sampler: optuna.samplers.BaseSampler
    if purpose == "random":
        sampler = optuna.samplers.RandomSampler(seed=seed)
    else:
        # Optuna's default of 10 random trials first would be all of a small study.
        startup = min(10, max(1, study.max_trials // 3))
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup)
    model = optuna.create_study(
        sampler=sampler, direction="maximize" if study.maximize else "minimize"
    )
    if purpose != "random":
        model.add_trials([_observation(study, trial, distributions) for trial in trials])
    coordinates = model.ask(distributions).params
    return {
        parameter.id: parameter.decode(coordinates[parameter.id]) for parameter in study.parameters
    }


def _observation(
    study: Study, trial: Trial, distributions: dict[str, optuna.distributions.BaseDistribution]
) -> optuna.trial.FrozenTrial:
    from optuna.trial import TrialState, create_trial

    coordinates = {p.id: p.encode(trial.parameters[p.id]) for p in study.parameters}
    if trial.state is State.SUCCEEDED and trial.final is not None:
        state, value = TrialState.COMPLETE, trial.final.value
    elif trial.done:
        # "Should not be attempted again": TPE ranks a pruned trial without values below all others.
        state, value = TrialState.PRUNED, None
    else:
        # TPE assumes a poor result where a parallel trial is still running (constant liar).
        state, value = TrialState.RUNNING, None
    return create_trial(state=state, value=value, params=coordinates, distributions=distributions)


def _seed(study: Study, trials: Sequence[Trial], purpose: str) -> int:
    text = f"{study.name} {len(trials) + 1} {purpose}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _key(values: dict[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(values.items()))
