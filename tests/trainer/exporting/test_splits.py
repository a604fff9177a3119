"""A key's split is that of BigQuery's FARM_FINGERPRINT, whatever the key."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting import splits
from trellis_contracts.dataset import SPLITS, by_hash


def ranges_of(shares):
    return by_hash(shares).ranges


text = st.text(st.characters(exclude_categories=["Cs"]))  # lone surrogates are no UTF-8


@pytest.mark.parametrize(
    ("key", "fingerprint"),
    [
        # From the documentation of BigQuery's FARM_FINGERPRINT.
        ("1footrue", -1541654101129638711),
        ("2applefalse", 2794438866806483259),
        ("3true", -4880158226897771312),
    ],
)
def test_fingerprints_are_bigquerys(key, fingerprint):
    assert splits.fingerprints([key]).tolist() == [fingerprint]


@given(st.lists(text, min_size=1))
def test_fingerprints_are_those_of_tensorflows_farmhash(keys):
    encoded = [key.encode() for key in keys]
    # The operation takes rows of bytes and gives the fingerprint's bytes, little-endian.
    oracle = [
        tf.raw_ops.Fingerprint(data=tf.io.decode_raw([key], tf.uint8), method="farmhash64")
        .numpy()
        .view("<i8")
        .item()
        for key in encoded
    ]
    assert splits.fingerprints(keys).tolist() == oracle


@given(st.lists(text))
def test_buckets_are_those_of_the_documented_sql(keys):
    # ABS(MOD(x, 100)): SQL's MOD has the sign of the dividend, so this is |x| modulo 100.
    expected = [abs(value) % 100 for value in splits.fingerprints(keys).tolist()]
    assert splits.buckets(keys).tolist() == expected


def test_known_keys_keep_their_bucket_for_ever():
    keys = ["1footrue", "2applefalse", "3true", "digits/images/0000.png", "été/猫.jpg", ""]
    assert splits.buckets(keys).tolist() == [11, 59, 12, 77, 0, 53]


@given(st.lists(text, unique=True), st.randoms())
def test_a_split_depends_on_the_key_alone(keys, random):
    ranges = ranges_of((80, 10, 10))
    together = dict(zip(keys, splits.assign(keys, ranges).tolist(), strict=True))
    random.shuffle(keys)
    assert {key: splits.assign([key], ranges).item() for key in keys} == together


@given(st.tuples(st.integers(1, 98), st.integers(1, 98)).filter(lambda p: sum(p) < 100))
def test_shares_are_as_asked(percents):
    fractions = (*percents, 100 - sum(percents))
    keys = [f"images/{i:05d}.png" for i in range(5000)]
    assigned = splits.assign(keys, ranges_of(fractions))
    shares = np.bincount(assigned, minlength=3) / len(keys)
    # Five standard deviations of a binomial share.
    assert np.abs(shares - np.array(fractions) / 100).max() < 5 * np.sqrt(0.25 / len(keys))


def test_ranges_are_half_open_and_cover_all_buckets():
    ranges = ranges_of((70, 20, 10))
    assert ranges == {"train": (0, 70), "validation": (70, 90), "test": (90, 100)}
    keys = [str(i) for i in range(1000)]
    for bucket, index in zip(splits.buckets(keys), splits.assign(keys, ranges), strict=True):
        start, end = ranges[SPLITS[index]]
        assert start <= bucket < end
