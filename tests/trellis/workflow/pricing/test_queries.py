"""Bytes that BigQuery may bill for, and the limit of each query job."""

from hypothesis import given
from hypothesis import strategies as st

from trellis.workflow.pricing import cost, queries

MIB = 2**20


@given(st.integers(0, 2**50), st.integers(0, 5), st.none() | st.integers(0, 2**40))
def test_a_query_is_billed_for_ten_mebibytes_of_each_table_at_least(read, tables, rows):
    planned = queries.planned(read, tables, rows)
    assert planned >= 10 * MIB * tables
    assert planned >= read
    assert cost.scan(planned, None) <= cost.billed(planned, None)


def test_frozen_rows_have_their_key_and_split_beside_what_was_read():
    # A million rows of one number: the snapshot is larger than what it was made of.
    assert queries.planned(8_000_000, 1, 1_000_000) > 8_000_000 + 1_000_000 * 40
    assert queries.planned(8_000_000_000, 1, None) > 2 * 8_000_000_000


def test_a_job_is_limited_to_its_reads():
    assert queries.limit(50 * MIB, 3) == {"maximumBytesBilled": str(150 * MIB)}
    assert queries.limit(0) == {"maximumBytesBilled": str(10 * MIB)}
    assert queries.limit(None) == {}
