"""Checks that the project's quotas allow the machines that the group's files name."""

from collections.abc import Iterator, Mapping
from typing import Any

from trellis import console
from trellis.doctor import demand
from trellis.doctor.demand import Demand
from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target

_VERTEX = (
    "https://serviceusage.googleapis.com/v1beta1/projects/{project}/services/"
    "aiplatform.googleapis.com/consumerQuotaMetrics"
)
_PROJECT = "https://compute.googleapis.com/compute/v1/projects/{project}"
_UNLIMITED = -1


def vertex(target: Target) -> Iterator[Finding | Passed]:
    """Machines of trainings and served models, for which Vertex AI has its own quotas."""
    group = target.platform
    metrics = {
        entry["metric"].rpartition("/")[2]: _limit(entry, group.region)
        for entry in target.api.items(
            _VERTEX.format(project=group.project), "metrics", pageSize=500
        )
    }
    unknown = []
    for need in demand.vertex(target):
        limit = metrics.get(need.metric)
        if limit is None:
            unknown.append(need.metric)
        elif limit != _UNLIMITED and limit < need.amount:
            yield _too_small(target, need, limit, "Vertex AI", need.metric)
        else:
            yield Passed(f"{need.metric} {'unlimited' if limit == _UNLIMITED else limit}")
    if unknown:
        yield Passed(f"no known limit of {', '.join(unknown)}")


def dataflow(target: Target) -> Iterator[Finding | Passed]:
    """Machines of an export, which are the project's Compute Engine instances."""
    group = target.platform
    url = _PROJECT.format(project=group.project)
    quotas = {
        quota["metric"]: quota
        for resource in (url, f"{url}/regions/{group.region}")
        for quota in target.api.get(resource).get("quotas", ())
    }
    for need in demand.dataflow(group):
        quota = quotas.get(need.metric)
        if quota is None:
            yield Passed(f"no known limit of {need.metric}")
            continue
        free = int(quota["limit"] - quota["usage"])
        if free < need.amount:
            used = f" ({quota['usage']:.0f} in use)" if quota["usage"] else ""
            yield _too_small(target, need, free, "Compute Engine", f"{need.metric}{used}")
        else:
            yield Passed(f"{need.metric} {free}")


def _too_small(target: Target, need: Demand, limit: int, whose: str, metric: str) -> Finding:
    group = target.platform
    return Finding(
        f"Quota {metric} of {whose} in {group.region} leaves {limit}, and {need.who} asks for "
        f"{need.amount}.",
        "Jobs beyond it wait or fail. A request for more can take days.",
        f"Request {need.amount} or more, or use fewer or smaller machines: "
        + console.quotas(group.project),
    )


def _limit(metric: Mapping[str, Any], region: str) -> int | None:
    """The limit in a region; None if unknown. The bucket without a region is the default.

    https://docs.cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics
    """
    limits: dict[str | None, int] = {}
    for limit in metric.get("consumerQuotaLimits", ()):
        if "{region}" not in limit.get("unit", "{region}"):
            continue
        for bucket in limit.get("quotaBuckets", ()):
            # Google omits an unknown limit: it is not zero.
            if "effectiveLimit" in bucket:
                limits[bucket.get("dimensions", {}).get("region")] = int(bucket["effectiveLimit"])
    return limits.get(region, limits.get(None))
