"""Schedules by events, and what is a cron expression."""

import re

import pytest
from airflow.sdk import CronDataIntervalTimetable
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from trellis.workflow.spec.schedule import After, Schedule, after, by_time


def test_what_another_experiment_makes():
    assert after("new dataset of digits") == After("dataset", "digits")
    assert after("new champion of breast-cancer") == After("champion", "breast-cancer")


@pytest.mark.parametrize(
    "schedule", ["manual", "new data", "@daily", "0 3 * * 1", "new dataset of"]
)
def test_other_schedules_wait_for_no_experiment(schedule):
    assert after(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("@daily", True), ("0 3 * * 1", True), ("manual", False), ("new data", False)],
)
def test_only_presets_and_cron_are_by_time(schedule, expected):
    assert by_time(schedule) is expected


def accepted(text):
    try:
        TypeAdapter(Schedule).validate_python(text)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        "0 3 * * 1",
        "*/15 * * * *",
        "0 0 29 2 *",
        "0 0 1,15 * *",
        "0 8-18/2 * * MON-FRI",
        "0  3 * 1 7",
    ],
)
def test_cron_expressions_as_people_write_them(text):
    assert accepted(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@dayly", "no schedule"),
        ("@midnight", "no schedule"),
        ("* * * *", "4 words"),
        ("0 0 3 * * *", "6 words"),
        ("0 0 3 * * * 2030", "7 words"),
        ("0 0 30 2 *", "a day that no year has"),
        ("0 0 31 4,6 *", "a day that no year has"),
        ("0 3 L * *", "'L' as day of the month"),
        ("0 3 ? * MON", "'?' as day of the month"),
        ("0 3 * * 5#2", "'5#2' as day of the week"),
        ("R R * * *", "'R' as minute"),
        ("H 3 * * *", "'H' as minute"),
        ("*/90 * * * *", "never takes a step"),
        ("5/10 * * * *", "5-59/10"),
        ("0 18-6 * * *", "goes backwards"),
        ("0 3 * * FRI-MON", "goes backwards"),
        ("0 25 * * *", "0 to 23"),
        (f"{','.join(map(str, range(60)))} * * * *", "characters"),
    ],
)
def test_what_croniter_forgives_is_refused(text, why):
    with pytest.raises(ValidationError, match=re.escape(why)):
        TypeAdapter(Schedule).validate_python(text)


PARTS = st.from_regex(
    r"(\*|[0-9]{1,2}|sun|JAN|L|R|H|\?)(-[0-9]{1,2})?(/[0-9]{1,2})?", fullmatch=True
)


@given(st.lists(PARTS, min_size=5, max_size=5).map(" ".join))
def test_what_is_accepted_is_a_schedule_for_airflow_too(text):
    if accepted(text):
        croniter(text).get_next()
        assert CronDataIntervalTimetable(text, timezone="UTC").expression == text
