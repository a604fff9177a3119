"""The gate: bounds, a lead over every baseline that chance does not explain, no step back."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.comparison.plans import plan_of
from tests.wording import says
from trainer.comparison.promotion import Check, Gate, decide
from trainer.comparison.run_folder import Contender, Run, Served
from trainer.comparison.scoreboard import Scoreboard, ScoringError
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import REGRESSION_METRICS, ValueOutcome
from trainer.metrics.survival import SURVIVAL_METRICS, SurvivalOutcome
from trellis_contracts.leaderboard import Estimate, Slice, Slices

pytestmark = pytest.mark.usefixtures("few_resamples")

ACCURACY = CLASSIFICATION_METRICS["accuracy"]
LABELS = np.arange(100) % 2
OPEN = Gate(beat_baselines=False, tolerance=None)
NOTHING = Served(None, None)
SERVED = Served("projects/p/locations/l/models/m@3", "projects/p/locations/l/endpoints/m", "served")


def right(first, last=100):
    """An outcome over two classes that is right about the examples first..last-1."""
    hit = (np.arange(100) >= first) & (np.arange(100) < last)
    probabilities = np.full((100, 2), 0.1)
    probabilities[np.arange(100), np.where(hit, LABELS, 1 - LABELS)] = 0.9
    return Outcome(LABELS, probabilities)


OUTCOMES = {
    "training/1": right(20),
    "training/2": right(10),
    "baselines/bqml-logistic_reg": right(30),
    "baselines/automl": right(12),
    "served": right(11),
}
BOARD = Scoreboard(OUTCOMES, ACCURACY)


def kind(name):
    where, _, what = name.partition("/")
    return where if where in ("training", "served") else what.partition("-")[0]


def a_run(names, served=NOTHING):
    contenders = [Contender(name, kind(name), f"gs://b/runs/r/{name}/") for name in names]
    plan = plan_of("gs://b/datasets/d/")
    return Run("gs://b/runs/r/", plan, None, None, contenders, served=served)


def decided(gate, served=SERVED, failures=None, board=BOARD, names=tuple(OUTCOMES)):
    trainings = (s.name for s in board.standings if s.name.startswith("training/"))
    return decide(gate, a_run(names, served), board, next(trainings, None), failures or {})


def board_without(*names):
    return Scoreboard({n: o for n, o in OUTCOMES.items() if n not in names}, ACCURACY)


def test_the_gate_of_a_plan_has_every_field():
    gate = {
        "require": {"auc": 0.95},
        "beat": "nothing",
        "margin": 0.01,
        "tolerance": None,
        "learned": True,
    }
    assert Gate.of({"gate": gate}) == Gate({"auc": 0.95}, False, 0.01, None, None)
    gate["improvement"] = 0.02
    assert Gate.of({"gate": gate}).improvement == 0.02


def test_a_plan_of_a_run_without_baselines_does_not_say_what_to_beat():
    gate = Gate.of({"gate": {"require": {}, "margin": 0.0, "tolerance": 0.0, "learned": True}})
    assert not gate.beat_baselines


def test_the_challenger_is_the_selected_training_whoever_leads():
    assert BOARD.standings[0].name == "training/2"
    decision = decide(OPEN, a_run(OUTCOMES), BOARD, "training/1", {})
    assert (decision.challenger, decision.promoted, decision.checks) == ("training/1", True, [])


def test_a_service_that_may_be_deployed_competes_and_is_no_hurdle():
    gate = Gate(allow=("trainings", "automl"), tolerance=None)
    of = decide(gate, a_run(OUTCOMES), BOARD, "baselines/automl", {})
    assert [check.check for check in of.checks] == ["beats baselines/bqml-logistic_reg"]
    deploy = {"allow": ["bqml"], "gate": {"require": {}, "margin": 0, "tolerance": 0, "learned": 1}}
    assert Gate.of(deploy).allow == ("bqml",)


def test_without_a_training_there_is_nothing_to_promote():
    board = board_without("training/1", "training/2")
    decision = decided(OPEN, board=board, failures={"training/1": "x", "training/2": "y"})
    assert (decision.challenger, decision.promoted, decision.checks) == (None, False, ())
    assert "deploy.allow" in decision.reason


def test_a_bound_holds_when_it_is_just_reached():
    (check,) = decided(Gate({"accuracy": 0.9}, False, tolerance=None)).checks
    assert check == Check("accuracy at least 0.9", True, "accuracy 0.9000 [0.8238, 0.9510]")


def test_a_bound_of_a_metric_to_minimize_is_an_upper_one():
    # 90 examples cost -ln 0.9, 10 cost -ln 0.1.
    for bound, holds in ((0.3, False), (0.33, True)):
        (check,) = decided(Gate({"loss": bound}, False, tolerance=None)).checks
        assert (check.check, check.passed) == (f"log loss at most {bound}", holds)
        assert check.detail.startswith("log loss 0.3251 [")


def test_a_bound_at_one_horizon_is_of_that_horizon_alone():
    """Nobody is told apart before the first one, and everybody until the second."""
    labels = np.stack([np.arange(100.0) + 1, np.ones(100)], axis=1)
    order = np.linspace(0.1, 0.9, 100)
    curves = np.stack([np.full(100, 0.9), order, order], axis=1)
    outcome = SurvivalOutcome(labels, -order, curves, (20.0, 60.0, 200.0), (20.0, 60.0, 200.0))
    board = Scoreboard({"training/1": outcome}, SURVIVAL_METRICS["concordance"])
    bounds = {"horizon_auc@20": 0.6, "horizon_auc@60": 0.9, "horizon_auc@200": 0.1}
    checks = decided(Gate(bounds, False, tolerance=None), board=board, names=["training/1"]).checks
    assert [(check.check, check.passed) for check in checks] == [
        ("AUC at 20 at least 0.6", False),
        ("AUC at 60 at least 0.9", True),
        ("AUC at 200 at least 0.1", False),
    ]
    assert checks[1].detail == "AUC at 60 1.0000 [1.0000, 1.0000]"
    assert "undefined" in checks[2].detail
    whole = Gate({"concordance@20": 0.6}, False, tolerance=None)
    with pytest.raises(ScoringError, match="concordance is no average over parts"):
        decided(whole, board=board, names=["training/1"])


def test_a_value_near_its_bound_is_shown_with_the_digits_that_decide():
    (check,) = decided(Gate({"accuracy": 0.900004}, False, tolerance=None)).checks
    assert (check.passed, check.detail) == (False, "accuracy 0.900000 [0.823777, 0.950995]")


def test_a_metric_that_the_test_split_leaves_undefined_holds_no_bound():
    outcome = Outcome(np.zeros(10, int), np.tile([0.9, 0.1], (10, 1)))
    board = Scoreboard({"training/1": outcome}, ACCURACY)
    decision = decided(
        Gate({"auc": 0.5}, learned=False), NOTHING, board=board, names=["training/1"]
    )
    assert not decision.promoted
    assert says(decision.reason, "training/1", "1 of 1", "AUC", "0.5", "AUC")


def test_an_unknown_metric_is_an_error():
    with pytest.raises(ScoringError, match="unknown metric 'acuracy'"):
        decided(Gate({"acuracy": 0.5}))


def test_every_baseline_must_be_beaten_beyond_chance():
    decision = decided(Gate(tolerance=None))
    assert [(check.check, check.passed) for check in decision.checks] == [
        ("beats baselines/bqml-logistic_reg", True),
        ("beats baselines/automl", False),  # two examples of a hundred
    ]
    lead = BOARD.lead("training/2", "baselines/automl")
    assert lead.low < 0 < lead.value
    assert decision.checks[1].detail == (
        f"accuracy 0.9000 to 0.8800: ahead by +0.0200 [{lead.low:+.4f}, {lead.high:+.4f}]"
    )
    assert decision.reason == (
        "training/2 fails 1 of 2 checks: beats baselines/automl (" + decision.checks[1].detail + ")"
    )


def test_the_margin_is_for_the_lower_end_of_the_interval():
    lead = BOARD.lead("training/2", "baselines/bqml-logistic_reg")
    for margin, beaten in ((lead.low - 1e-6, True), (lead.low, False), (lead.value, False)):
        check = decided(Gate(margin=margin, tolerance=None)).checks[0]
        assert check.passed == beaten
        assert check.check.endswith(f" {margin}")


def test_a_baseline_that_failed_is_no_obstacle_but_is_named():
    failures = {"baselines/automl": "no quota"}
    decision = decided(Gate(tolerance=None), failures=failures, board=board_without(*failures))
    assert decision.promoted
    assert says(decision.reason, "training/2", "baselines/automl")


def test_the_challenger_may_be_as_much_worse_than_the_served_model_as_is_tolerated():
    names = ("training/1", "served")
    board = Scoreboard({name: OUTCOMES[name] for name in names}, ACCURACY)
    for tolerance, passed in ((0.0, False), (0.08, False), (0.09, True), (None, True)):
        decision = decided(Gate(tolerance=tolerance), board=board, names=names)
        assert (decision.challenger, decision.promoted) == ("training/1", passed), tolerance
    (check,) = decided(Gate(), board=board, names=names).checks
    assert says(check.detail, "0.8000", "0.8900", "-0.0900")


def test_a_served_model_that_is_equal_does_not_stand_in_the_way():
    board = Scoreboard({"training/1": right(20), "served": right(20)}, ACCURACY)
    assert decided(Gate(), board=board, names=["training/1", "served"]).promoted


@pytest.mark.parametrize("key", ["tolerance", "improvement"])
def test_a_served_model_that_cannot_be_scored_refuses_and_says_what_to_do(key):
    failures = {"served": "the model gs://b/m/ is gone"}
    gate = dataclasses.replace(OPEN, **{key: 0.0})
    decision = decided(gate, failures=failures, board=board_without("served"))
    assert not decision.promoted
    assert says(decision.checks[0].detail, failures["served"], f"{key}: null")
    assert decided(OPEN, failures=failures, board=board_without("served")).promoted


def test_where_nothing_is_served_there_is_nothing_to_be_worse_than():
    decision = decided(Gate(beat_baselines=False), NOTHING)
    assert (decision.promoted, decision.checks, decision.served) == (True, [], None)


def test_a_run_that_did_not_look_what_is_served_is_refused():
    decision = decided(Gate(beat_baselines=False), None)
    assert not decision.promoted
    assert says(decision.reason, "served.json", "`served`")


def test_a_challenger_that_is_served_already_is_promoted_as_before():
    served = Served("projects/p/locations/l/models/m@4", None, "training/2")
    decision = decided(Gate(beat_baselines=False), served)
    assert decision.promoted
    assert decision.checks[0].detail == "training/2 is already the served model"


def test_another_training_of_the_run_that_is_served_is_compared_like_any_served_model():
    decision = decided(Gate(beat_baselines=False), Served("m@4", None, "training/1"))
    assert says(decision.checks[0].detail, "0.9000", "0.8000", "+0.1000")


def test_an_equal_model_replaces_the_served_one_only_if_no_improvement_is_asked_for():
    names = ["training/1", "served"]
    equal = Scoreboard({"training/1": right(20), "served": right(20)}, ACCURACY)
    better = Scoreboard({"training/1": right(5), "served": right(20)}, ACCURACY)
    for improvement, promoted in ((None, [True, True]), (0.0, [False, True]), (0.1, [False] * 2)):
        gate = Gate(improvement=improvement)
        found = [decided(gate, board=board, names=names).promoted for board in (equal, better)]
        assert found == promoted, improvement
    check = decided(Gate(improvement=0.1), board=better, names=names).checks[-1]
    assert check.check.endswith(" 0.1")
    assert says(check.detail, "0.9500", "0.8000", "+0.1500")


def test_of_a_regression_the_smaller_error_is_ahead():
    labels = np.linspace(0, 100, 80)
    noise = np.random.default_rng(1).normal(size=80)
    outcomes = {"training/1": ValueOutcome(labels, labels + noise)}
    outcomes["baselines/bqml-linear_reg"] = ValueOutcome(labels, labels + 2 * noise)
    board = Scoreboard(outcomes, REGRESSION_METRICS["rmse"])
    decision = decided(Gate({"rmse": 1.5, "r2": 0.99}), NOTHING, board=board, names=outcomes)
    assert decision.promoted, decision.reason
    assert decision.checks[0].check == "RMSE at most 1.5"
    assert says(decision.checks[2].detail, "RMSE", "0.844", "1.688", "+0.844")
    lead = board.lead("training/1", "baselines/bqml-linear_reg")
    assert 0 < lead.low < lead.value < lead.high


BEATABLE = board_without("baselines/automl")
numbers = st.floats(0, 1).map(lambda number: round(number, 4))
leads = st.floats(0, 0.2).map(lambda number: round(number, 4))


@given(bound=numbers, margin=numbers, tolerance=st.none() | numbers, beat=st.booleans())
def test_the_decision_follows_from_the_published_numbers(bound, margin, tolerance, beat):
    decision = decided(Gate({"accuracy": bound}, beat, margin, tolerance))
    leads = {name: BOARD.lead("training/2", name) for name in OUTCOMES if name != "training/2"}
    assert decision.promoted == (
        bound <= 0.9
        and not (beat and min(leads[name].low for name in leads if "base" in name) <= margin)
        and not (tolerance is not None and leads["served"].value < -tolerance)
    )
    assert decision.promoted == all(check.passed for check in decision.checks)
    assert decision.reason.isascii()


@given(st.tuples(numbers, numbers), st.tuples(leads, leads), st.tuples(leads, leads))
def test_a_looser_gate_refuses_nothing_that_a_stricter_one_promotes(bounds, margins, tolerances):
    strict = Gate({"accuracy": max(bounds)}, True, max(margins), min(tolerances))
    loose = Gate({"accuracy": min(bounds)}, True, min(margins), max(tolerances))
    names = [name for name in OUTCOMES if name != "baselines/automl"]
    promoted = [decided(gate, board=BEATABLE, names=names).promoted for gate in (strict, loose)]
    assert promoted in ([False, False], [False, True], [True, True])


ILL = (np.arange(1000) < 33).astype(int)


def of_ill(found):
    """The gate's check of a classifier that finds so many of 33 rare cases, and is right else."""
    predicted = ((np.arange(1000) < found) & (ILL == 1)).astype(int)
    outcome = Outcome(ILL, np.where(np.eye(2)[predicted] > 0, 0.9, 0.1))
    board = Scoreboard({"training/1": outcome}, ACCURACY)

    def check(recall, require=0.95):
        # It is a constant where it finds none: another check's matter.
        gate = Gate({"accuracy": require}, beat_baselines=False, tolerance=None, learned=False)
        run = dataclasses.replace(
            a_run(["training/1"]), dataset=SimpleNamespace(classes=("healthy", "ill"))
        )
        return decide(dataclasses.replace(gate, recall=recall), run, board, "training/1", {})

    return check


def test_a_rare_class_that_is_never_found_is_not_promoted_by_its_accuracy():
    never = of_ill(0)
    assert never(None).promoted  # an accuracy of 0.967
    refused = never(0.0)
    assert not refused.promoted
    assert says(refused.reason, "recall", "ill: 0 of 33")
    assert of_ill(1)(0.0).promoted
    assert not of_ill(16)(0.5).promoted
    lowest = of_ill(20)(0.5).checks[-1]
    assert lowest.passed
    assert says(lowest.detail, "ill: 20 of 33")


def test_too_few_examples_tell_nothing_of_a_recall():
    outcome = Outcome(np.r_[np.ones(9, int), np.zeros(91, int)], np.tile([0.8, 0.2], (100, 1)))
    board = Scoreboard({"training/1": outcome}, ACCURACY)
    gate = dataclasses.replace(OPEN, recall=0.0, learned=False)
    run = dataclasses.replace(
        a_run(["training/1"]), dataset=SimpleNamespace(classes=("healthy", "ill"))
    )
    assert [c.passed for c in decide(gate, run, board, "training/1", {}).checks] == [True]


def slices_of(*scores, metric="accuracy"):
    """Slices by (name, score, gap, examples), with intervals of 0.05 to either side."""

    def estimate(value):
        return None if value is None else Estimate(value, (value - 0.05, value + 0.05))

    made = [
        Slice(
            name=name,
            by=("site",),
            examples=examples,
            judged=examples >= 10,
            gap=estimate(gap),
            metrics={"training/1": {} if score is None else {metric: estimate(score)}},
        )
        for name, score, gap, examples in scores
    ]
    return Slices("training/1", metric, len(made), 0.99, tuple(made))


def sliced(gate, slices, board=BOARD):
    gate = dataclasses.replace(OPEN, learned=False, **gate)
    return decide(gate, a_run(["training/1"]), board, "training/1", {}, slices)


GOOD = ("site = A", 0.9, 0.06, 80)
POOR = ("site = B", 0.7, -0.2, 80)
FEW_EXAMPLES = ("site = C", 0.1, None, 9)


@pytest.mark.parametrize(
    ("bound", "poor", "promoted"), [(0.8, POOR, False), (0.7, POOR, True), (0.8, GOOD, True)]
)
def test_a_bound_holds_in_every_slice_with_enough_examples(bound, poor, promoted):
    found = sliced({"slices": {"accuracy": bound}}, slices_of(GOOD, poor, FEW_EXAMPLES))
    assert found.promoted == promoted
    (check,) = found.checks
    assert ("site = B" in found.reason) == (not promoted)
    assert "site = A" not in found.reason
    assert "site = C (9)" in check.detail


def test_a_bound_of_what_is_minimized_is_the_largest_value():
    loss = slices_of(("site = A", 0.5, 0.0, 80), ("site = B", 0.9, 0.0, 80), metric="log_loss")
    assert sliced({"slices": {"loss": 0.9}}, loss).promoted
    refused = sliced({"slices": {"loss": 0.8}}, loss)
    assert "site = B" in refused.reason
    assert "site = A" not in refused.reason


@pytest.mark.parametrize(
    ("gap", "limit", "promoted"),
    [
        (-0.2, 0.1, False),  # its interval ends at 0.15 below
        (-0.14, 0.1, True),  # at 0.09
        (-0.04, 0.0, True),
        (-0.06, 0.0, False),
        (0.2, 0.1, True),  # better than elsewhere
    ],
)
def test_a_gap_is_refused_if_its_whole_interval_is_beyond_the_limit(gap, limit, promoted):
    slices = slices_of(GOOD, ("site = B", 0.7, gap, 80), FEW_EXAMPLES)
    found = sliced({"slices_gap": limit}, slices)
    assert found.promoted == promoted
    assert ("site = B" in found.reason) == (not promoted)


def test_a_gap_of_what_is_minimized_is_refused_if_it_is_above_the_limit():
    labels = np.arange(100.0)
    board = Scoreboard({"training/1": ValueOutcome(labels, labels + 1)}, REGRESSION_METRICS["rmse"])
    for gap, promoted in ((0.2, False), (-0.2, True)):
        slices = slices_of(("site = B", 0.7, gap, 80), metric="rmse")
        assert sliced({"slices_gap": 0.1}, slices, board).promoted == promoted


@pytest.mark.parametrize("gate", [{"slices": {"accuracy": 0.8}}, {"slices_gap": 0.1}])
def test_a_gate_of_slices_refuses_if_none_can_be_judged(gate):
    found = sliced(gate, slices_of(FEW_EXAMPLES, ("site = D", None, None, 80)))
    assert not found.promoted
    assert "site = C (9), site = D (80)" in found.checks[0].detail


def test_without_a_bound_of_slices_they_decide_nothing():
    assert sliced({}, slices_of(POOR)).checks == []
