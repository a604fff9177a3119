"""The ranking: by the primary metric, ties by rule, differences to the winner with intervals."""

import numpy as np
import pytest

from trainer.comparison.scoreboard import Scoreboard, ScoringError, metric_named
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.outcome import Outcome

ACCURACY = CLASSIFICATION_METRICS["accuracy"]


def sure(labels, right, confidence=0.9):
    """An outcome over two classes that is right where told, with that confidence everywhere."""
    labels, right = np.asarray(labels), np.asarray(right)
    predicted = np.where(right, labels, 1 - labels)
    probabilities = np.full((len(labels), 2), 1 - confidence)
    probabilities[np.arange(len(labels)), predicted] = confidence
    return Outcome(labels, probabilities)


LABELS = np.arange(100) % 2


def test_the_best_by_the_primary_metric_is_winner():
    outcomes = {
        "training/1": sure(LABELS, np.arange(100) < 80),
        "training/2": sure(LABELS, np.arange(100) < 90),
    }
    first, second = Scoreboard(outcomes, ACCURACY).standings
    assert (first.name, first.rank, first.difference) == ("training/2", 1, None)
    assert (second.name, second.rank) == ("training/1", 2)
    assert second.metrics["accuracy"].value == 0.8
    assert second.difference.metrics["accuracy"].value == pytest.approx(-0.1)
    assert second.difference.won_by_winner == 10
    assert second.difference.won_by_this == 0
    assert second.difference.distinguishable


def test_by_a_metric_to_minimize_the_smallest_is_winner():
    modest, bold = sure(LABELS, LABELS < 9, 0.7), sure(LABELS, LABELS < 9, 0.99)
    standings = Scoreboard({"a": modest, "b": bold}, CLASSIFICATION_METRICS["log_loss"]).standings
    assert [standing.name for standing in standings] == ["b", "a"]


def test_ties_go_to_the_lower_log_loss():
    right = np.arange(100) < 90
    outcomes = {"a": sure(LABELS, right, 0.6), "b": sure(LABELS, right, 0.9)}
    assert [standing.name for standing in Scoreboard(outcomes, ACCURACY).standings] == ["b", "a"]


def test_full_ties_go_to_the_earlier_name_counting_naturally():
    outcome = sure(LABELS, np.arange(100) < 90)
    outcomes = dict.fromkeys(["training/10", "training/9", "training/2"], outcome)
    standings = Scoreboard(outcomes, ACCURACY).standings
    assert [standing.name for standing in standings] == ["training/2", "training/9", "training/10"]
    assert not standings[1].difference.distinguishable


def test_the_result_does_not_depend_on_the_order_of_the_contenders():
    outcomes = {str(i): sure(LABELS, np.arange(100) < 80 + i) for i in range(4)}
    assert (
        Scoreboard(outcomes, ACCURACY).standings
        == Scoreboard(dict(reversed(outcomes.items())), ACCURACY).standings
    )


def test_a_lead_is_a_paired_difference_between_any_two():
    outcomes = {f"training/{i}": sure(LABELS, np.arange(100) < 100 - 10 * i) for i in (1, 2, 3)}
    board = Scoreboard(outcomes, ACCURACY)
    _, second, _ = board.standings
    assert board.lead("training/2", "training/1") == second.difference.metrics["accuracy"]
    lead, lag = board.lead("training/2", "training/3"), board.lead("training/3", "training/2")
    assert 0 < lead.low < lead.value == 0.1 < lead.high
    assert (lag.value, lag.low, lag.high) == (-lead.value, -lead.high, -lead.low)


def test_by_a_metric_to_minimize_the_smaller_is_ahead():
    modest, bold = sure(LABELS, LABELS < 9, 0.7), sure(LABELS, LABELS < 9, 0.99)
    board = Scoreboard({"a": modest, "b": bold}, CLASSIFICATION_METRICS["log_loss"])
    lead = board.lead("b", "a")
    difference = board.standings[1].difference.metrics["log_loss"]
    assert (lead.value, lead.low, lead.high) == (
        difference.value,
        difference.low,
        difference.high,
    )
    assert lead.value == pytest.approx(np.log(0.99 / 0.7), abs=1e-5)


def test_loss_is_the_log_loss():
    assert metric_named("loss").name == "log_loss"


def test_an_unknown_metric_names_the_known_ones():
    with pytest.raises(
        ScoringError, match=r"unknown metric 'acuracy'.*accuracy, balanced_accuracy"
    ):
        metric_named("acuracy")


def test_a_metric_that_is_undefined_here_cannot_decide():
    outcome = sure(np.zeros(10, int), np.ones(10, bool))
    with pytest.raises(ScoringError, match=r"auc is undefined.*one class only"):
        Scoreboard({"a": outcome}, CLASSIFICATION_METRICS["auc"])
    assert "auc" not in Scoreboard({"a": outcome}, ACCURACY).standings[0].metrics


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_published_intervals_cover_the_truth_in_500_simulations(two_contenders):
    """500 test splits of 250 examples: intervals of scores and of differences, every metric."""
    population = dict(zip(("better", "worse"), two_contenders, strict=True))
    truth = {
        (name, metric.name): metric.point(outcome)
        for name, outcome in population.items()
        for metric in CLASSIFICATION_METRICS.values()
    }
    random = np.random.default_rng(5)
    scores = dict.fromkeys(CLASSIFICATION_METRICS, 0)
    differences = dict.fromkeys(CLASSIFICATION_METRICS, 0)
    for _ in range(500):
        rows = random.integers(0, 100_000, 250)
        drawn = {k: Outcome(o.labels[rows], o.probabilities[rows]) for k, o in population.items()}
        winner, other = Scoreboard(drawn, ACCURACY).standings
        for metric in CLASSIFICATION_METRICS:
            score, difference = other.metrics[metric], other.difference.metrics[metric]
            true = truth[other.name, metric]
            scores[metric] += score.low <= true <= score.high
            true -= truth[winner.name, metric]
            differences[metric] += difference.low <= true <= difference.high
    print({metric: (scores[metric] / 500, differences[metric] / 500) for metric in scores})
    assert min(differences.values()) > 0.92 * 500
    assert max(differences.values()) < 0.99 * 500
    assert min(scores.values()) > 0.92 * 500
    assert max(scores.values()) < 0.99 * 500


def outcome_with_errors(count):
    return sure(LABELS, np.arange(100) >= count)


def test_those_that_were_not_selected_follow_the_others():
    outcomes = {f"training/{n}": outcome_with_errors(n) for n in (1, 2, 3)}
    outcomes["served"] = outcome_with_errors(40)
    board = Scoreboard(outcomes, ACCURACY, {"training/1", "training/3"})
    order = [(standing.rank, standing.name) for standing in board.standings]
    assert order == [(1, "training/2"), (2, "served"), (3, "training/1"), (4, "training/3")]


def test_the_intervals_of_several_differences_hold_together():
    names = ["training/1", "a", "b", "c", "training/2"]
    outcomes = {name: outcome_with_errors(10 * place) for place, name in enumerate(names, 1)}
    alone = Scoreboard({name: outcomes[name] for name in names[:2]}, ACCURACY)
    among = Scoreboard(outcomes, ACCURACY, {"training/2"})
    assert (alone.comparisons, alone.difference_level) == (1, 0.95)
    assert (among.comparisons, among.difference_level) == (3, pytest.approx(1 - 0.05 / 3))
    narrow, wide = (board.lead("training/1", "a") for board in (alone, among))
    assert narrow.value == wide.value
    assert wide.low < narrow.low < narrow.high < wide.high
