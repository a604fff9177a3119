"""postprocessing.json, and what an answer has beside its score."""

import numpy as np
import pytest

from trainer import postprocessing
from trainer.metrics.decision import Threshold
from trellis_contracts.documents import ContractError
from trellis_contracts.postprocessing import (
    PLAIN,
    Abstention,
    Calibration,
    Conformal,
    Curve,
    Postprocessing,
)

ALL = Postprocessing(
    calibration=Calibration(
        method="isotonic", examples=300, curves={"yes": Curve((0.1, 0.9), (0.0, 1.0))}
    ),
    abstention=Abstention(0.1, 0.2),
    conformal=Conformal(coverage=0.9, examples=300, groups=40, above=0.3),
)
PROBABILITIES = np.array([[0.6, 0.4], [0.95, 0.05], [0.2, 0.8]], np.float32)


@pytest.mark.parametrize("one", [ALL, Postprocessing(abstention=Abstention(0.2, 0.5))])
def test_what_is_written_is_read(tmp_path, one):
    postprocessing.write(tmp_path, one)
    assert postprocessing.read(tmp_path) == one


def test_a_model_that_does_nothing_has_no_file(tmp_path):
    postprocessing.write(tmp_path, PLAIN)
    assert list(tmp_path.iterdir()) == []
    assert postprocessing.read(tmp_path) == PLAIN


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "postprocessing.json").write_text('{"schema": 1, "calibrate": {}}')
    with pytest.raises(ContractError, match="unknown key 'calibrate'"):
        postprocessing.read(tmp_path)


@pytest.mark.parametrize(
    ("threshold", "abstained"),
    [
        # The largest probability; the distance from 0.5 and from 0.1, of either class.
        (None, [False, False, False]),
        (Threshold(0.5), [True, False, False]),
        (Threshold(0.1), [False, True, False]),
        (Threshold(0.9, positive=0), [False, True, False]),
    ],
)
def test_what_is_near_to_the_threshold_is_handed_back(threshold, abstained):
    found = postprocessing.of_probabilities(ALL, PROBABILITIES, ("no", "yes"), threshold)
    assert [answer["abstained"] for answer in found] == abstained


def test_a_set_has_the_probable_classes_and_always_the_most_probable():
    few = Postprocessing(conformal=Conformal(coverage=0.5, examples=30, above=0.7))
    names = ("no", "yes")
    sets = [
        answer["set"] for answer in postprocessing.of_probabilities(ALL, PROBABILITIES, names, None)
    ]
    assert sets == [["no", "yes"], ["no"], ["yes"]]
    sets = [
        answer["set"] for answer in postprocessing.of_probabilities(few, PROBABILITIES, names, None)
    ]
    assert sets == [["no"], ["no"], ["yes"]]


def test_an_interval_is_around_the_value():
    made = Postprocessing(conformal=Conformal(coverage=0.9, examples=30, margin=2.5))
    found = postprocessing.of_values(made, np.array([1.0, -4.0]))
    assert [answer["interval"] for answer in found] == [[-1.5, 3.5], [-6.5, -1.5]]


def test_without_any_an_answer_has_nothing_more():
    answers = postprocessing.of_probabilities(PLAIN, PROBABILITIES, ("no", "yes"), None)
    assert [*answers, *postprocessing.of_values(PLAIN, np.zeros(2))] == [{}] * 5
