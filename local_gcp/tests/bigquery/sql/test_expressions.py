# ruff: noqa: E501 - a case is a line
"""Expressions and what BigQuery's documentation says they are worth: values and types.

Longer than other modules because it is one table: a line a case.
"""

import datetime as dt
import math
from decimal import Decimal

import pytest

UTC = dt.UTC


def day(text):
    return dt.date.fromisoformat(text)


def moment(text):
    """A TIMESTAMP, or a DATETIME without an offset."""
    return dt.datetime.fromisoformat(text)


# (expression, value, type): the value as Python has it.
ARITHMETIC = [
    ("1 / 2", 0.5, "FLOAT64"),
    ("7 / 2", 3.5, "FLOAT64"),
    ("2 + 3 * 4", 14, "INT64"),
    ("1 + 1.5", 2.5, "FLOAT64"),
    ("-9223372036854775808", -(2**63), "INT64"),
    ("0x1F", 31, "INT64"),
    ("DIV(20, 4)", 5, "INT64"),
    ("DIV(-7, 2)", -3, "INT64"),
    ("MOD(25, 12)", 1, "INT64"),
    ("MOD(-7, 2)", -1, "INT64"),
    ("MOD(7, -2)", 1, "INT64"),
    ("ABS(-25)", 25, "INT64"),
    ("SIGN(-25.0)", -1.0, "FLOAT64"),
    ("SAFE_DIVIDE(20, 4)", 5.0, "FLOAT64"),
    ("SAFE_DIVIDE(1, 0)", None, "FLOAT64"),
    ("IEEE_DIVIDE(25, 0)", math.inf, "FLOAT64"),
    ("SAFE_ADD(9223372036854775807, 1)", None, "INT64"),
    ("SAFE_MULTIPLY(20, 4)", 80, "INT64"),
    ("SAFE_NEGATE(-9223372036854775808)", None, "INT64"),
    ("ROUND(2.5)", 3.0, "FLOAT64"),
    ("ROUND(-2.5)", -3.0, "FLOAT64"),
    ("ROUND(123.7, -1)", 120.0, "FLOAT64"),
    ("ROUND(1.235, 2)", 1.24, "FLOAT64"),
    ("TRUNC(-2.8)", -2.0, "FLOAT64"),
    ("CEIL(2.1)", 3.0, "FLOAT64"),
    ("FLOOR(-2.1)", -3.0, "FLOAT64"),
    ("CEIL(2)", 2.0, "FLOAT64"),
    ("POW(2.0, 3.0)", 8.0, "FLOAT64"),
    ("SQRT(25.0)", 5.0, "FLOAT64"),
    ("LOG(100.0, 10.0)", 2.0, "FLOAT64"),
    ("GREATEST(3, 5, 1)", 5, "INT64"),
    ("LEAST(3, NULL, 1)", None, "INT64"),
    ("NUMERIC '1.5' + 1", Decimal("2.5"), "NUMERIC"),
    ("NUMERIC '1.5' * NUMERIC '2.25'", Decimal("3.375"), "NUMERIC"),
    ("NUMERIC '1' / 3", Decimal("0.333333333"), "NUMERIC"),
    ("NUMERIC '2' / 3", Decimal("0.666666667"), "NUMERIC"),
    ("6 & 3", 2, "INT64"),
    ("6 | 3", 7, "INT64"),
    ("6 ^ 3", 5, "INT64"),
    ("~ 0", -1, "INT64"),
    ("1 << 63", -(2**63), "INT64"),
    ("-1 >> 1", 2**63 - 1, "INT64"),
    ("BIT_COUNT(-1)", 64, "INT64"),
    ("RANGE_BUCKET(20, [0, 10, 20, 30, 40])", 3, "INT64"),
    ("RANGE_BUCKET(25, [0, 10, 20, 30, 40])", 3, "INT64"),
    ("RANGE_BUCKET(-10, [5, 10, 20, 30, 40])", 0, "INT64"),
]
CONDITIONS = [
    ("IF(1 < 2, 'a', 'b')", "a", "STRING"),
    ("IF(NULL, 1, 2)", 2, "INT64"),
    ("IFNULL(NULL, 10)", 10, "INT64"),
    ("COALESCE(NULL, 'B', 'C')", "B", "STRING"),
    ("COALESCE(1, 2.5)", 1.0, "FLOAT64"),
    ("NULLIF(0, 0)", None, "INT64"),
    ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "b", "STRING"),
    ("CASE WHEN FALSE THEN 1 END", None, "INT64"),
    ("1 IN (1, NULL)", True, "BOOL"),
    ("2 IN (1, NULL)", None, "BOOL"),
    ("2 NOT IN (1, 3)", True, "BOOL"),
    ("2 IN UNNEST([1, 2])", True, "BOOL"),
    ("2 IN UNNEST(ARRAY<INT64>[])", False, "BOOL"),
    ("NULL IS NULL", True, "BOOL"),
    ("(NULL = 1) IS NULL", True, "BOOL"),
    ("NULL IS NOT DISTINCT FROM NULL", True, "BOOL"),
    ("CAST(NULL AS BOOL) IS TRUE", False, "BOOL"),
    ("FALSE IS NOT TRUE", True, "BOOL"),
    ("3 BETWEEN 1 AND 3", True, "BOOL"),
    ("'a%c' LIKE 'a\\\\%c'", True, "BOOL"),
    ("'abc' LIKE 'a\\\\%c'", False, "BOOL"),
    ("'abc' NOT LIKE 'a_c'", False, "BOOL"),
    ("TRUE AND NULL", None, "BOOL"),
    ("FALSE AND NULL", False, "BOOL"),
    ("DATE '2024-01-01' < '2024-01-02'", True, "BOOL"),
    ("STRUCT(1, 'a') = STRUCT(1, 'a')", True, "BOOL"),
]
NOT_A_NUMBER = [
    (f"CAST('nan' AS FLOAT64) {symbol} {other}", value, "BOOL")
    for symbol, value in [("=", False), ("!=", True), ("<", False), (">", False), (">=", False)]
    for other in ("CAST('nan' AS FLOAT64)", "1.5")
] + [
    ("1.5 < CAST('nan' AS FLOAT64)", False, "BOOL"),
    ("CAST('inf' AS FLOAT64) < CAST('nan' AS FLOAT64)", False, "BOOL"),
    ("IS_NAN(IEEE_DIVIDE(0, 0))", True, "BOOL"),
    ("IS_NAN(GREATEST(1.5, CAST('nan' AS FLOAT64)))", True, "BOOL"),
    ("IS_NAN(LEAST(1.5, CAST('nan' AS FLOAT64)))", True, "BOOL"),
    ("IS_INF(CAST('-inf' AS FLOAT64))", True, "BOOL"),
]
STRINGS = [
    ("LENGTH('щит')", 3, "INT64"),
    ("BYTE_LENGTH('щит')", 6, "INT64"),
    ("LENGTH(b'abc')", 3, "INT64"),
    ("'a' || 'b'", "ab", "STRING"),
    ("CONCAT('a', NULL)", None, "STRING"),
    ("CONCAT('T.P.', ' ', 'Bar')", "T.P. Bar", "STRING"),
    ("CONCAT('Summer ', 1923, '/', 1.5, TRUE, DATE '2024-01-02')", "Summer 1923/1.5true2024-01-02", "STRING"),
    ("CONCAT(1, 2)", "12", "STRING"),
    ("CONCAT(b'a', b'b')", b"ab", "BYTES"),
    ("SUBSTR('apple', 2)", "pple", "STRING"),
    ("SUBSTR('apple', 2, 2)", "pp", "STRING"),
    ("SUBSTR('apple', -2)", "le", "STRING"),
    ("SUBSTR('apple', 1, 123)", "apple", "STRING"),
    ("SUBSTR('apple', 123)", "", "STRING"),
    ("SUBSTR('apple', 0)", "apple", "STRING"),
    ("SUBSTR('apple', -10, 2)", "ap", "STRING"),
    ("LEFT('banana', 3)", "ban", "STRING"),
    ("RIGHT('apple', 3)", "ple", "STRING"),
    ("LPAD('abc', 5)", "  abc", "STRING"),
    ("LPAD('abc', 8, 'def')", "defdeabc", "STRING"),
    ("RPAD('abc', 2)", "ab", "STRING"),
    ("TRIM(' \\n a ')", "a", "STRING"),
    ("TRIM('***apple***', '*')", "apple", "STRING"),
    ("RTRIM('applexxz', 'xyz')", "apple", "STRING"),
    ("REPLACE('apple pie', 'pie', 'cobbler')", "apple cobbler", "STRING"),
    ("REPLACE('abc', '', 'x')", "abc", "STRING"),
    ("REVERSE('añb')", "bña", "STRING"),
    ("REPEAT('abc', 3)", "abcabcabc", "STRING"),
    ("UPPER('straße')", "STRAßE", "STRING"),
    ("STRPOS('foo@example.com', '@')", 4, "INT64"),
    ("STARTS_WITH('apple', 'a')", True, "BOOL"),
    ("ENDS_WITH('apple', 'e')", True, "BOOL"),
    ("SPLIT('b,c,a')", ["b", "c", "a"], "ARRAY<STRING>"),
    ("SPLIT('')", [""], "ARRAY<STRING>"),
    ("SPLIT('a||b', '||')", ["a", "b"], "ARRAY<STRING>"),
    ("REGEXP_CONTAINS('foo@example.com', r'@[a-zA-Z0-9-]+\\.com')", True, "BOOL"),
    ("REGEXP_EXTRACT('foo@example.com', r'^[a-z]+')", "foo", "STRING"),
    ("REGEXP_EXTRACT('foo@example.com', r'^[a-z]+@(.+)$')", "example.com", "STRING"),
    ("REGEXP_EXTRACT('abc', r'x')", None, "STRING"),
    ("REGEXP_EXTRACT_ALL('`a1` and `b2`', '`(.+?)`')", ["a1", "b2"], "ARRAY<STRING>"),
    ("REGEXP_REPLACE('# Heading', r'^# ([a-zA-Z]+)', '<h1>\\\\1</h1>')", "<h1>Heading</h1>", "STRING"),
    ("FORMAT('%d-%s-%05d', 1, 'a', 42)", "1-a-00042", "STRING"),
    ("FORMAT('%t %.2f%%', DATE '2024-01-02', 1.005)", "2024-01-02 1.00%", "STRING"),
    ("ASCII('abcd')", 97, "INT64"),
    ("CHR(255)", "ÿ", "STRING"),
    ("EDIT_DISTANCE('abc', 'adb')", 2, "INT64"),
    ("TO_HEX(b'\\x00\\xffA')", "00ff41", "STRING"),
    ("FROM_HEX('0fA0')", b"\x0f\xa0", "BYTES"),
    ("TO_BASE64(b'\\377\\340')", "/+A=", "STRING"),
    ("TO_HEX(MD5('Hello World'))", "b10a8db164e0754105b7a99be72e3fe5", "STRING"),
    ("TO_HEX(SHA256('abc'))", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
     "STRING"),
    ("TO_HEX(SHA1(b'abc'))", "a9993e364706816aba3e25717850c26c9cd0d89d", "STRING"),
]  # fmt: skip
CASTS = [
    ("CAST(2.5 AS INT64)", 3, "INT64"),
    ("CAST(-2.5 AS INT64)", -3, "INT64"),
    ("CAST(NUMERIC '2.5' AS INT64)", 3, "INT64"),
    ("CAST('0x87a' AS INT64)", 2170, "INT64"),
    ("CAST(' +12 ' AS INT64)", 12, "INT64"),
    ("SAFE_CAST('1.5' AS INT64)", None, "INT64"),
    ("SAFE_CAST('apple' AS INT64)", None, "INT64"),
    ("SAFE_CAST('t' AS BOOL)", None, "BOOL"),
    ("CAST('TRUE' AS BOOL)", True, "BOOL"),
    ("CAST(TRUE AS STRING)", "true", "STRING"),
    ("CAST(TRUE AS INT64)", 1, "INT64"),
    ("CAST(1.0 AS STRING)", "1", "STRING"),
    ("CAST(1.5 AS STRING)", "1.5", "STRING"),
    ("CAST(0.1 AS STRING)", "0.1", "STRING"),
    ("CAST(2/3 AS STRING)", "0.66666666666666663", "STRING"),
    ("CAST(1e20 AS STRING)", "1e+20", "STRING"),
    ("CAST(IEEE_DIVIDE(1, 0) AS STRING)", "inf", "STRING"),
    ("CAST(NUMERIC '1.50' AS STRING)", "1.5", "STRING"),
    ("CAST(NUMERIC '100' AS STRING)", "100", "STRING"),
    ("CAST(DATE '2024-01-02' AS STRING)", "2024-01-02", "STRING"),
    ("CAST(TIMESTAMP '2024-01-02 03:04:05.5+00' AS STRING)", "2024-01-02 03:04:05.500+00", "STRING"),
    ("CAST(DATETIME '2024-01-02 03:04:05' AS STRING)", "2024-01-02 03:04:05", "STRING"),
    ("CAST(TIME '03:04:05.000001' AS STRING)", "03:04:05.000001", "STRING"),
    ("CAST('2024-1-2' AS DATE)", day("2024-01-02"), "DATE"),
    ("SAFE_CAST('2024-13-02' AS DATE)", None, "DATE"),
    ("CAST(b'\\xc3\\xa9' AS STRING)", "é", "STRING"),
    ("CAST('é' AS BYTES)", b"\xc3\xa9", "BYTES"),
    ("CAST([1, 2] AS ARRAY<STRING>)", ["1", "2"], "ARRAY<STRING>"),
    ("CAST(TIMESTAMP '2024-01-02 23:00:00-02' AS DATE)", day("2024-01-03"), "DATE"),
]  # fmt: skip
DATES = [
    ("DATE(2016, 12, 25)", day("2016-12-25"), "DATE"),
    ("DATE(TIMESTAMP '2016-12-25 05:30:00+07', 'America/Los_Angeles')", day("2016-12-24"), "DATE"),
    ("DATE '2024-02-29' + 1", day("2024-03-01"), "DATE"),
    ("CURRENT_DATE()", day("2024-05-06"), "DATE"),
    ("CURRENT_DATE", day("2024-05-06"), "DATE"),
    ("CURRENT_TIMESTAMP()", moment("2024-05-06T07:08:09+00:00"), "TIMESTAMP"),
    ("DATE_ADD(DATE '2008-12-25', INTERVAL 5 DAY)", day("2008-12-30"), "DATE"),
    ("DATE_ADD('2024-01-31', INTERVAL 1 MONTH)", day("2024-02-29"), "DATE"),
    ("DATE_SUB(DATE '2008-12-25', INTERVAL 1 QUARTER)", day("2008-09-25"), "DATE"),
    ("DATE_DIFF(DATE '2010-07-07', DATE '2008-12-25', DAY)", 559, "INT64"),
    ("DATE_DIFF(DATE '2017-10-15', DATE '2017-10-14', WEEK)", 1, "INT64"),
    ("DATE_DIFF('2017-12-30', '2014-12-30', YEAR)", 3, "INT64"),
    ("DATE_DIFF('2017-12-30', '2014-12-30', ISOYEAR)", 2, "INT64"),
    ("DATE_DIFF('2017-12-18', '2017-12-17', WEEK)", 0, "INT64"),
    ("DATE_DIFF('2017-12-18', '2017-12-17', WEEK(MONDAY))", 1, "INT64"),
    ("DATE_DIFF('2017-12-18', '2017-12-17', ISOWEEK)", 1, "INT64"),
    ("DATE_TRUNC(DATE '2008-12-25', MONTH)", day("2008-12-01"), "DATE"),
    ("DATE_TRUNC(DATE '2017-11-05', WEEK(MONDAY))", day("2017-10-30"), "DATE"),
    ("DATE_TRUNC(DATE '2017-11-08', WEEK)", day("2017-11-05"), "DATE"),
    ("DATE_TRUNC('2015-06-15', ISOYEAR)", day("2014-12-29"), "DATE"),
    ("LAST_DAY(DATE '2008-11-25')", day("2008-11-30"), "DATE"),
    ("LAST_DAY(DATE '2008-11-25', YEAR)", day("2008-12-31"), "DATE"),
    ("LAST_DAY(DATE '2008-11-10', WEEK(SUNDAY))", day("2008-11-15"), "DATE"),
    ("EXTRACT(DAY FROM DATE '2013-12-25')", 25, "INT64"),
    ("EXTRACT(DAYOFWEEK FROM DATE '2017-11-05')", 1, "INT64"),
    ("EXTRACT(ISOYEAR FROM DATE '2016-01-01')", 2015, "INT64"),
    ("EXTRACT(ISOWEEK FROM DATE '2015-12-29')", 53, "INT64"),
    ("EXTRACT(WEEK FROM DATE '2015-12-29')", 52, "INT64"),
    ("EXTRACT(WEEK(SUNDAY) FROM DATE '2017-11-05')", 45, "INT64"),
    ("EXTRACT(WEEK(MONDAY) FROM DATE '2017-11-05')", 44, "INT64"),
    ("EXTRACT(MILLISECOND FROM TIME '12:34:56.789')", 789, "INT64"),
    ("EXTRACT(DAY FROM TIMESTAMP '2008-12-25 05:30:00+00' AT TIME ZONE 'America/Los_Angeles')",
     24, "INT64"),
    ("EXTRACT(DATE FROM DATETIME '2024-01-02 03:04:05')", day("2024-01-02"), "DATE"),
    ("FORMAT_DATE('%x', DATE '2008-12-25')", "12/25/08", "STRING"),
    ("FORMAT_DATE('%b-%d-%Y', DATE '2008-12-25')", "Dec-25-2008", "STRING"),
    ("FORMAT_DATE('%e|%Q|%F', DATE '2024-05-06')", " 6|2|2024-05-06", "STRING"),
    ("PARSE_DATE('%Y%m%d', '20081225')", day("2008-12-25"), "DATE"),
    ("PARSE_DATE('%m/%d/%y', '12/25/08')", day("2008-12-25"), "DATE"),
    ("UNIX_DATE(DATE '2008-12-25')", 14238, "INT64"),
    ("DATE_FROM_UNIX_DATE(14238)", day("2008-12-25"), "DATE"),
    ("GENERATE_DATE_ARRAY('2016-10-05', '2016-10-07')",
     [day("2016-10-05"), day("2016-10-06"), day("2016-10-07")], "ARRAY<DATE>"),
    ("GENERATE_DATE_ARRAY('2016-10-05', '2016-10-01', INTERVAL -3 DAY)",
     [day("2016-10-05"), day("2016-10-02")], "ARRAY<DATE>"),
    ("GENERATE_DATE_ARRAY('2016-01-01', '2016-03-01', INTERVAL 1 MONTH)",
     [day("2016-01-01"), day("2016-02-01"), day("2016-03-01")], "ARRAY<DATE>"),
]  # fmt: skip
TIMES = [
    ("TIMESTAMP '2024-01-01 10:00:00+02:00'", moment("2024-01-01T08:00:00+00:00"), "TIMESTAMP"),
    ("TIMESTAMP('2008-12-25 15:30:00', 'America/Los_Angeles')",
     moment("2008-12-25T23:30:00+00:00"), "TIMESTAMP"),
    ("TIMESTAMP(DATE '2008-12-25')", moment("2008-12-25T00:00:00+00:00"), "TIMESTAMP"),
    ("TIMESTAMP_ADD(TIMESTAMP '2008-12-25 15:30:00+00', INTERVAL 10 MINUTE)",
     moment("2008-12-25T15:40:00+00:00"), "TIMESTAMP"),
    ("TIMESTAMP '2024-01-01' - INTERVAL 1 HOUR", moment("2023-12-31T23:00:00+00:00"), "TIMESTAMP"),
    ("TIMESTAMP_DIFF(TIMESTAMP '2010-07-07 10:20:00+00', TIMESTAMP '2008-12-25 15:30:00+00', HOUR)",
     13410, "INT64"),
    ("TIMESTAMP_DIFF('2018-08-14', '2018-10-14', DAY)", -61, "INT64"),
    ("TIMESTAMP_DIFF('2001-02-01 01:00:00', '2001-02-01 00:00:01', HOUR)", 0, "INT64"),
    ("TIMESTAMP_TRUNC(TIMESTAMP '2008-12-25 15:30:00+00', DAY)",
     moment("2008-12-25T00:00:00+00:00"), "TIMESTAMP"),
    ("TIMESTAMP_TRUNC(TIMESTAMP '2008-12-25 15:30:00+00', DAY, 'America/Los_Angeles')",
     moment("2008-12-25T08:00:00+00:00"), "TIMESTAMP"),
    ("TIMESTAMP_TRUNC(TIMESTAMP '2017-11-06 00:00:00+12', WEEK(MONDAY))",
     moment("2017-10-30T00:00:00+00:00"), "TIMESTAMP"),
    ("FORMAT_TIMESTAMP('%c', TIMESTAMP '2050-12-25 15:30:55+00')", "Sun Dec 25 15:30:55 2050",
     "STRING"),
    ("FORMAT_TIMESTAMP('%FT%H:%M:%E*S%Ez', TIMESTAMP '2024-01-02 03:04:05.25+00')",
     "2024-01-02T03:04:05.25+00:00", "STRING"),
    ("FORMAT_TIMESTAMP('%E3S %s', TIMESTAMP '1970-01-01 00:01:05.25+00')", "05.250 65", "STRING"),
    ("PARSE_TIMESTAMP('%a %b %e %I:%M:%S %Y', 'Thu Dec 25 07:30:00 2008')",
     moment("2008-12-25T07:30:00+00:00"), "TIMESTAMP"),
    ("PARSE_TIMESTAMP('%Y-%m-%d %H:%M:%S', '2024-01-02 03:04:05', 'Europe/Berlin')",
     moment("2024-01-02T02:04:05+00:00"), "TIMESTAMP"),
    ("PARSE_DATETIME('%Y-%m-%d %H:%M:%S', '1998-10-18 13:45:55')", moment("1998-10-18T13:45:55"),
     "DATETIME"),
    ("UNIX_SECONDS(TIMESTAMP '2008-12-25 15:30:00+00')", 1230219000, "INT64"),
    ("UNIX_MILLIS(TIMESTAMP '1969-12-31 23:59:59.9995+00')", -1, "INT64"),
    ("TIMESTAMP_SECONDS(1230219000)", moment("2008-12-25T15:30:00+00:00"), "TIMESTAMP"),
    ("TIMESTAMP_MICROS(-1)", moment("1969-12-31T23:59:59.999999+00:00"), "TIMESTAMP"),
    ("DATETIME(2005, 12, 25, 5, 30, 0)", moment("2005-12-25T05:30:00"), "DATETIME"),
    ("DATETIME(TIMESTAMP '2024-01-01 00:00:00+00', 'Asia/Tokyo')", moment("2024-01-01T09:00:00"),
     "DATETIME"),
    ("DATETIME_DIFF(DATETIME '2017-10-15 00:00:00', DATETIME '2017-10-14 23:59:59', DAY)", 1,
     "INT64"),
    ("DATETIME_TRUNC(DATETIME '2008-12-25 15:30:00', HOUR)", moment("2008-12-25T15:00:00"),
     "DATETIME"),
    ("DATETIME_ADD(DATETIME '2008-12-25 15:30:00', INTERVAL 1 YEAR)", moment("2009-12-25T15:30:00"),
     "DATETIME"),
    ("TIME(15, 30, 0)", dt.time(15, 30), "TIME"),
    ("TIME_ADD(TIME '15:30:00', INTERVAL 10 HOUR)", dt.time(1, 30), "TIME"),
    ("TIME_DIFF(TIME '15:30:00', TIME '14:35:00', MINUTE)", 55, "INT64"),
    ("TIME_TRUNC(TIME '15:30:45', HOUR)", dt.time(15), "TIME"),
    ("FORMAT_TIME('%R', TIME '15:30:00')", "15:30", "STRING"),
]  # fmt: skip
ARRAYS = [
    ("[1, 2.5]", [1.0, 2.5], "ARRAY<FLOAT64>"),
    ("ARRAY<FLOAT64>[1, 2]", [1.0, 2.0], "ARRAY<FLOAT64>"),
    ("[1, 2, 3][OFFSET(0)]", 1, "INT64"),
    ("[1, 2, 3][ORDINAL(3)]", 3, "INT64"),
    ("[1, 2, 3][SAFE_OFFSET(5)]", None, "INT64"),
    ("ARRAY_LENGTH([1, 2])", 2, "INT64"),
    ("ARRAY_LENGTH(CAST(NULL AS ARRAY<INT64>))", None, "INT64"),
    ("ARRAY_CONCAT([1], [2, 3])", [1, 2, 3], "ARRAY<INT64>"),
    ("ARRAY_REVERSE([1, 2])", [2, 1], "ARRAY<INT64>"),
    ("ARRAY_TO_STRING(['a', NULL, 'b'], '-')", "a-b", "STRING"),
    ("ARRAY_TO_STRING(['a', NULL, 'b'], '-', '?')", "a-?-b", "STRING"),
    ("GENERATE_ARRAY(1, 5)", [1, 2, 3, 4, 5], "ARRAY<INT64>"),
    ("GENERATE_ARRAY(0, 10, 3)", [0, 3, 6, 9], "ARRAY<INT64>"),
    ("GENERATE_ARRAY(10, 0, -3)", [10, 7, 4, 1], "ARRAY<INT64>"),
    ("GENERATE_ARRAY(4, 1)", [], "ARRAY<INT64>"),
    ("GENERATE_ARRAY(0, 1, 0.25)", [0.0, 0.25, 0.5, 0.75, 1.0], "ARRAY<FLOAT64>"),
    ("STRUCT(1 AS a, 'b' AS b)", {"a": 1, "b": "b"}, "STRUCT<a INT64, b STRING>"),
    ("STRUCT<x FLOAT64, y DATE>(1, '2024-01-02')", {"x": 1.0, "y": day("2024-01-02")},
     "STRUCT<x FLOAT64, y DATE>"),
    ("STRUCT(1 AS a).a", 1, "INT64"),
    ("[STRUCT(1 AS a), STRUCT(2)][OFFSET(1)].a", 2, "INT64"),
    ("ARRAY(SELECT x * 2 FROM UNNEST([3, 1, 2]) AS x)", [6, 2, 4], "ARRAY<INT64>"),
    ("ARRAY(SELECT x FROM UNNEST([3, 1, 2]) AS x WHERE x > 1 ORDER BY x)", [2, 3], "ARRAY<INT64>"),
]  # fmt: skip
JSONS = [
    ("JSON_VALUE('{\"a\": {\"b\": [1, 2]}}', '$.a.b[1]')", "2", "STRING"),
    ("JSON_VALUE('{\"a\": {\"b\": 1}}', '$.a')", None, "STRING"),
    ("JSON_VALUE(JSON '{\"a\": true}', '$.a')", "true", "STRING"),
    ("JSON_QUERY('{\"a\": [1, 2]}', '$.a')", "[1,2]", "STRING"),
    ("TO_JSON_STRING(STRUCT(1 AS a, [TRUE] AS b, 'q\"' AS c, DATE '2024-01-02' AS d))",
     '{"a":1,"b":[true],"c":"q\\"","d":"2024-01-02"}', "STRING"),
    ("TO_JSON_STRING(9007199254740993)", '"9007199254740993"', "STRING"),
    ("TO_JSON_STRING(1.0)", "1", "STRING"),
    ("TO_JSON_STRING(TIMESTAMP '2024-01-02 03:04:05+00')", '"2024-01-02T03:04:05Z"', "STRING"),
    ("TO_JSON_STRING(NULL)", "null", "STRING"),
    ("TO_JSON_STRING([b'ab'])", '["YWI="]', "STRING"),
]  # fmt: skip
SAFE = [
    ("SAFE.LN(0)", None, "FLOAT64"),
    ("SAFE.SUBSTR('foo', 0, -2)", None, "STRING"),
    ("SAFE.SUBSTR('bar', 0, 2)", "ba", "STRING"),
    ("SAFE.PARSE_DATE('%Y%m%d', 'x')", None, "DATE"),
    ("SAFE.DIV(1, 0)", None, "INT64"),
]
HASHES = [
    # The documentation's example: CONCAT(CAST(x AS STRING), y, CAST(z AS STRING)).
    ("FARM_FINGERPRINT(CONCAT(CAST(1 AS STRING), 'foo', CAST(TRUE AS STRING)))",
     -1541654101129638711, "INT64"),
    ("FARM_FINGERPRINT('2applefalse')", 2794438866806483259, "INT64"),
    ("FARM_FINGERPRINT(b'3true')", -4880158226897771312, "INT64"),
    ("FARM_FINGERPRINT(NULL)", None, "INT64"),
]  # fmt: skip
ALL = [
    *ARITHMETIC, *CONDITIONS, *NOT_A_NUMBER, *STRINGS, *CASTS, *DATES, *TIMES, *ARRAYS, *JSONS,
    *SAFE, *HASHES,
]  # fmt: skip


@pytest.mark.parametrize(("expression", "value", "kind"), ALL, ids=[case[0] for case in ALL])
def test_value_and_type(shared, expression, value, kind):
    assert shared.type(expression) == kind
    assert shared.value(expression) == value


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
