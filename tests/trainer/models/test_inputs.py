"""Inputs that models make of a row's features."""

import dataclasses
import datetime
import functools
import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer import models
from trainer.models.inputs import (
    Calendar,
    Elements,
    OfSeen,
    Standardization,
    Summary,
    Together,
)
from trellis_contracts.dataset import Counts, DatasetDescription, Split
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    NULL_TIMESTAMP,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    Feature,
    Label,
    Statistics,
    TermStatistics,
)
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.models import MODELS

OF_TABLES = [name for name, model in MODELS.items() if "table" in model.inputs]

DAY = 24 * 3600
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


def statistics(mean=0.0, stddev=1.0, missing=0, count=100, **changed):
    known = {"min": mean - 3 * stddev, "max": mean + 3 * stddev, "quantiles": ()} | changed
    return Statistics(count, missing, mean, stddev, **known)


def number(**known):
    return Feature("x", NUMERIC, "float32", column="x", index=0, statistics=statistics(**known))


def time(**known):
    return Feature("t", TIMESTAMP, "int64", column="t", index=0, statistics=statistics(**known))


def a_table(**changed):
    """A dataset with features of every kind."""
    lengths = {"min_length": 0, "max_length": 5, "mean_length": 2.0}
    features = (
        number(mean=10.0, stddev=2.0, missing=3),
        Feature("b", BOOLEAN, "float32", column="b", index=1, statistics=statistics()),
        Feature(
            "c",
            CATEGORICAL,
            "int64",
            column="c",
            index=0,
            vocabulary=("a", "b"),
            statistics=TermStatistics(9, 1, 0, (5, 4)),
        ),
        time(mean=1e9, stddev=1e6),
        Feature(
            "s",
            SEQUENCE,
            "float32",
            shape=(None,),
            column="s",
            statistics=statistics(**lengths),
        ),
    )
    fields = {
        "fingerprint": "f",
        "source": {},
        "split": Split("column ML_USE"),
        "features": features,
        "classes": ("no", "yes"),
        "counts": dict.fromkeys(("train", "validation", "test"), Counts(2, {"no": 1, "yes": 1})),
        "files": {},
        "rejected": 0,
        "task": "binary_classification",
    }
    return DatasetDescription(**(fields | changed))


def rows(sequence=((1.0, 2.0), (0.5, math.nan))):
    return {
        "numeric": np.array([[12.0, 1.0], [math.nan, 0.0]], np.float32),
        "categorical": np.array([[2], [0]]),
        "timestamp": np.array([[10**15], [NULL_TIMESTAMP]]),
        "sequence_s": np.array(sequence, np.float32),
    }


def test_numbers_are_standardized_and_null_is_the_mean_with_a_flag():
    layer = Standardization([number(mean=10.0, stddev=2.0, missing=7), number(mean=-1.0)])
    values = layer(np.array([[14, 0], [math.nan, math.nan]], np.float32)).numpy()
    np.testing.assert_allclose(values, [[2, 1, 0], [0, 0, 1]])


def test_a_mean_far_above_the_spread_costs_no_precision():
    layer = Standardization([number(mean=16_777_214.3, stddev=0.5)])
    values = layer(np.array([[16_777_215.0], [16_777_214.0]], np.float32)).numpy()
    np.testing.assert_allclose(values, [[1.4], [-0.6]], rtol=1e-5)


def test_what_is_far_out_is_drawn_in_and_stays_in_order():
    values = np.array([-1e30, -11, -10, -9, 0, 10, 10.001, 1e5], np.float32)
    tamed = Standardization([number()])(values[:, np.newaxis]).numpy()[:, 0]
    np.testing.assert_array_equal(tamed[2:6], [-10, -9, 0, 10])
    assert (np.diff(tamed) > 0).all()
    assert np.abs(tamed).max() < 100


@pytest.mark.parametrize(
    "known",
    [{"mean": 5.0, "stddev": 1e-17, "min": 5.0, "max": 5.0}, {"count": 0, "stddev": 0.0}],
    ids=["constant", "never there"],
)
def test_a_feature_without_spread_is_harmless(known):
    values = Standardization([number(**known)])(np.array([[5.0], [math.nan]], np.float32))
    assert np.abs(values).max() <= 5


@given(
    st.lists(
        st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=30)
def test_the_calendar_agrees_with_pythons(times):
    ticks = np.array([[(time - EPOCH) // MICROSECOND] for time in times])
    age, *cycles = Calendar([time(mean=1e9, stddev=1e11)])(ticks).numpy().T
    seconds = ticks[:, 0] / 1e6
    np.testing.assert_allclose(age, (seconds - 1e9) / 1e11, rtol=1e-6, atol=1e-6)
    of_day = np.array([(t - t.replace(hour=0, minute=0, second=0, microsecond=0)) for t in times])
    day = 2 * math.pi * np.array([part.total_seconds() for part in of_day]) / DAY
    week = 2 * math.pi * np.array([t.weekday() for t in times]) / 7
    expected = [np.sin(day), np.cos(day), np.sin(week), np.cos(week)]
    np.testing.assert_allclose(cycles, expected, atol=2e-6)


def test_a_microsecond_is_seen_where_times_lie_close():
    start = (datetime.datetime(2026, 1, 1) - EPOCH) // MICROSECOND
    layer = Calendar([time(mean=start / 1e6, stddev=1e-6)])
    ages = layer(np.array([[start], [start + 1]])).numpy()[:, 0]
    np.testing.assert_allclose(ages, [0, 1], atol=1e-6)


def test_a_time_that_is_not_there_is_the_centre_of_all_circles():
    values = Calendar([time(mean=1e9, missing=1)])(np.array([[NULL_TIMESTAMP]]))
    np.testing.assert_array_equal(values, [[0, 0, 0, 0, 0, 1]])


sequences = st.lists(
    st.lists(st.floats(-100, 100, width=32) | st.just(math.nan), max_size=6),
    min_size=1,
    max_size=4,
)


@given(sequences, st.integers(0, 3))
@settings(max_examples=40)
def test_a_sequence_is_summed_up_whatever_it_is_padded_with(lists, more):
    limit = 4
    width = max(map(len, lists)) + more
    padded = np.array([[*one, *[math.nan] * (width - len(one))] for one in lists], np.float32)
    feature = Feature("s", SEQUENCE, "float32", statistics=statistics(mean=3.0, stddev=20.0))
    values, mask = Elements(feature, limit)(padded.reshape(len(lists), width))
    summary = Summary(limit)(values, mask).numpy()
    for one, found in zip(lists, summary, strict=True):
        there = (np.array([v for v in one[:limit] if not math.isnan(v)]) - 3) / 20
        expected = [0, 0, 0, 0]
        if len(there):
            length = math.log1p(len(there)) / math.log1p(limit)
            expected = [there.mean(), there.std(), there.max(), length]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def built():
    """A function: name, hyperparameters -> the model for `a_table`, built once."""

    @functools.cache
    def built(name, **variant):
        return models.build(name, a_table(), Hyperparameters(**variant))

    return built


@pytest.mark.parametrize("name", OF_TABLES)
def test_rows_in_logits_out(built, name):
    model = built(name)
    assert model(rows()).shape == (2, 2)
    assert len(model.weights) == len(model.trainable_weights)


@pytest.mark.parametrize("name", OF_TABLES)
def test_a_regression_has_one_output(name):
    table = a_table(
        task="regression", classes=(), label=Label("y", "float32", "y", statistics(mean=2.0))
    )
    assert models.build(name, table, Hyperparameters())(rows()).shape == (2, 1)


# Each kind is left out of one model at least, and sequences of every model that does not need them.
LACKING = [
    ("dense", SEQUENCE),
    ("dense", BOOLEAN),
    ("residual", SEQUENCE),
    ("residual", CATEGORICAL),
    ("wide_and_deep", SEQUENCE),
    ("wide_and_deep", TIMESTAMP),
    ("recurrent", CATEGORICAL),
    ("transformer", BOOLEAN),
]


@pytest.mark.parametrize(("name", "kind"), LACKING)
def test_a_dataset_may_lack_any_kind(name, kind):
    table = a_table()
    left = tuple(feature for feature in table.features if feature.kind != kind)
    inputs = rows()
    if kind == BOOLEAN:
        inputs["numeric"] = inputs["numeric"][:, :1]
    else:
        inputs.pop({SEQUENCE: "sequence_s"}.get(kind, kind))
    assert models.build(name, a_table(features=left), Hyperparameters())(inputs).shape == (2, 2)


VARIANTS = [
    *[(name, {}) for name in OF_TABLES],
    ("recurrent", {"cell": "lstm", "bidirectional": True}),
]


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_an_example_is_the_same_whatever_else_is_in_its_batch(built, name, variant):
    model = built(name, **variant)
    short = model(rows([[1, 2], [math.nan, math.nan]])).numpy()
    padded = model(rows([[1, 2, *[math.nan] * 9], [math.nan] * 11])).numpy()
    np.testing.assert_allclose(short, padded, atol=1e-6)
    one = {name: value[1:, :0] if "seq" in name else value[1:] for name, value in rows().items()}
    np.testing.assert_allclose(model(one).numpy(), short[1:], atol=1e-6)
    gaps = model(rows([[math.nan, 1, math.nan, 2], [math.nan] * 4])).numpy()
    np.testing.assert_allclose(gaps, short, atol=1e-6)


@pytest.mark.parametrize("name", OF_TABLES)
def test_only_models_for_sequences_see_the_order(built, name):
    forth, back = rows([[1, 2, 3], [3, 1, 2]]), rows([[3, 2, 1], [2, 1, 3]])
    model = built(name)
    difference = np.abs(model(forth) - model(back)).max()
    assert difference > 1e-3 if MODELS[name].needs == SEQUENCE else difference < 1e-6


def test_codes_that_training_never_sees_are_told_apart_by_nothing():
    """Neither NULL nor an unknown term occurs in this train split; two known terms do."""
    (known,) = (feature for feature in a_table().features if feature.kind == CATEGORICAL)
    known = dataclasses.replace(known, statistics=TermStatistics(10, 0, 0, (5, 5)))
    model = models.build("dense", a_table(features=(known,)), Hyperparameters())
    null, unknown, *terms = (
        float(model({"categorical": np.array([[code]])})[0, 0]) for code in range(4)
    )
    assert null == unknown
    assert len({null, *terms}) == 3


def test_a_text_is_the_same_whatever_else_is_in_its_batch():
    note = Feature("n", TEXT, "string", column="n", statistics=statistics())
    model = models.build("dense", a_table(features=(note,)), Hyperparameters())
    alone = model({"text_n": np.array([[7, 9]])}).numpy()
    padded, other, empty = model(
        {"text_n": np.array([[7, 9, 0, 0], [7, 8, 9, 1], [0] * 4])}
    ).numpy()
    np.testing.assert_allclose(padded, alone[0], atol=1e-6)
    assert np.abs(other - padded).max() > 1e-6
    np.testing.assert_allclose(empty, model({"text_n": np.zeros((1, 0), int)})[0], atol=1e-6)


def test_sequences_together_are_what_stands_at_the_same_place():
    short, long = np.array([[1.0, 2.0]]), np.array([[5.0, 0.0, 7.0]])
    values, mask = Together()(
        [short[..., None].astype(np.float32), long[..., None].astype(np.float32)],
        [np.array([[True, True]]), np.array([[True, False, False]])],
    )
    # Of each its elements, then of each whether there is none.
    np.testing.assert_array_equal(values[0], [[1, 5, 0, 0], [2, 0, 0, 1], [0, 7, 1, 1]])
    np.testing.assert_array_equal(mask, [[True, True, False]])


@pytest.mark.parametrize("name", ["dense", "residual", "wide_and_deep"])
def test_categories_alone_are_learned_from(name):
    """With zeros as first values of all terms, no gradient would reach them."""
    keras.utils.set_random_seed(1)
    categories = [feature for feature in a_table().features if feature.kind == CATEGORICAL]
    model = models.build(name, a_table(features=tuple(categories)), Hyperparameters())
    with tf.GradientTape() as tape:
        logits = model({"categorical": np.array([[2], [3]])}, training=True)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1], logits)
    terms = next(w for w in model.trainable_weights if w.path.startswith("terms"))
    gradient = tf.convert_to_tensor(tape.gradient(loss, terms))
    assert np.abs(gradient).max() > 0


def test_a_code_that_training_has_not_seen_has_no_effect():
    start = OfSeen([False, True])((2, 4))
    assert np.abs(start[0]).max() == 0 < np.abs(start[1]).min()
