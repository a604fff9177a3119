"""Reasons why a run cannot go on from the champion's weights: none if nothing has changed, and each
change by its name.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.datasets import categorical, dataset, numeric
from tests.trellis.results.a_run import epochs, metrics
from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts.layout import Run
from trellis.workflow.stages import start_checks
from trellis.workflow.validation.file import known_to, with_changes
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.training import Training
from trellis_contracts.withheld import shown, withheld

AGE, SITE = numeric("age", [30, 50]), categorical("site", "aab")


def described(*features, **others):
    return DatasetDescription.from_document(dataset(*features, **others))


def of_data(before, now):
    return [shown(text) for text in start_checks.of_data(before, now)]


def test_equal_data_with_other_values_are_no_reason():
    older = categorical("site", "aabb"[:3])
    assert of_data(described(AGE, SITE), described(numeric("age", [1, 99]), older)) == []


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ([AGE], "it needs site"),
        ([AGE, SITE, numeric("bmi", [1, 2])], "it knows no bmi"),
        ([SITE, AGE], "the features stand in another order"),
        ([categorical("age", "ab"), SITE], "feature 'age' was numeric, and is categorical"),
        ([AGE, categorical("site", "aabc")], "vocabulary of feature 'site' has changed (new: 'c')"),
        ([AGE, categorical("site", "aa")], "vocabulary of feature 'site' has changed (gone: 'b')"),
        ([AGE, categorical("site", "bba")], "of feature 'site' has changed (their order)"),
        ([numeric("age", [30, 50], missing=1), SITE], "'age' had no missing values in its train"),
    ],
)
def test_each_change_of_the_features_is_named(now, words):
    (text,) = of_data(described(AGE, SITE), described(*now))
    assert words in text


def test_terms_of_rows_stay_out_of_logs():
    (text,) = start_checks.of_data(
        described(categorical("name", "aa")), described(categorical("name", ["a", "Ada L."]))
    )
    assert "Ada L." in shown(text)
    assert "Ada L." not in withheld(text)


def test_other_classes_are_named():
    before, now = described(AGE, classes={"a": 5, "b": 5}), described(AGE, classes={"a": 5, "c": 5})
    assert of_data(before, now) == ["the classes differ (new: 'c'; gone: 'b')"]
    turned = described(AGE, classes={"b": 5, "a": 5})
    assert of_data(before, turned) == ["the classes differ (their order)"]
    assert "gone" in of_data(None, now)[0]


def test_a_value_that_the_trainer_takes_no_more_is_named(digits):
    known = known_to(digits)
    assert list(start_checks.of_values({"batch_size": 64, "optimizer": "adam"}, known)) == []
    found = list(start_checks.of_values({"batch_size": 0, "optimizer": "adagrad"}, known))
    assert found == [
        f"its batch_size is 0; expected {known['batch_size'].expected}",
        f"its optimizer is adagrad; expected {known['optimizer'].expected}",
    ]


def configured(experiment, **split):
    return {"source": {"key": getattr(experiment.source, "key", None), "split": split}}


def of_split(before, experiment):
    return list(start_checks.of_split(before, experiment))


SHARES = st.tuples(st.integers(1, 97), st.integers(1, 97)).filter(lambda s: sum(s) <= 99)


def splits_of(shares):
    """The split of each bucket 0..99, as the hash decides it."""
    train, validation = shares
    return ["train" if b < train else "validation" if b < train + validation else "test"
            for b in range(100)]  # fmt: skip


@given(SHARES, SHARES)
def test_shares_are_refused_exactly_if_a_bucket_was_learned_and_now_judges(breast_cancer, old, new):
    """By the splits of all buckets themselves, not by their edges."""
    then, now = ({"train": t, "validation": v, "test": 100 - t - v} for t, v in (old, new))
    changed = with_changes(breast_cancer, {("source", "split"): now})
    before = {"source": {"key": "sample_id", "split": then}}
    pairs = set(zip(splits_of(old), splits_of(new), strict=True))
    leaks = pairs & {("train", "validation"), ("train", "test"), ("validation", "test")}
    assert bool(of_split(before, changed)) == bool(leaks)


@pytest.mark.parametrize(
    ("validation", "test", "words"),
    [
        ("2024-03-01", "2024-04-01", None),
        ("2024-04-01", "2024-05-01", None),
        ("2024-02-01", "2024-04-01", "2024-02-01 to 2024-03-01, which are in this run's validati"),
        ("2024-03-01", "2024-03-15", "2024-03-15 to 2024-04-01, which are in this run's test spl"),
    ],
)
def test_a_split_by_time_may_move_on_but_not_back(breast_cancer, validation, test, words):
    then = {"time": "measured_on", "validation": "2024-03-01", "test": "2024-04-01"}
    now = {"time": "measured_on", "validation": validation, "test": test}
    changed = with_changes(breast_cancer, {("source", "split"): now, ("source", "partition"): None})
    found = of_split({"source": {"key": "sample_id", "split": then}}, changed)
    assert found == [] if words is None else words in found[0]


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ({"by": "patient", "train": 80, "validation": 10, "test": 10}, "divided by by: patient"),
        ({"time": "t", "validation": "2024-01-01", "test": "2024-02-01"}, "divided by time: t"),
    ],
)
def test_another_rule_is_refused(breast_cancer, then, words):
    found = of_split({"source": {"key": "sample_id", "split": then}}, breast_cancer)
    assert words in found[0]


def test_another_key_and_a_plan_that_is_gone_are_refused(breast_cancer):
    same = breast_cancer.configuration()
    assert of_split(same, breast_cancer) == []
    other = {"source": {**same["source"], "key": "visit"}}
    assert "key was visit" in of_split(other, breast_cancer)[0]
    assert "is gone" in of_split(None, breast_cancer)[0]
    folds = {**same, "train": {**same["train"], "folds": 5}}
    assert "all folds but one" in of_split(folds, breast_cancer)[0]
    strata = with_changes(breast_cancer, {("source", "split"): {"stratify": "malignant"}})
    assert "may have put" in of_split(strata.configuration(), strata)[0]


def test_another_model_task_or_file_is_refused(breast_cancer):
    plan = a_plan(breast_cancer, Run("b", "breast-cancer", "r"))
    before = Training.from_document(metrics(epochs(1)))
    assert list(start_checks.of_training(before, plan)) == []
    for changes, words in (
        ({"model": "residual"}, "its model is residual, and this run's dense"),
        ({"model_sha256": "ab"}, "dense has changed since"),
        ({"task": "regression"}, "its task is regression"),
    ):
        (text,) = start_checks.of_training(replace(before, **changes), plan)
        assert words in text
