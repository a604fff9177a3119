"""Checks that the project's quotas allow the machines that the group's files name."""

from collections.abc import Iterator

from trellis import console
from trellis.doctor import demand
from trellis.doctor.demand import Demand
from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.vertex import quotas

_PROJECT = "https://compute.googleapis.com/compute/v1/projects/{project}"


def vertex(target: Target) -> Iterator[Finding | Passed]:
    """Machines of trainings and served models, for which Vertex AI has its own quotas."""
    group = target.platform
    metrics = quotas.limits(target.api, group.project, group.region)
    unknown = []
    for need in demand.vertex(target):
        limit = metrics.get(need.metric)
        if limit is None:
            unknown.append(need.metric)
        elif limit != quotas.UNLIMITED and limit < need.amount:
            yield _too_small(target, need, limit, "Vertex AI", need.metric)
        else:
            yield Passed(f"{need.metric} {'unlimited' if limit == quotas.UNLIMITED else limit}")
    if unknown:
        yield Passed(f"no known limit of {', '.join(unknown)}")


def dataflow(target: Target) -> Iterator[Finding | Passed]:
    """Machines of an export, which are the project's Compute Engine instances."""
    group = target.platform
    url = _PROJECT.format(project=group.project)
    found = {
        quota["metric"]: quota
        for resource in (url, f"{url}/regions/{group.region}")
        for quota in target.api.get(resource).get("quotas", ())
    }
    for need in demand.dataflow(group):
        quota = found.get(need.metric)
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
