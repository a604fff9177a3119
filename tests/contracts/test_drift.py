"""Drift between two datasets: nothing where nothing moved, found where something did."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon
from sklearn.datasets import load_breast_cancer

from tests.contracts.datasets import IMAGE, categorical, dataset, numeric
from trellis_contracts import drift
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.drift import divergence


def measure(before, now):
    """Drift between the contents of two dataset.json."""
    return drift.measure(*map(DatasetDescription.from_document, (before, now)))


def normal(seed, mean=0.0, stddev=1.0, count=1000):
    source = random.Random(seed)
    return [source.gauss(mean, stddev) for _ in range(count)]


def moved(before, now, examples=None):
    """The drift of the one feature."""
    (_, found) = measure(dataset(before, examples=examples), dataset(now, examples=examples))
    return found


def test_equal_datasets_have_not_moved():
    features = [
        numeric("x", normal(1)),
        numeric("s", normal(2), kind="sequence"),
        numeric("f", [0.0, 1.0] * 500, kind="boolean"),
        numeric("t", normal(3), kind="timestamp"),
        categorical("c", "aab" * 300),
        IMAGE,
    ]
    same = dataset(*features)
    found = {one.name: one.level() for one in measure(same, same)}
    assert found == {
        "y": "within chance",
        "x": "within chance",
        "s": "within chance",
        "f": "within chance",
        "t": None,
        "c": "within chance",
        "image": None,
    }


def test_of_a_column_of_images_only_its_presence_is_compared():
    photo = IMAGE | {"name": "photo", "column": "photo"}
    age = numeric("age", normal(1))
    (_, *found) = measure(dataset(age, photo), dataset(age, photo))
    assert [(one.name, one.level()) for one in found] == [("age", "within chance"), ("photo", None)]
    assert "pixels" in found[1].remark
    (_, _, gone) = measure(dataset(age, photo), dataset(age))
    assert (gone.name, gone.remark) == ("photo", "no longer there")
    (_, changed) = measure(dataset(photo), dataset(categorical("photo", "aab" * 300)))
    assert changed.remark == "was image before"


def test_a_shift_by_one_standard_deviation_is_found_and_measured():
    found = moved(numeric("x", normal(1, 5, 2)), numeric("x", normal(2, 7, 2)))
    assert found.level() == "large"
    assert found.shift.value == pytest.approx(1.0, abs=0.1)


def test_the_divergence_of_two_normal_distributions():
    """The divergence of N(0, 1) and N(1, 1) is 0.160 bits by numerical integration; bins lose a
    little.
    """
    one, two = (numeric("x", normal(s, s - 1, count=20000))["statistics"] for s in (1, 2))
    found, bins = divergence(one["quantiles"], two["quantiles"])
    assert found == pytest.approx(0.160, rel=0.05)
    assert bins == 19


def halves():
    """Each of the 30 numbers of scikit-learn's breast cancer data: of benign samples, and of
    malignant ones.
    """
    data = load_breast_cancer()
    for column in data.data.T:
        yield column[data.target == 1], column[data.target == 0]


def test_scipy_has_the_same_divergence():
    """It is given the shares between the deciles, by NumPy's interpolation; and the rows themselves
    in these bins, of which 21 quantiles keep most.
    """
    for one, two in halves():
        of_both = [np.quantile(values, np.linspace(0, 1, 21)) for values in (one, two)]
        ours, _ = divergence(*(quantiles.tolist() for quantiles in of_both))
        edges = np.unique([quantiles[2:-1:2] for quantiles in of_both])
        upto = [np.interp(edges, q, np.linspace(0, 1, 21), left=0, right=1) for q in of_both]
        shares = [np.diff(one, prepend=0, append=1) for one in upto]
        if all(len(np.unique(quantiles)) == 21 for quantiles in of_both):  # no jump
            assert ours == pytest.approx(jensenshannon(*shares, base=2) ** 2, rel=1e-9)
        bins = [
            np.bincount(np.searchsorted(edges, v), minlength=len(edges) + 1) for v in (one, two)
        ]
        assert ours == pytest.approx(jensenshannon(*bins, base=2) ** 2, abs=0.04)


def test_tensorflow_data_validation_has_the_same_distances():
    """The examples of its own tests, and what they expect (anomalies/metrics_test.cc)."""
    one, two = np.linspace(1, 3, 21), np.linspace(2, 6, 21)
    # Its bins end where a distribution ends; ours are deciles, which lose a twentieth of that.
    assert divergence(one.tolist(), two.tolist())[0] == pytest.approx(0.65563906222, rel=0.05)
    # The last tenth of one and the first of the other are in one bin.
    apart = [*np.linspace(3, 4, 11), *np.linspace(4.2, 6, 10)]
    assert divergence(np.linspace(0, 2, 21).tolist(), apart)[0] == pytest.approx(1, abs=0.1)
    hello = moved(categorical("c", "h" * 100 + "w" * 900), categorical("c", "h" * 300 + "w" * 700))
    assert abs(hello.distance.value) == pytest.approx(0.2, abs=1e-5)
    before, now = categorical("c", "b" * 900 + "c" * 100), categorical("c", "a" * 300 + "b" * 700)
    for one, two in ((before, now), (now, before)):
        assert abs(moved(one, two).distance.value) == pytest.approx(0.3, abs=1e-5)


@pytest.mark.parametrize(("before", "now"), [(120, 150), (120, 175), (300, 381), (5, 16), (5, 22)])
def test_scipy_accuses_the_same_shares(before, now):
    """Pearson's test of two shares of 1,000 rows, without a correction, at 0.1 %."""
    found = moved(
        numeric("x", normal(1, count=1000 - before), missing=before),
        numeric("x", normal(1, count=1000 - now), missing=now),
    ).missing
    table = [[before, 1000 - before], [now, 1000 - now]]
    assert found.beyond(0) == (stats.chi2_contingency(table, correction=False).pvalue < 0.001)


@pytest.mark.parametrize(("column", "rows"), [("age", 60), ("age", 90)])
def test_scipy_accuses_the_same_means(column, rows):
    """A shift by half a standard deviation is one of chance of 60 rows, and not of 90; SciPy's
    test has the quantiles of Student's t, which are near the normal ones.
    """
    one, two = normal(1, count=rows), normal(2, mean=0.55, count=rows)
    found = moved(numeric(column, one), numeric(column, two)).shift
    assert found.beyond(0) == (stats.ttest_ind(one, two, equal_var=False).pvalue < 0.001)


@pytest.mark.parametrize("values", [5, 8, 1000])
def test_the_chance_of_a_divergence_is_scipys(values):
    """The 99.9 % quantile of chi-squared, by Wilson and Hilferty's approximation: twice the sample
    sizes' harmonic mean times the divergence in nats, of one population, has that distribution.
    """
    one, two = [float(n % values) for n in range(400)], [float(n % values) for n in range(800)]
    found = moved(numeric("x", one), numeric("x", two)).distance
    _, bins = divergence(*(numeric("x", of)["statistics"]["quantiles"] for of in (one, two)))
    known = stats.chi2.ppf(0.999, bins - 1)
    assert found.chance * math.log(2) * 8 / (1 / 400 + 1 / 800) == pytest.approx(known, rel=0.02)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 3))
@settings(max_examples=60)
def test_the_divergence_is_a_distance_between_quantiles(values, factor):
    """It is zero from itself, at most one bit, and equal in both directions and at every scale."""
    one = numeric("x", [float(v) for v in values])["statistics"]["quantiles"]
    two = numeric("x", [v * v / 3 for v in values])["statistics"]["quantiles"]
    assert divergence(one, one)[0] == pytest.approx(0, abs=1e-12)
    found = divergence(one, two)[0]
    assert -1e-12 <= found <= 1 + 1e-12
    assert divergence(two, one)[0] == pytest.approx(found)
    scaled = [[factor * q for q in quantiles] for quantiles in (one, two)]
    assert divergence(*scaled)[0] == pytest.approx(found)


def test_two_samples_of_one_population_are_not_accused():
    found = [
        moved(
            numeric("x", normal(2 * i, count=150)), numeric("x", normal(2 * i + 1, count=150)), 150
        )
        for i in range(300)
    ]
    assert sum(one.level({"numbers": 0.0}) != "within chance" for one in found) <= 3
    # By chance alone they are well apart: a fixed limit would have to be far above this.
    assert sum(one.distance.value for one in found) / 300 > 0.005


def test_a_value_that_fills_many_quantiles_is_one_bin():
    zeros = [0.0] * 700 + [float(n) for n in range(1, 301)]
    assert moved(numeric("x", zeros), numeric("x", zeros)).distance.value == pytest.approx(0)
    fewer = [0.0] * 400 + [n / 2 for n in range(1, 601)]
    found = moved(numeric("x", zeros), numeric("x", fewer)).distance
    # Of 0.7 and 0.4 at 0, and otherwise apart where both have values: near 0.07 bits.
    assert found.chance < found.value < 0.15


def test_missing_values_have_a_share_of_their_own():
    found = moved(numeric("x", normal(1)), numeric("x", normal(1, count=800), missing=200))
    assert (found.missing.before, found.missing.now) == (0, 0.2)
    assert found.missing.beyond(0.1)
    assert not found.missing.beyond(0.2)


def test_categories_that_came_and_went_are_named_where_the_vocabularies_are_whole():
    found = moved(categorical("c", "ab" * 500), categorical("c", "ax" * 500))
    assert (found.came, found.went) == (["x"], ["b"])
    assert abs(found.distance.value) == pytest.approx(0.5)
    cut = categorical("c", "a" * 500 + "b" * 300 + "z" * 200, keep=2)
    assert moved(cut, categorical("c", "ax" * 500)).came == []


def test_classes_that_came_and_went_are_named():
    (label, _) = measure(
        dataset(IMAGE, classes={"no": 600, "yes": 400}),
        dataset(IMAGE, classes={"no": 500, "maybe": 500}),
    )
    assert (label.name, label.kind, label.came, label.went) == ("y", "label", ["maybe"], ["yes"])


def test_a_regressions_label_is_measured_as_numbers():
    (label,) = measure(dataset(label=normal(1)), dataset(label=normal(2, mean=1)))
    assert label.shift.value == pytest.approx(1, abs=0.15)


def test_features_that_only_one_has_or_that_changed_kind_are_not_measured():
    x = numeric("x", normal(1))
    before = dataset(numeric("gone", [1.0]), x, numeric("k", [1.0, 2.0]))
    now = dataset(numeric("new", [1.0]), x, categorical("k", "ab"))
    remarks = {one.name: one.remark for one in measure(before, now)[1:]}
    assert remarks == {"gone": "no longer there", "x": "", "new": "new", "k": "was numeric before"}


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50),
)
@settings(max_examples=100)
def test_a_distance_is_at_most_one(before, now):
    found = moved(numeric("x", before), numeric("x", now))
    assert 0 <= found.distance.value <= 1 + 1e-9
    assert not math.isnan(found.shift.value)
