"""Time series in the format of Cloud Monitoring, from what endpoints were asked.

https://cloud.google.com/monitoring/api/ref_v3/rest/v3/TimeSeries
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from local_gcp.monitoring.query import PREDICTIONS, QUOTA, RESOURCES, Query
from local_gcp.vertex.endpoints.usage import MINUTE, RequestCounts

Labels = tuple[tuple[str, str], ...]
Span = tuple[float, float]
"""Start and end in seconds since 1970."""

Series = Mapping[tuple[Labels, Labels], Mapping[Span, int]]
"""By labels of metric and resource: what was counted in each span."""


def of(query: Query, minutes: Iterable[RequestCounts], project: str) -> Series:
    """The series that a query asks for. A span in which nothing was counted has no point."""
    found: dict[tuple[Labels, Labels], dict[Span, int]] = defaultdict(lambda: defaultdict(int))
    for counted in minutes:
        span = _span(query, counted.minute)
        for metric, resource, count in _counts(query.metric, counted, project):
            if _matches(query, metric, resource):
                found[tuple(metric.items()), tuple(resource.items())][span] += count
    return found


def of_quotas(query: Query, used: Mapping[tuple[str, str], int], project: str) -> Series:
    """What is in use of quotas, by region and quota, as one point of the present: there is no
    history. None for an interval that ended over a minute ago.
    """
    at = min(time.time(), query.end)
    found: dict[tuple[Labels, Labels], dict[Span, int]] = {}
    for (region, quota), amount in used.items():
        metric = {"quota_metric": quota}
        resource = {"project_id": project, "service": quota.partition("/")[0], "location": region}
        if _matches(query, metric, resource) and time.time() - at < MINUTE and query.start <= at:
            found[tuple(metric.items()), tuple(resource.items())] = {(at, at): amount}
    return found


def page(series: Series, query: Query) -> dict[str, Any]:
    """A ListTimeSeriesResponse with the points of one page, the newest of each series first."""
    points = [
        (labels, span, count)
        for labels, counts in sorted(series.items())
        for span, count in sorted(counts.items(), reverse=True)
    ]
    last = query.first + query.most
    shown: dict[tuple[Labels, Labels], list[dict[str, Any]]] = {}
    for labels, (start, end), count in points[query.first : last]:
        interval = {"startTime": _text(start), "endTime": _text(end)}
        shown.setdefault(labels, []).append(
            {"interval": interval, "value": {"int64Value": str(count)}}
        )
    answer: dict[str, Any] = {"unit": "1"}
    if shown:
        answer["timeSeries"] = [_message(query.metric, *each) for each in shown.items()]
    return {**answer, "nextPageToken": str(last)} if last < len(points) else answer


def _matches(query: Query, metric: Mapping[str, str], resource: Mapping[str, str]) -> bool:
    labels = {f"metric.{name}": value for name, value in metric.items()}
    labels |= {f"resource.{name}": value for name, value in resource.items()}
    return all(labels.get(name) == value for name, value in query.labels.items())


def _counts(
    metric: str, counted: RequestCounts, project: str
) -> Iterable[tuple[dict[str, str], dict[str, str], int]]:
    """(metric's labels, resource's labels, count) of what was asked in a minute."""
    _, _, _, location, _, endpoint = counted.endpoint.split("/")
    resource = {"resource_container": project, "location": location, "endpoint_id": endpoint}
    labels = {
        "deployed_model_id": counted.deployed_model_id,
        "endpoint_display_name": counted.endpoint_display_name,
        "model_display_name": counted.model_display_name,
        "spot": "False",
    }
    if metric == PREDICTIONS:
        return [(labels, resource, counted.predictions)] if counted.predictions else []
    return [
        ({**labels, "response_code": class_}, resource, count)
        for class_, count in sorted(counted.responses.items())
    ]


def _span(query: Query, minute: int) -> Span:
    """The span of the point that a minute counts into: the periods end with the interval."""
    if query.period is None:
        return minute, min(minute + MINUTE, query.end)
    before = math.ceil((query.end - minute) / query.period)
    start = query.end - before * query.period
    return start, start + query.period


def _message(
    metric: str, labels: tuple[Labels, Labels], points: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "metric": {"type": metric, "labels": dict(labels[0])},
        "resource": {"type": RESOURCES[metric], "labels": dict(labels[1])},
        "metricKind": "GAUGE" if metric == QUOTA else "DELTA",
        "valueType": "INT64",
        "points": points,
    }


def _text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
