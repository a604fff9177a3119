"""Rows of a table as JSON: what is taken, and what is said of a field that is wrong."""

import datetime
import difflib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wording import says
from trainer.serving.errors import InvalidRequestError
from trainer.serving.rows import NULLS, Field, RowReader

FIELDS = [
    Field("radius", "numeric", "radius", 0, "radius"),
    Field("smoker", "boolean", "smoker", 0, "smoker"),
    Field("site", "categorical", "site", 0, "site"),
    Field("taken", "timestamp", "taken", 0, "taken"),
    Field("pulse", "sequence", "pulse", 3, "pulse"),
]
GOOD = {
    "radius": 17.9,
    "smoker": False,
    "site": "",
    "taken": "1970-01-01T00:00:01Z",
    "pulse": [1, None, 2.5],
}


def read(*instances):
    body = json.dumps({"instances": instances}).encode()
    return [row.values for row in RowReader(FIELDS).read(body).instances]


def violations(*instances):
    with pytest.raises(InvalidRequestError) as error:
        read(*instances)
    return [str(violation) for violation in error.value.violations]


def test_a_row_is_read_in_the_order_of_the_models_fields():
    ((radius, smoker, site, taken, pulse),) = read(dict(reversed(GOOD.items())))
    assert (radius, smoker, site, taken) == (17.9, 0.0, b"", 1_000_000)
    assert pulse[::2] == [1.0, 2.5]
    assert math.isnan(pulse[1])


def test_null_is_a_value_of_every_kind():
    (values,) = read(dict.fromkeys(GOOD))
    assert repr(values) == repr(tuple(NULLS[field.kind] for field in FIELDS))


def test_elements_that_the_model_does_not_read_are_left_out():
    assert read(GOOD | {"pulse": [1, 2, 3, 4, 5]})[0][-1] == [1, 2, 3]


def test_a_whole_number_stands_for_its_digits_as_a_term():
    assert read(GOOD | {"site": 30})[0][2] == b"30"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("17.9", 17.9),
        ("1000000.500000000", 1000000.5),
        ("9007199254740993", 2.0**53),
        ("-1e-3", -1e-3),
        ("3.4028235E38", 3.4028235e38),  # the largest float32, as Java prints it: a little more
    ],
)
def test_numbers_are_taken_as_bigquery_writes_them(text, number):
    assert read(GOOD | {"radius": text})[0][0] == number


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-02-29T12:00:00Z", 1709208000),
        ("2024-02-29T12:00:00+02:00", 1709200800),
        ("2024-02-29 12:00:00 UTC", 1709208000),
        ("2024-02-29 12:00:00.5+00", 1709208000.5),
        ("2024-02-29T12:00:00", 1709208000),
        ("2024-02-29", 1709164800),
        ("1969-12-31T23:59:59.999999Z", -0.000001),
    ],
)
def test_times_are_taken_as_bigquery_writes_them(text, seconds):
    assert read(GOOD | {"taken": text})[0][3] == round(seconds * 1e6)


@given(st.datetimes(timezones=st.timezones() | st.none()))
def test_every_time_keeps_its_microsecond(time):
    (values,) = read(GOOD | {"taken": time.isoformat()})
    utc = time.replace(tzinfo=time.tzinfo or datetime.UTC)
    utc = utc.replace(tzinfo=datetime.timezone(utc.utcoffset()))
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert epoch + datetime.timedelta(microseconds=values[3]) == utc


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("radius", "large", "expected a number or null, got 'large'"),
        ("radius", "NaN", "expected a number or null, got 'NaN'"),
        ("radius", "1_000", "expected a number or null, got '1_000'"),
        ("radius", "9" * 999, "expected a number or null, got a string of 999 characters"),
        ("radius", "1e999", "inf is out of the range of float32"),
        ("radius", True, "expected a number or null, got the value True"),
        ("radius", 1e39, "1e+39 is out of the range of float32"),
        ("smoker", 1, "expected true, false or null, got the value 1"),
        ("site", 1.5, "expected a string, a whole number or null, got the value 1.5"),
        ("site", True, "expected a string, a whole number or null, got the value True"),
        ("taken", 1709208000, 'expected a time like "2024-02-29T12:00:00Z" or null, got the'),
        ("taken", "yesterday", "not a time like \"2024-02-29T12:00:00Z\": 'yesterday'"),
        ("pulse", 3, "expected a list of numbers or null, got the value 3"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(field, value, message):
    (told,) = violations(GOOD, GOOD | {field: value})
    assert told.startswith(f"instances[1].{field}: {message}")


def test_a_wrong_element_is_named():
    (told,) = violations(GOOD | {"pulse": [1, "two"]})
    assert says(told, "instances[0]", "pulse[1]", "'two'")


def test_all_that_is_wrong_is_told_at_once():
    wrong = {name: value for name, value in GOOD.items() if name != "radius"}
    assert violations(wrong | {"radios": 1, "smoker": "no"}, [], GOOD) == [
        "instances[0].radios: not a feature of this model; did you mean radius?",
        "instances[0].radius: missing; use null if the value is not known",
        "instances[0].smoker: expected true, false or null, got a string of 2 characters",
        'instances[1]: expected {"radius": ..., "smoker": ..., "site": ..., ...}, got a list of 0',
    ]


@pytest.fixture
def no_search(monkeypatch):
    """A search for similar names takes milliseconds for each name: of very many, minutes."""
    monkeypatch.setattr(difflib, "get_close_matches", None)


@pytest.mark.usefixtures("no_search")
def test_of_very_many_unknown_fields_only_one_is_named():
    (told,) = violations(GOOD | {f"radius{number}": 1 for number in range(50_000)})
    assert says(told, "instances[0]", "50000", "radius0", '"radius"', '"smoker"', '"site"')


@pytest.mark.usefixtures("no_search")
def test_of_very_many_missing_fields_only_one_is_named():
    wide = RowReader(
        [Field(f"x{number}", "numeric", f"x{number}", 0, f"x{number}") for number in range(2000)]
    )
    with pytest.raises(InvalidRequestError) as error:
        wide.read(json.dumps({"instances": [{}] * 256}).encode())
    assert says(str(error.value), "instances[0]", "2000 fields", "x0", '"x1"', "and 246 more")


def test_a_name_that_is_no_columns_gets_no_hint():
    (told,) = violations(GOOD | {"radius" * 100: 1})
    assert says(told, "instances[0].radius", "...")
    assert "mean" not in told


def test_the_envelope_is_checked_as_for_images():
    with pytest.raises(InvalidRequestError, match="instances: expected a list of"):
        RowReader(FIELDS).read(b'{"instances": {}}')
