"""List filters: the documented examples, what is refused, and random filters against an oracle."""

import contextlib
import datetime
from types import SimpleNamespace

import pytest
from google.cloud.aiplatform_v1 import JobState
from hypothesis import given
from hypothesis import strategies as st

from local_gcp import filters
from local_gcp.filters import parse_filter
from local_gcp.wire import RpcError

FIELDS = {
    "display_name": filters.Text("display_name"),
    "state": filters.Choice("state", JobState),
    "create_time": filters.Time("create_time"),
    "labels": filters.Labels("labels"),
}


def job(name="my_job_1", state="SUCCEEDED", day=18, **labels):
    return SimpleNamespace(
        display_name=name,
        state=JobState[f"JOB_STATE_{state}"],
        create_time=datetime.datetime(2021, 5, day, tzinfo=datetime.UTC),
        labels=labels,
    )


def matches(text, message):
    return parse_filter(text, FIELDS)(message)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        # The examples in the documentation of ListCustomJobs.
        ('state="JOB_STATE_SUCCEEDED" AND display_name:"my_job_*"', job(), job("other")),
        (
            'state!="JOB_STATE_FAILED" OR display_name="my_job"',
            job("my_job", "FAILED"),
            job("other", "FAILED"),
        ),
        ('NOT display_name="my_job"', job("a"), job("my_job")),
        ('create_time>"2021-05-18T00:00:00Z"', job(day=19), job(day=18)),
        ("labels.keyA=valueA", job(keyA="valueA"), job(keyA="b")),
        ("labels.keyB:*", job(keyB=""), job(keyA="b")),
        # What else the language has.
        ("", job(), None),
        ("  ", job(), None),
        ("labels:keyB", job(keyB="x"), job()),
        ("labels.a=1 labels.b=2", job(a="1", b="2"), job(a="1")),
        ("labels.a=1 AND labels.b=2 OR labels.c=3", job(a="1", c="3"), job(c="3")),
        ("(labels.a=1 AND labels.b=2) OR labels.c=3", job(c="3"), job(a="1")),
        ("-labels.a=1", job(), job(a="1")),
        ("NOT (labels.a=1 OR labels.b=1)", job(a="2"), job(b="1")),
        ("labels.dag-id = 'a b'", job(**{"dag-id": "a b"}), job(**{"dag-id": "a"})),
        ('labels."dag-id"=x', job(**{"dag-id": "x"}), job()),
        (r'display_name="say \"hi\""', job('say "hi"'), job("say hi")),
        ("display_name:*_job_*", job("my_job_1"), job("job")),
        ('display_name:"a[?]*"', job("a[?]b"), job("axb")),
        ("display_name=*", job("*"), job("any")),
        ("create_time>=2021-05-18T00:00:00Z", job(day=18), job(day=17)),
        ('create_time<"2021-05-18T02:00:00+02:00"', job(day=17), job(day=18)),
        ("display_name=JOB_AND_OR", job("JOB_AND_OR"), job()),
    ],
)
def test_filters(text, yes, no):
    assert matches(text, yes)
    assert no is None or not matches(text, no)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            'error="x"',
            "the field 'error' is not supported; supported are create_time, display_name",
        ),
        ("display_name.x=1", "'display_name.x' is not supported"),
        ("display_name<a", "display_name does not support '<'; it supports =, !=, :"),
        ("state:JOB_STATE_FAILED", "state does not support ':'"),
        ("labels.a!=b", "labels does not support '!='"),
        ("labels=a", "write labels.KEY=VALUE or labels:KEY"),
        ("state=FAILED", "'FAILED' is not one of JOB_STATE_UNSPECIFIED"),
        ("create_time>yesterday", "'yesterday' is not an RFC 3339 time"),
        ('create_time>"2021-05-18T00:00:00"', "has no time zone"),
        ("display_name", "expected an operator after 'display_name'"),
        ("display_name=", "expected a value after display_name="),
        ("AND display_name=a", "expected a field, found 'AND'"),
        ("display_name=a AND", "expected a field, found 'the end'"),
        ("display_name=a OR", "expected a field, found 'the end'"),
        ("(display_name=a", "a closing ) is missing"),
        ("display_name=a)", "unexpected ')'"),
        ('display_name="a', "cannot read"),
        ("my_job", "the field 'my_job' is not supported"),
    ],
)
def test_what_is_not_emulated_is_refused_by_name(text, complaint):
    with pytest.raises(RpcError) as refusal:
        parse_filter(text, FIELDS)
    assert refusal.value.violations[0][0] == "filter"
    assert complaint in refusal.value.message


names = st.text(alphabet="ab*\"'\\ AND", max_size=6)
keys = st.sampled_from(["a", "b", "a-b"])
values = st.text(alphabet="xyz", max_size=2)


@st.composite
def restrictions(draw):
    """(text, what it means) of one comparison."""
    kind = draw(st.sampled_from(["name", "label", "key"]))
    if kind == "name":
        value = draw(names)
        escaped = value.replace("\\", r"\\").replace('"', r"\"")
        op = draw(st.sampled_from(["=", "!="]))
        space = draw(st.sampled_from(["", " "]))
        text = f'display_name{space}{op}{space}"{escaped}"'
        return text, lambda m: (m.display_name == value) == (op == "=")
    key = draw(keys)
    if kind == "key":
        return f"labels.{key}:*", lambda m: key in m.labels
    value = draw(values)
    return f'labels.{key}="{value}"', lambda m: m.labels.get(key) == value


def combined(expressions):
    pairs = st.tuples(expressions, expressions)
    return st.one_of(
        pairs.map(lambda p: (f"({p[0][0]} AND {p[1][0]})", lambda m: p[0][1](m) and p[1][1](m))),
        pairs.map(lambda p: (f"({p[0][0]} {p[1][0]})", lambda m: p[0][1](m) and p[1][1](m))),
        pairs.map(lambda p: (f"({p[0][0]} OR {p[1][0]})", lambda m: p[0][1](m) or p[1][1](m))),
        expressions.map(lambda e: (f"NOT {e[0]}", lambda m: not e[1](m))),
        expressions.map(lambda e: (f"-({e[0]})", lambda m: not e[1](m))),
    )


@given(
    st.recursive(restrictions(), combined, max_leaves=8),
    st.lists(st.tuples(names, st.dictionaries(keys, values)), min_size=1),
)
def test_a_filter_means_what_its_parts_mean(expression, messages):
    text, oracle = expression
    predicate = parse_filter(text, FIELDS)
    for name, labels in messages:
        message = job(name, **labels)
        assert predicate(message) == oracle(message), text


@given(st.text(alphabet="ab.=!<>:()\"'- ANDORNOTlabels", max_size=30))
def test_any_text_is_read_or_refused_but_breaks_nothing(text):
    with contextlib.suppress(RpcError):
        parse_filter(text, FIELDS)(job())
