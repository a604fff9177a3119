"""A label of two columns: a time, and how it ended."""

import pytest

from tests.trellis.new.described_rows import AGE, LABEL, rows, why
from trellis.new.described import Column, DataError
from trellis.new.roles import propose


@pytest.mark.parametrize(
    ("time", "event"),
    [
        (Column("time", "INT64", distinct=300), Column("status", "INT64", distinct=2)),
        (Column("futime", "INT64", distinct=300), Column("death", "BOOL", distinct=2)),
        (Column("survival_days", "INT64", distinct=300), Column("censored", "INT64", distinct=2)),
    ],
)
def test_a_time_and_an_event_are_a_label_of_two_columns(time, event):
    found = propose(rows(AGE, time, event))
    assert (found.task, found.label, found.event) == ("time_to_event", time, event)
    assert why(found) == {}
    assert ("censored" in event.name) == any("1 - censored" in text for text in found.warnings)
    named = propose(rows(AGE, time, event, LABEL), task="time_to_event", label=time.name)
    assert (named.task, named.event) == ("time_to_event", event)
    half = propose(rows(AGE, time, event), label=event.name)
    assert why(half) == {time.name: f"known as late as {event.name}"}
    assert any("--task time_to_event" in warning for warning in half.warnings)
    other = propose(rows(AGE, time, event, LABEL))
    assert (other.label.name, why(other)) == ("label", {})


@pytest.mark.parametrize(
    ("name", "type_", "values", "query"),
    [
        ("OS_STATUS", "STRING", (), "OS_STATUS = 'dead' AS died"),
        ("death", "STRING", ("event", "no event"), "death = 'dead' AS died"),
        ("censored", "STRING", ("no", "yes"), "censored = 'dead' AS died"),
        ("status", "INT64", ("0", "1", "2"), "status = 1 AS died"),
        ("status", "INT64", ("0", "2"), "status = 1 AS died"),
    ],
)
def test_an_event_that_is_not_clear_is_refused_with_a_query(name, type_, values, query):
    event = Column(name, type_, distinct=len(values) or 2, values=values)
    view = rf"in a view.*EXCEPT \({name}\), {query} FROM"
    said = rf"{name}.*OS_MONTHS.*{', '.join(values)}.*{view}.*--label"
    with pytest.raises(DataError, match=said):
        propose(rows(AGE, Column("OS_MONTHS", "FLOAT64", distinct=300), event))


@pytest.mark.parametrize(
    ("name", "values", "occurred"),
    [
        ("OS_STATUS", ("0:LIVING", "1:DECEASED"), "'1:DECEASED'"),
        ("vital", ("alive", "dead"), "'dead'"),
        ("death", ("no", "yes"), "'yes'"),
        ("status", ("1", "2"), "2"),
        ("status", ("0", "1"), None),
    ],
)
def test_which_of_two_values_is_the_event(name, values, occurred):
    type_ = "INT64" if values[1].isdigit() else "STRING"
    event = Column(name, type_, distinct=2, values=values)
    found = propose(rows(AGE, Column("followup", "FLOAT64", distinct=300), event))
    assert (found.task, found.event, found.occurred) == ("time_to_event", event, occurred)
    assert len(found.warnings) == (0 if occurred is None else 1)


def test_the_status_of_a_loan_is_no_event():
    status = Column("Status", "STRING", distinct=2, values=("bad", "good"))
    found = propose(rows(status, AGE, Column("Time", "INT64", distinct=30)))
    assert (found.task, found.label.name) != ("time_to_event", "Time")
    married = Column("marital_status", "INT64", distinct=2)
    found = propose(rows(married, Column("time", "INT64", distinct=30), AGE))
    assert found.task != "time_to_event"


def test_a_time_to_an_event_without_an_event_is_refused():
    found = rows(AGE, Column("time", "INT64", distinct=300))
    with pytest.raises(DataError, match="called as an event is"):
        propose(found, task="time_to_event", label="time")
