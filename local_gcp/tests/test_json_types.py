"""Bodies by the published types."""

import pytest

from local_gcp.json_types import checked
from local_gcp.rest import ApiError


def test_values_are_converted_as_by_googles_parser():
    sent = {
        "query": ["SELECT 1"],
        "useLegacySql": "false",
        "timeoutMs": "10",
        "maxResults": 2.0,
        "maximumBytesBilled": 7,
        "labels": {"team": "vision"},
        "queryParameters": [{"parameterType": {"type": "INT64"}}],
        "location": None,
    }
    assert checked(sent, "QueryRequest", "bigquery") == {
        **sent,
        "query": "SELECT 1",
        "useLegacySql": False,
        "timeoutMs": 10,
        "maxResults": 2,
        "maximumBytesBilled": "7",
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"newer": 1}, 'Unknown name "newer": Cannot find field'),
        ({"defaultDataset": {"a": 1}}, "Unknown name \"a\" at 'defaultDataset': Cannot find field"),
        ({"query": 1}, r"Invalid value at 'query' \(TYPE_STRING\), 1"),
        ({"query": ["a", "b"]}, "Unknown name 'query': Proto field is not repeating"),
        ({"useLegacySql": "no"}, r"'useLegacySql' \(TYPE_BOOL\)"),
        ({"timeoutMs": 1e400}, "'timeoutMs'"),
        ({"timeoutMs": 2**33}, "'timeoutMs'"),
        ({"timeoutMs": True}, "'timeoutMs'"),
        ({"maxResults": 1.5}, "'maxResults'"),
        ({"labels": {"team": 1}}, r"'labels\.team' \(TYPE_STRING\)"),
        ({"queryParameters": {}}, "'queryParameters'"),
        ({"queryParameters": [{"name": {}}]}, r"'queryParameters\[0\]\.name'"),
        ({"defaultDataset": "d"}, "'defaultDataset'"),
    ],
)
def test_other_types_are_refused_with_their_place(body, message):
    with pytest.raises(ApiError, match=message) as caught:
        checked(body, "QueryRequest", "bigquery")
    assert caught.value.code == 400
