"""Whether the project's quotas allow the machines that the group's files name."""

from collections.abc import Iterator, Mapping
from typing import Any

from trellis.doctor import demand
from trellis.doctor.demand import Demand
from trellis.doctor.findings import Finding, Seen
from trellis.doctor.patient import Patient

_VERTEX = (
    "https://serviceusage.googleapis.com/v1beta1/projects/{project}/services/"
    "aiplatform.googleapis.com/consumerQuotaMetrics"
)
_PROJECT = "https://compute.googleapis.com/compute/v1/projects/{project}"
_CONSOLE = "https://console.cloud.google.com/iam-admin/quotas?project={project}"
_UNLIMITED = -1


def vertex(patient: Patient) -> Iterator[Finding | Seen]:
    """Machines of trainings and of served models, which Vertex AI counts apart from all others."""
    group = patient.platform
    metrics = {
        entry["metric"].rpartition("/")[2]: _limit(entry, group.region)
        for entry in patient.api.each(
            _VERTEX.format(project=group.project), "metrics", pageSize=500
        )
    }
    unknown = []
    for need in demand.vertex(patient):
        limit = metrics.get(need.metric)
        if limit is None:
            unknown.append(need.metric)
        elif limit != _UNLIMITED and limit < need.amount:
            yield _too_small(patient, need, limit, "Vertex AI", need.metric)
        else:
            yield Seen(f"{need.metric} {'unlimited' if limit == _UNLIMITED else limit}")
    if unknown:
        yield Seen(f"no limit is told of {', '.join(unknown)}")


def dataflow(patient: Patient) -> Iterator[Finding | Seen]:
    """Machines of an export, which are the project's own on Compute Engine."""
    group = patient.platform
    url = _PROJECT.format(project=group.project)
    quotas = {
        quota["metric"]: quota
        for resource in (url, f"{url}/regions/{group.region}")
        for quota in patient.api.get(resource).get("quotas", ())
    }
    for need in demand.dataflow(group):
        quota = quotas.get(need.metric)
        if quota is None:
            yield Seen(f"no limit is told of {need.metric}")
            continue
        free = int(quota["limit"] - quota["usage"])
        if free < need.amount:
            used = f" ({quota['usage']:.0f} in use)" if quota["usage"] else ""
            yield _too_small(patient, need, free, "Compute Engine", f"{need.metric}{used}")
        else:
            yield Seen(f"{need.metric} {free}")


def _too_small(patient: Patient, need: Demand, limit: int, whose: str, metric: str) -> Finding:
    group = patient.platform
    return Finding(
        f"Quota {metric} of {whose} in {group.region} leaves {limit}, and {need.who} asks for "
        f"{need.amount}.",
        "Jobs beyond it wait or fail. An answer to a request for more can take days.",
        f"Ask for {need.amount} or more, or use fewer or smaller machines: "
        + _CONSOLE.format(project=group.project),
    )


def _limit(metric: Mapping[str, Any], region: str) -> int | None:
    """The limit in a region; None where none is told. The bucket without a region is the default.

    https://docs.cloud.google.com/service-usage/docs/reference/rest/v1beta1/services.consumerQuotaMetrics
    """
    limits: dict[str | None, int] = {}
    for limit in metric.get("consumerQuotaLimits", ()):
        if "{region}" not in limit.get("unit", "{region}"):
            continue
        for bucket in limit.get("quotaBuckets", ()):
            # Google leaves it out where it is unknown: that is not zero.
            if "effectiveLimit" in bucket:
                limits[bucket.get("dimensions", {}).get("region")] = int(bucket["effectiveLimit"])
    return limits.get(region, limits.get(None))
