"""The sentences that keep a reader from believing too much."""

import numpy as np
import pytest

from tests.trainer.comparison.trainings import a_training
from tests.wording import says
from trainer.comparison.notes import notes, of_data, of_learning
from trainer.comparison.run_folder import Contender
from trainer.comparison.scoreboard import Scoreboard
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.outcome import Outcome
from trellis_contracts.baseline import Baseline

pytestmark = pytest.mark.usefixtures("few_resamples")

ACCURACY = CLASSIFICATION_METRICS["accuracy"]


def outcome(n, errors):
    labels = np.arange(n) % 2
    predicted = np.where(np.arange(n) < errors, 1 - labels, labels)
    return Outcome(labels, np.where(np.eye(2)[predicted] > 0, 0.9, 0.1))


def sentences(outcomes, failed=0, classes=("no", "yes")):
    """Without the note on the winner's score, which stands in every comparison."""
    found = notes(outcomes, Scoreboard(outcomes, ACCURACY), failed, None, classes)
    return [note for note in found if "same test examples" not in note]


def test_nothing_to_warn_of():
    assert sentences({"a": outcome(2000, 100), "b": outcome(2000, 300)}) == []


def test_what_the_data_were_warned_of_is_reported():
    assert of_data([]) == []
    assert of_data(["'bwt' tells the label"]) == ["The data: 'bwt' tells the label."]
    *shown, rest = of_data(list("abcde"))
    assert shown == [f"The data: {warning}." for warning in "abc"]
    assert " 2 more" in rest


def test_a_class_that_is_never_found_is_named_first():
    """33 rare cases of 1000, all missed: an accuracy of 0.967 tells nothing of it."""
    labels = (np.arange(1000) < 33).astype(int)
    never = Outcome(labels, np.tile([0.8, 0.2], (1000, 1)))
    first, *_ = sentences({"a": never}, classes=("healthy", "ill"))
    assert first == (
        "a recognizes no test example of ill (33): a recall of 0, which a high accuracy can hide."
    )


def test_a_small_split_says_what_one_example_is_worth():
    (note,) = sentences({"a": outcome(200, 20)})
    assert says(note, "200", "0.50", "accuracy")


def test_a_close_race_is_called_one():
    (note,) = sentences({"a": outcome(2000, 100), "b": outcome(2000, 101)})
    assert says(note, "accuracy", " b ", "zero")


def test_rare_classes_are_named_with_their_counts():
    common = outcome(2000, 100)
    three = np.column_stack([common.probabilities, np.zeros(2000)])
    (note,) = sentences({"a": Outcome(common.labels, three)}, classes=("no", "yes", "maybe"))
    assert says(note, "1 of 3", "10", "maybe (0)")


def test_the_winner_of_several_is_said_to_be_too_good():
    outcomes = {"a": outcome(2000, 100), "b": outcome(2000, 300), "c": outcome(2000, 400)}
    (note,) = notes(outcomes, Scoreboard(outcomes, ACCURACY), 0, None, ("no", "yes"))
    assert says(note, "a is", "winner of 3", "2 differences", "Bonferroni")


def test_trainings_that_do_not_compete_are_named_once():
    outcomes = {"training/1": outcome(2000, 300), "training/2": outcome(2000, 100)}
    scores = Scoreboard(outcomes, ACCURACY, {"training/2"})
    (note,) = notes(outcomes, scores, 0, "training/1", ("no", "yes"))
    assert says(note, "training/1", "2 trainings")


def test_failures_are_counted():
    (note,) = sentences({"a": outcome(2000, 100)}, failed=2)
    assert "2 of 3" in note


def test_what_a_baseline_was_warned_of_is_told():
    name = "baselines/bqml-linear_reg"
    scores = Scoreboard({name: outcome(2000, 100)}, ACCURACY)
    found = Baseline("bqml-linear_reg", "bqml", warnings=("ended after 20 iterations",))
    contenders = {name: Contender(name, "bqml", "gs://b/r/", baseline=found)}
    assert of_learning({}, contenders, scores, None) == [f"{name}: ended after 20 iterations."]


def test_a_training_that_competes_and_had_not_ended_is_told():
    history = [{"epoch": 1, "val_loss": 0.9}, {"epoch": 2, "val_loss": 0.6}]
    training = a_training(history=history, best_epoch=2)
    names = ("training/1", "training/2")
    contenders = {n: Contender(n, "training", "gs://b/r/", training=training) for n in names}
    outcomes = {"training/1": outcome(2000, 300), "training/2": outcome(2000, 100)}
    scores = Scoreboard(outcomes, ACCURACY, {"training/2"})
    (note,) = of_learning({}, contenders, scores, "training/1")
    assert says(note, "training/1 still became better", "its 2 epochs")
