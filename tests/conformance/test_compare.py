"""Comparison of answers, and reading of exceptions."""

import pytest

from tests.conformance.compare import differences
from tests.conformance.exceptions import Exceptions
from tests.conformance.normal import Texts, normal


@pytest.mark.parametrize(
    ("recorded", "answered", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {}, ["a: missing"]),
        ({}, {"a": 1}, ["a: extra"]),
        ({"a": {"b": "1"}}, {"a": {"b": 1}}, ["a.b: string, not number"]),
        ({"a": True}, {"a": False}, ["a: value"]),
        ({"a": "<time>"}, {"a": "2026-01-01T00:00:00Z"}, []),
        ({"a": "<time>"}, {"a": None}, ["a: string, not null"]),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}]}, ["a: length"]),
        ({"a": [{"b": 1}]}, {"a": [{"c": 1}]}, ["a[].b: missing", "a[].c: extra"]),
    ],
)
def test_differences(recorded, answered, found):
    assert differences(recorded, answered) == found


def test_what_varies_is_no_fact():
    answer = {"etag": "x", "updated": "2026-01-01T00:00:00.5Z", "id": "b/o/1620658615474339"}
    assert normal(answer) == {"etag": "<etag>", "updated": "<time>", "id": "b/o/<int>"}


def test_a_sentence_stays_the_same_sentence():
    texts = Texts()
    first = normal({"description": "One thing."}, texts)
    second = normal({"description": "Another thing."}, texts)
    assert first == normal({"description": "One thing."}, texts) != second


def test_an_exception_that_matches_nothing_is_reported(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "reason: r\ndifferences: [{service: storage, difference: 'x: *'}, {service: bigquery}]\n"
    )
    exceptions = Exceptions.read(tmp_path)
    call = {"service": "storage", "method": "GET", "url": "/"}
    assert exceptions.of("o", call, "y: value") is None
    assert exceptions.of("o", call, "x: value") == "a"
    assert exceptions.unused() == ["a: {'service': 'bigquery'}"]


def test_an_exception_needs_a_reason(tmp_path):
    (tmp_path / "a.yaml").write_text("reason: ' '\ndifferences: []\n")
    with pytest.raises(ValueError, match="gives no reason"):
        Exceptions.read(tmp_path)
