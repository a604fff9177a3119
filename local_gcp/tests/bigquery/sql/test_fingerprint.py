"""FARM_FINGERPRINT: the split of every example hangs on it."""

import farmhash
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_gcp.bigquery.sql.macros import fingerprint

# https://cloud.google.com/bigquery/docs/reference/standard-sql/hash_functions#farm_fingerprint
DOCUMENTED = {
    b"1footrue": -1541654101129638711,
    b"2applefalse": 2794438866806483259,
    b"3true": -4880158226897771312,
}


@pytest.mark.parametrize(("data", "value"), DOCUMENTED.items())
def test_documented_values(data, value):
    assert fingerprint(data) == value


@given(st.lists(st.none() | st.text(max_size=200), max_size=30))
@settings(max_examples=30)
def test_a_column_is_hashed_value_by_value(shared, texts):
    shared.connection.execute("CREATE OR REPLACE TEMP TABLE texts (i BIGINT, x VARCHAR)")
    if texts:
        rows = [[i, text] for i, text in enumerate(texts)]
        shared.connection.executemany("INSERT INTO texts VALUES (?, ?)", rows)
    found = shared.connection.execute(
        "SELECT bq_farm_fingerprint(encode(x)) FROM texts ORDER BY i"
    ).fetchall()
    unsigned = [None if t is None else farmhash.fingerprint64(t.encode()) for t in texts]
    assert [None if v is None else v % 2**64 for (v,) in found] == unsigned
    assert all(v is None or -(2**63) <= v < 2**63 for (v,) in found)
