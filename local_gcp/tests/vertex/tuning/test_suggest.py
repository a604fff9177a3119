"""Suggestions: legal, repeatable after a crash, and better than chance."""

import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_gcp.vertex.tuning.space import Categorical, Discrete, Double, Integer, Scale
from local_gcp.vertex.tuning.spec import Algorithm, Study
from local_gcp.vertex.tuning.suggest import suggest
from local_gcp.vertex.tuning.trials import Measurement, State, Trial

SPACE = (
    Double("rate", 1e-4, 1e-1, Scale.LOG),
    Double("top", 1, 100, Scale.REVERSE_LOG),
    Integer("layers", 1, 4),
    Discrete("units", (32.0, 64.0, 128.0)),
    Categorical("optimizer", ("adam", "sgd")),
)


def study(parameters=SPACE, algorithm=Algorithm.BAYESIAN, name="jobs/1", trials=30, maximize=True):
    return Study(name, parameters, "accuracy", maximize, trials, algorithm)


def run(a_study, objective, count, parallel=1):
    """Run a study: suggest, evaluate, complete; `parallel` trials are always unfinished."""
    trials = []
    for number in range(1, count + 1):
        values = suggest(a_study, trials)
        if values is None:
            break
        trials.append(Trial(str(number), values))
        done = len(trials) - parallel
        if done >= 0:
            trials[done] = complete(trials[done], objective(trials[done].parameters))
    return trials


def complete(trial, value):
    if value is None:
        return Trial(trial.id, trial.parameters, State.INFEASIBLE)
    final = Measurement(1, 1.0, value)
    return Trial(trial.id, trial.parameters, State.SUCCEEDED, (final,), final)


@settings(max_examples=15)
@given(
    st.sampled_from([Algorithm.BAYESIAN, Algorithm.RANDOM_SEARCH]),
    st.lists(st.one_of(st.none(), st.floats(-1, 1)), min_size=1, max_size=8),
    st.integers(1, 3),
)
def test_every_suggestion_is_in_bounds_and_of_the_right_type(algorithm, results, parallel):
    answers = iter(results)
    trials = run(study(algorithm=algorithm), lambda _: next(answers), len(results), parallel)
    for trial in trials:
        values = trial.parameters
        assert list(values) == [parameter.id for parameter in SPACE]
        assert 1e-4 <= values["rate"] <= 1e-1
        assert 1 <= values["top"] <= 100
        assert values["layers"] in (1, 2, 3, 4)
        assert isinstance(values["layers"], int)
        assert values["units"] in (32.0, 64.0, 128.0)
        assert values["optimizer"] in ("adam", "sgd")


@pytest.mark.parametrize("algorithm", [Algorithm.BAYESIAN, Algorithm.RANDOM_SEARCH])
def test_asking_again_gives_the_same_answer_and_another_job_another_one(algorithm):
    trials = run(study(algorithm=algorithm), lambda p: p["rate"], 4)
    first = suggest(study(algorithm=algorithm), trials)
    assert suggest(study(algorithm=algorithm), trials) == first
    assert suggest(study(algorithm=algorithm, name="jobs/2"), trials) != first


def test_the_first_trial_is_the_centre_of_the_space():
    assert suggest(study(), [])["rate"] == pytest.approx(math.sqrt(1e-4 * 1e-1))
    assert suggest(study(), [])["layers"] == 2


def test_random_search_is_even_on_the_scale():
    rates = [
        trial.parameters["rate"]
        for trial in run(study(algorithm=Algorithm.RANDOM_SEARCH), lambda p: 0.0, 60)
    ]
    assert 3e-3 / 2 < statistics.median(rates) < 3e-3 * 2  # uniform would have it near 5e-2


@pytest.mark.parametrize("maximize", [True, False])
def test_bayesian_search_comes_closer_than_random_search(maximize):
    """A bowl with its best point at rate 1e-3, averaged over some studies."""

    def objective(values):
        distance = abs(math.log10(values["rate"]) + 3) + (values["optimizer"] != "sgd")
        return -distance if maximize else distance

    def best(algorithm, i):
        a_study = study((SPACE[0], SPACE[4]), algorithm, f"jobs/{i}", 25, maximize)
        late = run(a_study, objective, 25, parallel=2)[10:-1]
        return statistics.mean(abs(trial.final.value) for trial in late)

    bayesian = statistics.mean(best(Algorithm.BAYESIAN, i) for i in range(4))
    random = statistics.mean(best(Algorithm.RANDOM_SEARCH, i) for i in range(4))
    assert bayesian < 0.7 * random


@settings(max_examples=10)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_grid_search_visits_everything_once_and_ends(sizes):
    parameters = tuple(Integer(f"p{i}", 1, n) for i, n in enumerate(sizes))
    trials = run(study(parameters, Algorithm.GRID_SEARCH), lambda _: 0.0, 100)
    visited = {tuple(trial.parameters.values()) for trial in trials}
    assert len(visited) == len(trials) == math.prod(sizes)


def test_bayesian_search_tries_every_point_before_it_repeats_one():
    parameters = (Integer("a", 1, 3), Categorical("b", ("x", "y")))
    trials = run(study(parameters), lambda p: float(p["a"]), 8, parallel=2)
    points = [tuple(trial.parameters.values()) for trial in trials]
    assert len(set(points[:6])) == 6
    assert len(points) == 8


def test_a_failing_region_is_avoided():
    def objective(values):
        return None if values["optimizer"] == "sgd" else 0.5

    trials = run(study((SPACE[0], SPACE[4])), objective, 24)
    late = [trial.parameters["optimizer"] for trial in trials[12:]]
    assert late.count("sgd") < 4
