"""A run's data interval in terms of a partition column."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.interval import of_run
from trellis.workflow.contracts.table import Column

DAY = (datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 3, tzinfo=UTC))
NO_DAYS = (None, None)


def literals(type_, run=DAY, days=NO_DAYS):
    found = of_run(Column("at", type_), run, days)
    return found.start_literal, found.end_literal


@pytest.mark.parametrize(
    ("type_", "start", "end"),
    [
        ("DATE", "DATE '2024-01-02'", "DATE '2024-01-03'"),
        ("DATETIME", "DATETIME '2024-01-02 00:00:00'", "DATETIME '2024-01-03 00:00:00'"),
        (
            "TIMESTAMP",
            "TIMESTAMP '2024-01-02 00:00:00+00:00'",
            "TIMESTAMP '2024-01-03 00:00:00+00:00'",
        ),
    ],
)
def test_a_day_selects_that_day(type_, start, end):
    assert literals(type_) == (start, end)


def test_days_the_wrong_way_round_are_refused():
    with pytest.raises(SourceError, match="`from` 2024-01-03 is not before `to` 2024-01-01"):
        literals("DATE", days=("2024-01-03", "2024-01-01"))


def test_an_interval_is_in_utc():
    east = timezone(timedelta(hours=2))
    run = tuple(moment.astimezone(east) for moment in DAY)
    assert literals("TIMESTAMP", run) == literals("TIMESTAMP")
    assert literals("DATE", run) == literals("DATE")


def test_dates_count_by_their_midnight():
    noon = tuple(moment + timedelta(hours=12) for moment in DAY)
    assert literals("DATE", noon) == ("DATE '2024-01-03'", "DATE '2024-01-04'")
    with pytest.raises(SourceError, match=r"DATE.*'at'"):
        literals("DATE", (noon[0], noon[0] + timedelta(hours=1)))


def test_a_run_without_an_interval_takes_all_rows():
    assert of_run(Column("at", "DATE"), (None, None), NO_DAYS) is None
    assert of_run(None, DAY, NO_DAYS) is None


def test_days_that_a_person_gives_come_first():
    assert literals("DATE", days=("2023-05-01", "2023-06-01")) == (
        "DATE '2023-05-01'",
        "DATE '2023-06-01'",
    )
    assert literals("DATE", days=("2023-05-01", None))[1] == "DATE '9999-12-31'"
    assert literals("DATETIME", days=(None, "2023-06-01"))[0] == "DATETIME '0001-01-01 00:00:00'"


def test_days_need_a_partition_column():
    with pytest.raises(SourceError, match=r"the experiment names none \(source.partition\)"):
        of_run(None, DAY, ("2023-05-01", None))


@pytest.mark.parametrize(
    ("partition_id", "covered"),
    [
        ("20240101", False),
        ("20240102", True),
        ("20240103", False),
        ("2024010223", True),
        ("2024010300", False),
        ("202401", True),
        ("202402", False),
        ("2024", True),
        ("__UNPARTITIONED__", True),
    ],
)
def test_a_partition_of_any_granularity_is_read_or_not(partition_id, covered):
    assert of_run(Column("at", "TIMESTAMP"), DAY, NO_DAYS).covers(partition_id) is covered


def test_open_ends_cover_all():
    found = of_run(Column("at", "DATE"), DAY, (None, "2024-01-02"))
    assert found.covers("19991231")
    assert not found.covers("20240102")
