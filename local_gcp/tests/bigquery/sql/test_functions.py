"""Calls of every function with odd arguments: an answer, BigQuery's error, or a refusal by name."""

import pytest

from local_gcp.bigquery import sql
from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.sql import Settings, functions

ODD = [
    "1", "'a'", "NULL", "[1]", "DATE '9999-12-31'", "STRUCT(1 AS a)", "1.5", "b'x'", "DAY", "*",
    "TIMESTAMP '0001-01-01 00:00:00'", "JSON '1'", "INTERVAL 1 DAY",
]  # fmt: skip
DOCUMENTED = [
    "AEAD.ENCRYPT", "AGG", "AI.GENERATE", "BOOL_ARRAY", "CHANGES", "DETERMINISTIC_ENCRYPT",
    "DLP_DETERMINISTIC_ENCRYPT", "EXTERNAL_QUERY", "GAP_FILL", "GENERATE_RANGE_ARRAY",
    "HPARAM_CANDIDATES", "HPARAM_RANGE", "ISERROR", "JSON_ARRAY_APPEND", "JSON_FLATTEN",
    "KEYS.NEW_KEYSET", "LAX_INT64_ARRAY", "ML.NGRAMS", "NET.HOST", "RANGE_START",
    "S2_CELLIDFROMPOINT", "ST_AREA", "ST_X", "STRING_ARRAY", "TIMESTAMP_FROM_UNIX_SECONDS",
    "VECTOR_SEARCH",
]  # fmt: skip


def translated(warehouse, text):
    try:
        sql.translate(text, warehouse, Settings("p"))
    except BigQueryError as error:
        return error
    return None


@pytest.mark.parametrize("name", sorted(functions.KNOWN))
def test_no_arguments_break_a_translation(shared, name):
    calls = [(), *((a,) for a in ODD), *((a, b) for a in ODD for b in ("1", a))]
    calls += [(a, b, "1") for a, b in zip(ODD, [*ODD[1:], "1"], strict=True)]
    for arguments in calls:
        error = translated(shared, f"SELECT {name}({', '.join(arguments)})")
        assert error is None or error.reason in ("invalidQuery", "notImplemented")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_function_that_bigquery_has_is_never_one_that_it_does_not_find(shared, name):
    for arguments in ("", "'a'", "1, 2"):
        error = translated(shared, f"SELECT {name}({arguments})")
        assert error is None or "not found" not in error.message, error.message


def test_one_that_nobody_has_is_not_found(shared):
    assert "Function not found: frobnicate" in translated(shared, "SELECT frobnicate(1)").message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("INVALID", "invalidQuery"),
        ("FROB 1", "invalidQuery"),
        ("CREATE TEMP TABLE t (x INT64)", "notImplemented"),
        ("CALL d.p()", "notImplemented"),
        ("GRANT `roles/x` ON SCHEMA d TO 'user:a@b.c'", "notImplemented"),
    ],
)
def test_a_wrong_statement_is_the_user_s_and_a_missing_one_is_ours(shared, text, reason):
    error = translated(shared, text)
    assert error.reason == reason, error.message
