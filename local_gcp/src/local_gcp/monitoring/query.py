"""Parses requests for time series. What is not emulated is refused by name: 501.

https://cloud.google.com/monitoring/api/v3/filters
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from datetime import datetime

from starlette.datastructures import QueryParams

from local_gcp.rest import ApiError, not_emulated

RESOURCE = "aiplatform.googleapis.com/Endpoint"
_ONLINE = "aiplatform.googleapis.com/prediction/online/"
PREDICTIONS = f"{_ONLINE}prediction_count"
RESPONSES = f"{_ONLINE}response_count"
QUOTA = "serviceruntime.googleapis.com/quota/allocation/usage"
CONSUMER = "consumer_quota"
RESOURCES = {PREDICTIONS: RESOURCE, RESPONSES: RESOURCE, QUOTA: CONSUMER}
"""Resource types by metric."""

_KNOWN = {
    "filter",
    "interval.startTime",
    "interval.endTime",
    "aggregation.alignmentPeriod",
    "aggregation.perSeriesAligner",
    "pageSize",
    "pageToken",
    "view",
    "alt",
    "prettyPrint",
}
_SELECTORS = re.compile(
    r"resource\.labels?\.(?:endpoint_id|location|resource_container|service|project_id)"
    r"|metric\.labels?\.(?:deployed_model_id|response_code|endpoint_display_name|quota_metric)"
)
_TERM = re.compile(r'([a-z_.]+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_AND = re.compile(r"\s+AND\s+")
_SUMS = ("ALIGN_SUM", "ALIGN_DELTA")  # the same for a DELTA metric
_SHORTEST = 60
_MOST_POINTS = 100_000


@dataclasses.dataclass(frozen=True)
class Query:
    """A request.

    metric: its type. labels: by "resource.NAME" or "metric.NAME", what a series must have. start,
    end: seconds since 1970. period: seconds that one point sums up; None for points as they were
    written. first, most: which points the page has.
    """

    metric: str
    labels: Mapping[str, str]
    start: float
    end: float
    period: int | None
    first: int
    most: int


def read(parameters: QueryParams) -> Query:
    """The query of a request's parameters. Raises ApiError: 400, and 501 for what is not there."""
    for name in parameters:
        if name not in _KNOWN:
            raise not_emulated(f"the parameter {name} of projects.timeSeries.list")
    if (view := parameters.get("view", "FULL")) != "FULL":
        raise not_emulated(f"the view {view} of projects.timeSeries.list")
    metric, labels = _filter(parameters.get("filter", ""))
    start, end = (_time(parameters, f"interval.{name}Time") for name in ("start", "end"))
    if start >= end:
        raise _invalid("interval", "the start time must be before the end time of a DELTA metric")
    most = _number(parameters, "pageSize") or _MOST_POINTS
    first = _number(parameters, "pageToken")
    period = _period(parameters)
    if period and metric == QUOTA:
        raise not_emulated(f"aligned points of the metric {QUOTA}")
    return Query(metric, labels, start, end, period, first, min(most, _MOST_POINTS))


def _filter(text: str) -> tuple[str, Mapping[str, str]]:
    """The metric's type, and the labels: equalities with AND between them."""
    found: dict[str, str] = {}
    for part in _AND.split(text.strip()):
        term = _TERM.fullmatch(part)
        if term is None:
            if not text.strip():
                raise _invalid("filter", "it must specify a metric type")
            raise not_emulated(f"the filter {part!r} of projects.timeSeries.list")
        name, value = term[1], re.sub(r"\\(.)", r"\1", term[2])
        if name not in ("metric.type", "resource.type") and not _SELECTORS.fullmatch(name):
            raise not_emulated(f"the filter by {name} of projects.timeSeries.list")
        found[name] = value
    metric, resource = found.pop("metric.type", None), found.pop("resource.type", None)
    if metric is None:
        raise _invalid("filter", "it must specify a metric type")
    if metric not in RESOURCES:
        raise not_emulated(f"the metric {metric}")
    if resource not in (None, RESOURCES[metric]):
        raise not_emulated(f"the resource type {resource} of the metric {metric}")
    return metric, {re.sub(r"\.labels?\.", ".", name): value for name, value in found.items()}


def _period(parameters: QueryParams) -> int | None:
    aligner = parameters.get("aggregation.perSeriesAligner", "ALIGN_NONE")
    period = parameters.get("aggregation.alignmentPeriod")
    if aligner == "ALIGN_NONE":
        if period is not None:
            raise not_emulated("an alignment period without an aligner")
        return None
    if aligner not in _SUMS:
        raise not_emulated(f"the aligner {aligner}")
    if period is None or not re.fullmatch(r"\d+s", period) or int(period[:-1]) < _SHORTEST:
        raise _invalid("aggregation.alignmentPeriod", f"it must be {_SHORTEST}s or longer")
    return int(period[:-1])


def _time(parameters: QueryParams, name: str) -> float:
    text = parameters.get(name, "")
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise _invalid(name, f"{text!r} is not an RFC 3339 time") from None
    if time.tzinfo is None:
        raise _invalid(name, f"{text!r} has no time zone")
    return time.timestamp()


def _number(parameters: QueryParams, name: str) -> int:
    text = parameters.get(name) or "0"
    if not text.isdecimal():
        raise _invalid(name, f"{text!r} is not valid")
    return int(text)


def _invalid(field: str, problem: str) -> ApiError:
    return ApiError(400, f"Field {field} had an invalid value: {problem}.", "badRequest")
