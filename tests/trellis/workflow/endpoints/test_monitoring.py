"""Answers of Cloud Monitoring's that local_gcp does not give; see tests/trellis/test_endpoints.py
for those that it does.
"""

from datetime import UTC, datetime

import pytest

from trellis.google_api import RefusedError
from trellis.workflow.endpoints.monitoring import Counted, counted

START, END = datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 15, tzinfo=UTC)


def series(*counts):
    points = [
        {
            "interval": {"endTime": f"2026-06-{14 - days:02}T00:00:00Z"},
            "value": {"int64Value": str(count)} if count is not None else {},
        }
        for days, count in enumerate(counts)
    ]
    return {
        "metric": {"labels": {"deployed_model_id": "7"}},
        "resource": {"labels": {"endpoint_id": "digits"}},
        "points": points,
    }


class Pages:
    """Cloud Monitoring: pages of answers by metric."""

    def __init__(self, **pages):
        self.pages = pages

    def get(self, url, **parameters):
        (metric,) = (name for name in self.pages if name in parameters["filter"])
        return self.pages[metric][int(parameters.get("pageToken", 0))]


def test_all_pages_count_and_zeros_are_no_requests():
    api = Pages(
        prediction_count=[
            {"timeSeries": [series(0, 4, None)], "nextPageToken": "1"},
            {"timeSeries": [series(None, None, 5)]},
        ],
        response_count=[{"timeSeries": [series(0, 0)]}, {}],
    )
    assert counted(api, "lab", "us-central1", START, END) == [
        Counted("digits", "", "7", 4, datetime(2026, 6, 13, tzinfo=UTC)),
        Counted("digits", "", "7", 5, datetime(2026, 6, 12, tzinfo=UTC)),
    ]


def test_an_incomplete_answer_is_none():
    api = Pages(prediction_count=[{"executionErrors": [{"code": 4, "message": "too slow"}]}])
    with pytest.raises(RefusedError, match=r"incomplete.*too slow"):
        counted(api, "lab", "us-central1", START, END)
