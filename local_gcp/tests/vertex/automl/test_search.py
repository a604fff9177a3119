"""The search: what it is given, and when it ends."""

import itertools
import time

import numpy as np
import pytest

from local_gcp.vertex.automl import candidates, evaluation, search
from local_gcp.vertex.automl.candidates import Candidate
from local_gcp.vertex.automl.features import DataError
from local_gcp.vertex.automl.search import Data

LINEAR = [Candidate("linear", {"strength": 10.0**n}) for n in range(-4, 4)]


def data(rows, seed=0):
    dice = np.random.default_rng(seed)
    x = dice.normal(size=(rows, 4))
    y = (x[:, 0] + 0.5 * dice.normal(size=rows) > 0).astype(int)
    return Data(x, y, np.ones(rows))


def run(
    training,
    validation,
    tried=LINEAR,
    seconds=60.0,
    early_stopping=True,
    objective="minimize-log-loss",
    say=lambda line: None,
):
    return search.search(
        training,
        validation,
        "classification",
        2,
        evaluation.objective(objective, None, 2),
        iter(tried),
        time.monotonic() + seconds,
        early_stopping,
        say,
    )


def test_the_best_on_the_validation_rows_wins():
    outcome = run(data(200), data(100, 1))
    scores = {str(trial.candidate): trial.score for trial in outcome.trials}
    assert scores[str(outcome.best)] == min(scores.values())
    assert outcome.how == "the 100 validation rows"
    assert not outcome.out_of_time


def test_the_progress_has_the_objectives_own_value():
    said = []
    outcome = run(data(200), data(100, 1), objective="maximize-au-roc", say=said.append)
    scores = {str(trial.candidate): trial.score for trial in outcome.trials}
    assert scores[str(outcome.best)] == pytest.approx(max(scores.values()))
    shown = [float(line.rpartition(" (")[0].rpartition(" ")[2]) for line in said]
    assert shown == pytest.approx(list(scores.values()), rel=1e-4)
    assert all(0 <= score <= 1 for score in shown)


def test_without_enough_validation_rows_it_cross_validates():
    outcome = run(data(60), data(3, 1))
    assert outcome.how.startswith("3-fold cross-validation over 63 rows")
    _, predictions = outcome.held_out
    assert predictions.shape == (63, 2)
    one_class = Data(*(part[:25] for part in vars(data(25)).values()))
    one_class = Data(one_class.x, np.zeros(25, dtype=int), one_class.weights)
    assert "cross-validation" in run(data(60), one_class).how


def test_it_stops_when_nothing_better_is_expected():
    endless = itertools.repeat(LINEAR[0])
    outcome = run(data(60), data(30, 1), endless)
    assert len(outcome.trials) == search.LEAST


def test_without_early_stopping_it_uses_its_time_and_no_more():
    started = time.monotonic()
    outcome = run(data(60), data(30, 1), itertools.cycle(LINEAR), 1.5, early_stopping=False)
    assert 1.5 <= time.monotonic() - started < 10
    assert outcome.out_of_time


def test_a_fit_is_interrupted_when_the_time_is_over():
    slow = Candidate("random_forest", {"trees": 1_000_000, "leaf": 1})
    started = time.monotonic()
    outcome = run(data(60), data(30, 1), [LINEAR[0], slow], 2.0)
    assert time.monotonic() - started < 10
    assert [trial.candidate for trial in outcome.trials] == [LINEAR[0]]
    with pytest.raises(DataError, match="budget was not enough"):
        run(data(60), data(30, 1), [slow], 0.5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_alarm_that_is_lost_in_a_destructor_rings_again():
    class Busy:
        def __del__(self):
            time.sleep(0.3)

    def work():
        Busy()
        time.sleep(2)

    with pytest.raises(search.OutOfTimeError), search.alarm(time.monotonic() + 0.1):
        work()


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_every_family_fits_and_predicts(kind):
    sample = data(60)
    fixed = itertools.islice(candidates.tabular(), 40)
    families = {candidate.family: candidate for candidate in fixed}
    assert len(families) == 5
    for candidate in families.values():
        small = Candidate(candidate.family, {**candidate.settings, "trees": 5, "leaves": 3})
        model = search.fit(small, sample, kind)
        found = search.predict(model, sample.x, kind, 2)
        assert found.shape == ((60, 2) if kind == "classification" else (60,))
