"""The time and bytes that BigQuery's jobs of one work may take together."""

import datetime
from types import SimpleNamespace

import pytest

from trellis.bigquery.submission import within_plan
from trellis.identity import KEY_LABEL, ROUND_LABEL
from trellis.verdict import JobFailedForGood

START = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)


def ran(minutes, round_="0", task="a"):
    ended = START + datetime.timedelta(minutes=minutes)
    labels = {KEY_LABEL: task, ROUND_LABEL: round_}
    return SimpleNamespace(started=START, ended=ended, labels=labels)


def configuration(**fields):
    labels = {KEY_LABEL: "a", ROUND_LABEL: "0"}
    return {"query": {"query": "CREATE MODEL"}, "labels": labels, **fields}


def test_a_repeated_job_has_what_is_left_of_an_hour():
    hour = configuration(jobTimeoutMs="3600000")
    assert within_plan([], hour) == hour
    assert within_plan([ran(20), ran(25)], hour)["jobTimeoutMs"] == "900000"
    assert within_plan([ran(60, round_="1"), ran(60, task="another run's")], hour) == hour
    with pytest.raises(JobFailedForGood, match="Clear this task"):
        within_plan([ran(20), ran(40)], hour)


def test_a_repeated_query_may_read_what_those_before_have_left():
    mb = 2**20
    query = {"query": "CREATE MODEL", "maximumBytesBilled": str(30 * mb)}
    asked = configuration(query=query)
    once = SimpleNamespace(**vars(ran(1)), total_bytes_billed=18 * mb)
    # A query that fails is not billed.
    unbilled = SimpleNamespace(**vars(ran(1)), total_bytes_billed=None)
    assert within_plan([unbilled], asked) == asked
    assert within_plan([once], asked)["query"] == {**query, "maximumBytesBilled": str(12 * mb)}
    with pytest.raises(JobFailedForGood, match=r"used 37,748,736\.00 bytes, of the 31,457,280\.00"):
        within_plan([once, once], asked)


def test_a_job_without_a_limit_stays_as_it_is():
    assert within_plan([ran(600)], configuration()) == configuration()
