"""The time that BigQuery's jobs of one work may take together."""

import datetime
from types import SimpleNamespace

import pytest

from trellis.bigquery.submission import within_plan
from trellis.identity import ROUND_LABEL
from trellis.verdict import JobFailedForGood

START = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)


def ran(minutes, round_="0"):
    ended = START + datetime.timedelta(minutes=minutes)
    return SimpleNamespace(started=START, ended=ended, labels={ROUND_LABEL: round_})


def configuration(**fields):
    return {"query": {"query": "CREATE MODEL"}, "labels": {ROUND_LABEL: "0"}, **fields}


def test_a_repeated_job_has_what_is_left_of_an_hour():
    hour = configuration(jobTimeoutMs="3600000")
    assert within_plan([], hour) == hour
    assert within_plan([ran(20), ran(25)], hour)["jobTimeoutMs"] == "900000"
    assert within_plan([ran(60, round_="1")], hour) == hour
    with pytest.raises(JobFailedForGood, match="Clear this task"):
        within_plan([ran(20), ran(40)], hour)


def test_a_job_without_a_limit_stays_as_it_is():
    assert within_plan([ran(600)], configuration()) == configuration()
