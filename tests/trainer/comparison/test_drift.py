"""Drift between two descriptions: nothing where nothing moved, found where something did."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.table_run import categorical, numeric, some_features, statistics
from trainer.comparison.drift import drift
from trainer.dataset_description import Counts, DatasetDescription, Split
from trainer.dataset_features import Label

LABEL = Label("label", "int64", "malignant")


def dataset(*features, rows=1000, classes=(600, 400), names=("no", "yes"), label=LABEL, task=None):
    by_class = dict(zip(names, classes, strict=True))
    return DatasetDescription(
        fingerprint="f00d",
        task=task or "binary_classification",
        source={},
        split=Split("FARM_FINGERPRINT(key) mod 100"),
        features=features,
        classes=names,
        counts={split: Counts(rows, by_class) for split in ("train", "validation", "test")},
        files={"train": (), "validation": (), "test": ()},
        rejected=0,
        label=label,
    )


def moved(before, now, rows=1000):
    """The one feature's drift."""
    (_, feature) = drift(dataset(before, rows=rows), dataset(now, rows=rows))
    return feature


def test_equal_datasets_have_not_moved():
    features = some_features(np.random.default_rng(1), 1000)
    found = drift(dataset(*features), dataset(*features))
    measured = [one for one in found if one.psi is not None]
    assert len(measured) == len(features)  # all but the timestamp, and the label
    assert all(one.psi == 0 and one.level == "little" for one in measured)


def test_the_index_is_siddiqis():
    # 60 and 40 of 100 became 50 and 50: (0.6-0.5) ln(0.6/0.5) + (0.4-0.5) ln(0.4/0.5).
    expected = 0.1 * np.log(0.6 / 0.5) - 0.1 * np.log(0.4 / 0.5)
    before, now = categorical("c", {"a": 600, "b": 400}), categorical("c", {"a": 500, "b": 500})
    assert moved(before, now).psi == pytest.approx(expected)
    label, *_ = drift(dataset(classes=(600, 400)), dataset(classes=(500, 500)))
    assert label.psi == pytest.approx(expected)
    assert (label.name, label.kind) == ("malignant", "label")


def test_a_shift_by_one_standard_deviation_is_found_and_measured():
    random = np.random.default_rng(2)
    found = moved(numeric("x", random.normal(5, 2, 1000)), numeric("x", random.normal(7, 2, 1000)))
    assert found.level == "much"
    assert found.psi == pytest.approx(1.0, abs=0.25)  # of two normals: the squared shift
    assert found.shift == pytest.approx(1.0, abs=0.1)


def test_two_samples_of_one_population_are_not_accused():
    random = np.random.default_rng(3)
    psis, accused = [], 0
    for _ in range(300):
        found = moved(*(numeric("x", random.normal(size=150)) for _ in range(2)), rows=150)
        psis.append(found.psi)
        accused += found.level != "little"
    assert np.mean(psis) > 0.08  # close to the customary 0.1, by chance alone
    assert accused <= 0.03 * 300


def test_missing_values_are_a_bin_of_their_own():
    values = np.random.default_rng(4).normal(size=500)
    found = moved(numeric("x", values), numeric("x", values, missing=500))
    assert found.level == "much"
    assert found.missing == (0, 0.5)
    assert found.shift == 0


def test_a_value_that_fills_many_quantiles_is_one_bin():
    zeros = np.concatenate([np.zeros(700), np.arange(1, 301)])
    assert moved(numeric("x", zeros), numeric("x", zeros)).psi == 0
    fewer = np.concatenate([np.zeros(400), np.linspace(1, 300, 600)])
    found = moved(numeric("x", zeros), numeric("x", fewer))
    # Where the zeros end is known to a twentieth of the rows only, the quantiles' distance.
    assert found.psi == pytest.approx(0.3 * np.log(0.7 / 0.4) + 0.3 * np.log(0.6 / 0.3), rel=0.25)


def test_terms_that_came_and_went_are_named():
    found = moved(categorical("c", {"a": 500, "b": 500}), categorical("c", {"a": 500, "x": 500}))
    assert found.remark == "new: x; gone: b"
    # A vocabulary that was cut does not tell that a term is new.
    cut = categorical("c", {"a": 500, "b": 300}, other=200)
    assert moved(cut, categorical("c", {"a": 500, "x": 500})).remark == "gone: b"


def test_new_classes_are_named():
    before, now = dataset(), dataset(names=("no", "yes", "maybe"), classes=(500, 300, 200))
    label, *_ = drift(before, now)
    assert label.remark == "new: maybe"
    assert label.level == "much"


def test_features_that_only_one_has_or_that_changed_kind_stand_last():
    random = np.random.default_rng(5)
    x = numeric("x", random.normal(size=100))
    before = dataset(numeric("gone", random.normal(size=100)), x, numeric("y", [1.0, 2.0]))
    now = dataset(numeric("new", random.normal(size=100)), x, categorical("y", {"1": 2}))
    found = [(one.name, one.remark) for one in drift(before, now)[1:]]
    assert found[0] == ("x", "")
    assert sorted(found[1:]) == [
        ("gone", "no longer there"),
        ("new", "new"),
        ("y", "was numeric before"),
    ]


def test_a_regressions_label_is_measured_as_numbers():
    random = np.random.default_rng(6)
    before, now = (
        dataset(
            names=(),
            classes=(),
            task="regression",
            label=Label("label", "float32", "weight", statistics(random.normal(mean, 1, 500))),
        )
        for mean in (0, 1)
    )
    assert drift(before, now)[0].shift == pytest.approx(1, abs=0.15)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50),
)
@settings(max_examples=100, deadline=None)
def test_the_index_is_finite_and_never_negative(before, now):
    found = moved(numeric("x", before), numeric("x", now))
    assert 0 <= found.psi < 100
