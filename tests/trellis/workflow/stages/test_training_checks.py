"""Batches, shards and metrics against the splits that a run has counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.workflow.spec.machines import Machine, TrainingMachines
from trellis.workflow.stages.training_checks import Counts, _share, as_float32, judge
from trellis.workflow.validation.file import with_changes


def splits(train, validation=20, test=20):
    def halves(n):
        return Counts(n, {"a": n - n // 2, "b": n // 2})

    return {"train": halves(train), "validation": halves(validation), "test": halves(test)}


@pytest.fixture
def experiment(breast_cancer):
    """A function: the demo's experiment on a table, with some sections changed."""

    def experiment(hyperparameters=None, machines=None, search=None):
        changes = {("hyperparameters",): hyperparameters or {}}
        changes |= {("train", "machines"): machines or {}}
        changes |= {("tune", "search"): search} if search else {}
        return with_changes(breast_cancer, changes)

    return experiment


@pytest.mark.parametrize(
    ("train", "values", "machines", "named"),
    [
        (32, {}, {}, None),
        (31, {}, {}, "batch_size: up to 32, in the section `tune`"),
        (28, {"batch_size": 28}, {}, None),
        (64, {}, {"workers": 2}, None),
        (
            63,
            {},
            {"workers": 2},
            "the 63 examples of the train split, read by 2 replicas",
        ),
        (63, {}, {"gpu": "NVIDIA_TESLA_T4", "gpus": 2}, "are 31 for each: write 31 or less"),
        (63, {"batch_size": 8, "accumulation": 8}, {}, "up to 8, times accumulation 8"),
        (63, {}, {"workers": 2, "parameter_servers": {}}, None),
    ],
)
def test_a_batch_has_to_fit_into_a_replicas_share(experiment, train, values, machines, named):
    found = judge(experiment(values, machines), splits(train))
    assert [named in problem for problem in found] == ([True] if named else [])


COST = {"cost": {"missed": 10, "false_alarm": 1}}


@pytest.mark.parametrize(
    ("asked", "validation", "counts", "groups", "named"),
    [
        ({"calibrate": "temperature"}, 30, None, None, None),
        ({"calibrate": "temperature"}, 29, None, None, "calibrate: temperature needs 30 examples"),
        ({"calibrate": "isotonic"}, 200, None, None, None),
        ({"calibrate": "isotonic"}, 199, None, None, "calibrate: isotonic needs 200 examples"),
        ({"calibrate": "isotonic"}, 400, {"a": 381, "b": 19}, None, "calibrate: isotonic needs 20"),
        ({"calibrate": "isotonic"}, 400, {"a": 380, "b": 20}, None, None),
        ({"decision": COST}, 20, None, None, None),
        ({"decision": COST}, 30, {"a": 21, "b": 9}, None, "decision: a threshold is chosen among"),
        ({"decision": {"sensitivity": 0.9}}, 30, {"a": 20, "b": 10}, None, None),
        ({"decision": {"sensitivity": 0.95}}, 40, {"a": 20, "b": 20}, None, None),
        (
            {"decision": {"sensitivity": 0.95}},
            40,
            {"a": 21, "b": 19},
            None,
            "decision: a sensitivity of 0.95 is a share of at least 20 examples",
        ),
        ({"abstain": 0.1}, 10, None, None, None),
        ({"abstain": 0.1}, 9, None, None, "abstain: a share of 0.1 is one of at least 10"),
        ({"coverage": 0.9}, 9, None, None, None),
        ({"coverage": 0.9}, 8, None, None, "coverage: 0.9 needs at least 9 examples"),
        ({"coverage": 0.9}, 300, None, 9, None),
        ({"coverage": 0.9}, 300, None, 8, "coverage: 0.9 needs at least 9 groups"),
        (
            {"coverage": 0.9, "calibrate": "temperature"},
            300,
            None,
            17,
            "coverage: 0.9 needs at least 18 groups",
        ),
        (
            {"coverage": 0.9, "calibrate": "temperature"},
            59,
            None,
            None,
            "calibrate: temperature needs 30 examples",
        ),
    ],
)
def test_what_is_chosen_on_validation_needs_a_split_of_some_size(
    breast_cancer, asked, validation, counts, groups, named
):
    changed = with_changes(breast_cancer, {(name,): value for name, value in asked.items()})
    found = splits(400, validation)
    found["validation"] = Counts(validation, counts or found["validation"].classes, groups)
    problems = judge(changed, found)
    assert [problem.startswith(named or "") for problem in problems] == ([True] if named else [])


def test_the_largest_batch_of_a_search_counts(experiment):
    searched = experiment(search={"batch_size": {"choose": [8, 256]}})
    assert ["up to 256" in problem for problem in judge(searched, splits(100))] == [True]
    assert judge(searched, splits(256)) == []


def test_of_an_empty_split_nothing_more_is_reported(experiment):
    assert judge(experiment(), splits(0)) == []


@given(
    st.integers(1, 3000), st.integers(1, 40), st.integers(1, 8), st.integers(1, 4), st.booleans()
)
def test_a_share_is_no_more_than_its_part(examples, shards, workers, gpus, has_gpu):
    named = {"gpu": "NVIDIA_TESLA_T4", "gpus": gpus} if has_gpu else {}
    devices = gpus if has_gpu else 1
    share = _share(examples, shards, TrainingMachines(workers=workers, **named))
    assert share <= examples // workers // devices
    # Files that are 1 % apart are still read whole; the worker with the fewest has so much less.
    assert share >= int(0.99 * examples / workers) // devices - 1


def test_a_trial_has_one_machine():
    assert _share(100, 8, Machine()) == 100


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1e9, 1e9 + 1, True),
        (1.0, 1.0 + 2**-25, True),
        (1.0, 1.0 + 2**-22, False),
        (3.5e38, 1.0, False),
    ],
)
def test_numbers_are_compared_as_records_hold_them(one, other, same):
    assert (as_float32(one) == as_float32(other)) == same
