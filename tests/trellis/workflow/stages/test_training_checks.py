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
