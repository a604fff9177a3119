"""Checks that the project's quotas allow the machines that the group's files name."""

from collections.abc import Iterator
from datetime import UTC, datetime

from trellis import console
from trellis.doctor import demand
from trellis.doctor.demand import Demand
from trellis.doctor.findings import Finding, Notice, Passed
from trellis.doctor.target import Target
from trellis.google_api import RefusedError
from trellis.vertex import quotas

_PROJECT = "https://compute.googleapis.com/compute/v1/projects/{project}"


def vertex(target: Target) -> Iterator[Finding | Notice | Passed]:
    """Machines of trainings and served models, for which Vertex AI has its own quotas.

    A limit below what a stage asks for is a finding; machines that others have at this moment, such
    as running jobs and deployed models, are a notice.
    """
    place = (target.api, target.platform.project, target.platform.region)
    metrics = quotas.limits(*place)
    used: dict[str, int] = {}
    try:
        used = quotas.in_use(*place, datetime.now(UTC))
    except RefusedError as error:
        yield Passed(
            f"what is in use cannot be read without {quotas.USAGE_PERMISSION} ({error.message})"
        )
    unknown = []
    for need in demand.vertex(target):
        limit = metrics.get(need.metric)
        if limit is None:
            unknown.append(need.metric)
        elif limit == quotas.UNLIMITED:
            yield Passed(f"{need.metric} unlimited")
        elif limit < need.amount:
            yield _too_small(target, need, limit, "Vertex AI", need.metric)
        elif limit < need.amount + (have := used.get(need.metric, 0)):
            yield _taken(target, need, limit, have)
        else:
            yield Passed(f"{need.metric} {limit - have}")
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


def _taken(target: Target, need: Demand, limit: int, have: int) -> Notice:
    group = target.platform
    return Notice(
        f"Of quota {need.metric} of Vertex AI in {group.region}, {have} of {limit} are in use, and "
        f"{need.who} asks for {need.amount}.",
        "Its jobs wait until those end, as long as `machines: {wait: ...}` lets them. A deployed "
        "model keeps its machines.",
        f"See what runs, or request {need.amount + have}: {console.quotas(group.project)}",
    )


def _too_small(target: Target, need: Demand, limit: int, whose: str, metric: str) -> Finding:
    group = target.platform
    return Finding(
        f"Quota {metric} of {whose} in {group.region} leaves {limit}, and {need.who} asks for "
        f"{need.amount}.",
        "Jobs beyond it wait or fail. A request for more can take days.",
        f"Request {need.amount} or more, or use fewer or smaller machines: "
        + console.quotas(group.project),
    )
