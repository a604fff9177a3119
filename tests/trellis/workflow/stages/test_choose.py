import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.airflow_side import ROOT
from trellis.workflow.stages.choose import nothing_to_choose, rank
from trellis.workflow.validation.file import load, with_changes
from trellis_contracts.trials import Chosen, Measurement

DIGITS = load(ROOT / "dags/experiments/digits.yaml")
PARAMETERS = {"learning_rate": 0.01, "filters": 32.0, "dropout": 0.0}


def trial(number, value, state="SUCCEEDED", step=4):
    final = None if value is None else {"step": step, "metrics": {"accuracy": value}}
    return {
        "id": str(number),
        "state": state,
        "parameters": PARAMETERS,
        "final": final,
        "start": "2025-01-01T00:00:00Z",
        "end": "2025-01-01T00:01:00Z",
        "reason": "",
    }


def tuning(*trials):
    return {"name": "projects/1/locations/r/hyperparameterTuningJobs/2", "trials": list(trials)}


def chosen(*trials, experiment=DIGITS, losses=None):
    return [one.trial for one in rank(tuning(*trials), experiment, losses or {}).chosen]


def test_the_best_are_chosen():
    assert chosen(trial(1, 0.8), trial(2, 0.95), trial(3, 0.9)) == ["2", "3"]


def test_less_is_better_of_a_metric_to_minimize():
    search = {**DIGITS.configuration()["tune"], "minimize": "loss"}
    del search["maximize"]
    trials = [trial(n, None) for n in (1, 2, 3)]
    for t, loss in zip(trials, (0.3, 0.1, 0.2), strict=True):
        t["final"] = {"step": 1, "metrics": {"loss": loss}}
    assert chosen(*trials, experiment=with_changes(DIGITS, {("tune",): search})) == ["2", "3"]


def test_of_trials_with_an_equal_metric_that_with_the_lower_loss_is_chosen():
    """Any of several trials may have no error on a small validation split."""
    trials = [trial(1, 0.95), trial(2, 1.0), trial(3, 1.0), trial(4, 1.0)]
    losses = {"1": 1e-5, "2": 0.058, "3": 0.00055, "4": 0.002}
    assert chosen(*trials, losses=losses) == ["3", "4"]
    (_, _, best, _) = rank(tuning(*trials), DIGITS, losses).trials
    assert best.final == Measurement(step=4, value=1.0, loss=0.00055)


def test_a_trial_without_a_loss_comes_after_its_equals():
    trials = [trial(1, 0.9), trial(2, 0.9), trial(3, 0.9)]
    assert chosen(*trials, losses={"2": 0.3, "3": 0.4}) == ["2", "3"]
    assert rank(tuning(*trials), DIGITS, {}).trials[0].final.loss is None


def test_of_equals_in_both_the_earlier_trial_is_chosen():
    assert chosen(trial(10, 0.9), trial(9, 0.9), trial(2, 0.9)) == ["2", "9"]


@pytest.mark.parametrize("state", ["INFEASIBLE", "STOPPING", "ACTIVE"])
def test_only_trials_that_succeeded_are_chosen(state):
    assert chosen(trial(1, 0.99, state), trial(2, 0.5)) == ["2"]


def test_a_metric_that_is_no_number_is_not_chosen():
    assert chosen(trial(1, math.nan), trial(2, math.inf), trial(3, 0.1), trial(4, None)) == ["3"]


def test_when_none_succeeded_the_reason_names_them():
    content = rank(tuning(trial(1, None, "INFEASIBLE"), trial(2, None, "INFEASIBLE")), DIGITS, {})
    assert content.chosen == ()
    assert "trial 1 INFEASIBLE, trial 2 INFEASIBLE" in nothing_to_choose(content)


def test_the_tuners_doubles_get_the_trainers_types():
    (winner,) = rank(tuning(trial(1, 0.9)), DIGITS, {}).chosen
    parameters = {"learning_rate": 0.01, "filters": 32, "dropout": 0.0}
    assert winner == Chosen(rank=1, trial="1", parameters=parameters, value=0.9)
    assert isinstance(winner.parameters["filters"], int)


def test_categories_of_a_switch_become_switches():
    search = {"augment": {"choose": [True, False]}}
    experiment = with_changes(DIGITS, {("tune", "search"): search})
    augmented = {**trial(1, 0.9), "parameters": {"augment": "true"}}
    (winner,) = rank(tuning(augmented), experiment, {}).chosen
    assert winner.parameters == {"augment": True}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.randoms())
def test_the_choice_does_not_depend_on_the_order_of_trials(values, random):
    trials = [trial(number, value) for number, value in enumerate(values, start=1)]
    winners = chosen(*trials)
    random.shuffle(trials)
    assert chosen(*trials) == winners
    assert len(winners) == min(2, len(values))
    worst = min(values[int(winner) - 1] for winner in winners)
    rest = [v for n, v in enumerate(values, start=1) if str(n) not in winners]
    assert all(v <= worst for v in rest)
