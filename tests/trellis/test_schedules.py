"""A schedule that ends, and does not stop people."""

import datetime

import pytest
from airflow.sdk import DAG
from airflow.timetables.base import TimeRestriction
from pendulum import DateTime
from pendulum import datetime as moment

from trellis.schedules import CronUntilTimetable

UNTIL = CronUntilTimetable("@daily", "2024-01-04")


def starts(timetable, earliest, latest, catchup=True):
    """Starts of the intervals between two moments, as backfills list them."""
    restriction = TimeRestriction(earliest, latest, catchup)
    found, last = [], None
    while len(found) < 20:
        info = timetable.next_dagrun_info(
            last_automated_data_interval=last, restriction=restriction
        )
        if info is None:
            return found
        last = info.data_interval
        found.append(last.start.to_date_string())
    return found


def test_a_backfill_ends_with_the_schedule():
    days = starts(UNTIL, moment(2024, 1, 1), moment(2024, 2, 1))
    assert days == ["2024-01-01", "2024-01-02", "2024-01-03"]


def test_no_run_by_schedule_is_due_when_it_has_ended():
    assert starts(UNTIL, moment(2023, 1, 1), None, catchup=False) == []


def test_a_schedule_that_has_not_ended_goes_on():
    tomorrow = DateTime.now().add(days=2).to_date_string()
    timetable = CronUntilTimetable("@daily", tomorrow)
    assert len(starts(timetable, moment(2023, 1, 1), None, catchup=False)) >= 2


def test_a_run_that_a_person_starts_has_its_interval_as_ever():
    interval = UNTIL.infer_manual_data_interval(run_after=moment(2025, 6, 5, 12))
    assert interval.start == moment(2025, 6, 4)


def test_it_is_stored_with_a_dag():
    from airflow.serialization.serialized_objects import DagSerialization

    with DAG("until", schedule=UNTIL, start_date=datetime.datetime(2023, 1, 1)) as dag:
        pass
    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert stored.timetable.serialize() == UNTIL.serialize()
    assert stored.timetable.summary == "0 0 * * * until 2024-01-04"


@pytest.mark.parametrize("text", ["2024-01-04", "2024-01-04T00:00:00+00:00"])
def test_until_is_in_utc(text):
    assert CronUntilTimetable("@daily", text).until == moment(2024, 1, 4)
