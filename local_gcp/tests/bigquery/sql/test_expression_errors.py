# ruff: noqa: E501 - a case is a line
"""Expressions that BigQuery refuses, and those that are not emulated."""

import pytest


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 / 0", "division by zero: 1 / 0"),
        ("DIV(7, 0)", "division by zero: 7 / 0"),
        ("MOD(7, 0)", "division by zero: MOD(7, 0)"),
        ("NUMERIC '1' / 0", "division by zero: 1 / 0"),
        ("9223372036854775807 + 1", "int64 overflow: 9223372036854775807 + 1"),
        ("9223372036854775807 * 2", "int64 overflow: 9223372036854775807 * 2"),
        ("CAST('1.5' AS INT64)", "Bad int64 value: 1.5"),
        ("CAST('x' AS FLOAT64)", "Bad double value: x"),
        ("CAST('t' AS BOOL)", "Bad bool value: t"),
        ("PARSE_DATE('%Y-%m-%d', '2024')", 'Failed to parse input string "2024"'),
        ("[1, 2][OFFSET(2)]", "Array index 2 is out of bounds"),
        ("SQRT(-1)", "Floating point error in function: SQRT(-1)"),
        ("(SELECT x FROM UNNEST([1, 2]) AS x)", "Scalar subquery produced more than one element"),
        ("[1, NULL]", "Array cannot have a null element; error in writing field f0_"),
        ("DATE(2024, 2, 30)", "Date out of range: 2024-2-30"),
        ("LEFT('a', -1)", "Second argument in LEFT() must be non-negative"),
        ("ASCII('é')", "Non-ASCII character: é"),
        ("CAST('24:00:00' AS TIME)", 'Invalid time string "24:00:00"'),
        (
            "CAST('2006-01-02 01:02:03 UTC' AS DATETIME)",
            'Invalid datetime string "2006-01-02 01:02:03 UTC"',
        ),
        (
            "GENERATE_DATE_ARRAY('2016-01-01', '2017-01-01', INTERVAL 0 DAY)",
            "Sequence step cannot be 0.",
        ),
        ("STRING(JSON '123')", "The provided JSON input is not a string"),
        ("BOOL(JSON '\"true\"')", "The provided JSON input is not a boolean"),
        ("INT64(JSON '\"4\"')", "The provided JSON input is not an integer"),
        ("INT64(JSON '10.1')", "The provided JSON number: 10.1 cannot be converted to an int64"),
        ("JSON_QUERY(JSON '{\"a\": 1}', 'a')", "JSONPath must start with '$'"),
        ("JSON_VALUE('{\"a\": 1}', 'lax $.a')", "JSONPath must start with '$'"),
    ],
)
def test_error_at_run_time(shared, expression, message):
    error = shared.error(f"SELECT {expression}")
    assert (error.reason, error.message) == ("invalidQuery", message)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 + 'a'", "No matching signature for operator + for argument types: INT64, STRING"),
        ("1 = 'a'", "No matching signature for operator = for argument types: INT64, STRING"),
        ("UPPER(1)", "No matching signature for function UPPER for argument types: INT64"),
        ("CONCAT('a', b'b')", "No matching signature for function CONCAT for argument types: STRING, BYTES"),
        ("CONCAT('a', [1])", "No matching signature for function CONCAT for argument types: STRING, ARRAY<INT64>"),
        ("LOWR('a')", "Function not found: LOWR; Did you mean lower?"),
        ("[1] = [1]", "Equality is not defined for arguments of type ARRAY<INT64>"),
        ("CAST(DATE '2024-01-01' AS INT64)", "Invalid cast from DATE to INT64"),
        ("COALESCE(1, 'a')",
         "No matching signature for function COALESCE for argument types: INT64, STRING"),
        ("STRUCT(1 AS a).b", "Field name b does not exist in STRUCT<a INT64>"),
        ("DATE_ADD(DATE '2024-01-01', INTERVAL 1 HOUR)",
         "DATE_ADD does not support the HOUR date part for DATE"),
        ("9223372036854775808", "Invalid integer literal: 9223372036854775808"),
        ("ROW_NUMBER()", "Analytic function ROW_NUMBER cannot be called without an OVER clause"),
        ("IF(1, 2, 3)", "First argument of IF should return type BOOL, but returns INT64"),
    ],
)  # fmt: skip
def test_error_of_types(shared, expression, message):
    error = shared.error(f"SELECT {expression}")
    assert error.reason == "invalidQuery"
    assert error.message.rpartition(" at [")[0] == message


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("INITCAP('a')", "function INITCAP"),
        ("NET.HOST('a')", "NET"),
        ("@@project_id", "system variable @@project_id"),
        ("INTERVAL 1 DAY", "INTERVAL values"),
        ("TIMESTAMP '2024-01-01' - TIMESTAMP '2024-01-01'", "differences as INTERVAL"),
        ("CAST(1 AS BIGNUMERIC)", "BIGNUMERIC"),
        ("CAST('a' AS STRING(3))", "parameterized type"),
        ("CAST('a' AS STRING COLLATE 'und:ci')", "types with COLLATE"),
        ("CAST(STRUCT('a') AS STRUCT<a STRING COLLATE 'und:ci'>)", "types with COLLATE 'und:ci'"),
        ("FORMAT_DATE(x, DATE '2024-01-01')", "format that is not a literal"),
        ("PARSE_DATE('%m-%d', '01-02')", "format without a year"),
        ("POW(NUMERIC '2', NUMERIC '2')", "POW of NUMERIC"),
        ("x LIKE ANY ('a', 'b')", "LIKE ANY"),
    ],
)
def test_not_emulated_by_name(shared, expression, name):
    error = shared.error(f"SELECT {expression} FROM UNNEST(['a']) AS x")
    assert error.reason == "notImplemented"
    assert name in error.message
