"""Reads the counts of online predictions from Cloud Monitoring.

https://cloud.google.com/monitoring/api/metrics_gcp_a_b#gcp-aiplatform
https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/list
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trellis.google_api import GoogleApi, RefusedError

LONGEST_DAYS = 42
"""Cloud Monitoring keeps Google's metrics in full for six weeks.
https://cloud.google.com/monitoring/quotas#data_retention_policy"""

_URL = "https://monitoring.googleapis.com/v3/projects/{project}/timeSeries"
_ONLINE = "aiplatform.googleapis.com/prediction/online/"
# A request that the model refused is a response and no prediction, but the endpoint is in use.
_PREDICTIONS, _RESPONSES = f"{_ONLINE}prediction_count", f"{_ONLINE}response_count"
_PERIOD_SECONDS = 3600


@dataclass(frozen=True)
class Counted:
    """The count of one time series: predictions, and the hour of the last request (its end).

    endpoint_id, endpoint_display_name, deployed_model_id: as its labels name them, or "".
    """

    endpoint_id: str
    endpoint_display_name: str
    deployed_model_id: str
    predictions: int
    last: datetime


def counted(
    api: GoogleApi, project: str, region: str, start: datetime, end: datetime
) -> list[Counted]:
    """Count the predictions of a region's endpoints in an interval; endpoints without requests are
    left out.

    Raises RefusedError, also for an answer that is not complete.
    """
    found = []
    for metric in (_PREDICTIONS, _RESPONSES):
        for series in _series(api, project, metric, region, start, end):
            points = {_end(point): _value(point) for point in series.get("points", ())}
            used = [at for at, count in points.items() if count]
            if used:
                predictions = sum(points.values()) if metric == _PREDICTIONS else 0
                found.append(_counted(series, predictions, max(used)))
    return found


def _series(
    api: GoogleApi, project: str, metric: str, region: str, start: datetime, end: datetime
) -> Iterator[dict[str, Any]]:
    parameters = {
        "filter": f'metric.type = "{metric}" AND '
        'resource.type = "aiplatform.googleapis.com/Endpoint" AND '
        f'resource.labels.location = "{region}"',
        "interval.startTime": start.isoformat(),
        "interval.endTime": end.isoformat(),
        "aggregation.alignmentPeriod": f"{_PERIOD_SECONDS}s",
        "aggregation.perSeriesAligner": "ALIGN_SUM",
    }
    token: str | None = None
    while token != "":
        more: dict[str, str] = {"pageToken": token} if token else {}
        page = api.get(_URL.format(project=project), **parameters, **more)
        if errors := page.get("executionErrors"):
            raise RefusedError(0, f"Cloud Monitoring's answer is incomplete: {errors}")
        yield from page.get("timeSeries", ())
        token = page.get("nextPageToken", "")


def _counted(series: dict[str, Any], predictions: int, last: datetime) -> Counted:
    labels = series["metric"].get("labels", {})
    return Counted(
        series["resource"].get("labels", {}).get("endpoint_id", ""),
        labels.get("endpoint_display_name", ""),
        labels.get("deployed_model_id", ""),
        predictions,
        last,
    )


def _end(point: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(point["interval"]["endTime"])


def _value(point: dict[str, Any]) -> int:
    # A 64-bit integer is a string in Google's JSON.
    return int(point["value"].get("int64Value", 0))
