"""All values of an Arrow array arrive, in order, whatever their number."""

import pyarrow as pa
import pytest

from trainer.exporting import arrow_values
from trainer.exporting.arrow_values import one_by_one


@pytest.mark.parametrize("number", [0, 1, 3, 4, 10])
def test_values_arrive_in_order_across_blocks(monkeypatch, number):
    monkeypatch.setattr(arrow_values, "_AT_ONCE", 3)
    expected = [f"key {i}" for i in range(number)]
    # The array is a part of another one, as a shard's rows are of a range's.
    array = pa.array(["before", *expected, "after"], pa.large_string())[1:-1]
    assert list(one_by_one(array)) == expected


def test_null_is_none_and_binary_is_bytes():
    assert list(one_by_one(pa.array([b"a", None, b""], pa.large_binary()))) == [b"a", None, b""]
