"""Resource names, with the project's id or number as Google returns them."""

from __future__ import annotations

import random
import re

import grpc

from local_gcp import regions
from local_gcp.field_errors import invalid_field
from local_gcp.project import PROJECT_NUMBER, project_id
from local_gcp.wire import RpcError

_PARENT = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)(?P<rest>/.+)?")


def location(parent: str, field: str = "parent") -> str:
    """projects/P/locations/L with the project's number, as in Vertex AI's names.

    INVALID_ARGUMENT for another form, PERMISSION_DENIED for another project,
    NoSuchRegionError.
    """
    match = _PARENT.fullmatch(parent)
    if not match or match["rest"]:
        expected = f"expected projects/PROJECT/locations/LOCATION, got {parent!r}"
        raise invalid_field(field, f"Invalid Location resource name. (local_gcp: {expected}.)")
    return _canonical(match)


def resource(name: str, collection: str, field: str = "name") -> str:
    """projects/P/locations/L/COLLECTION/ID with the project's number; the same errors."""
    match = _PARENT.fullmatch(name)
    if not match or not re.fullmatch(rf"/{collection}/[^/]+", match["rest"] or ""):
        kind = collection[0].upper() + collection[1:].removesuffix("s")
        expected = f"expected projects/PROJECT/locations/LOCATION/{collection}/ID, got {name!r}"
        raise invalid_field(field, f"Invalid {kind} resource name. (local_gcp: {expected}.)")
    return _canonical(match)


def check_project(project: str) -> None:
    """PERMISSION_DENIED for another project, by id or number."""
    if project not in (project_id(), str(PROJECT_NUMBER)):
        raise RpcError(
            grpc.StatusCode.PERMISSION_DENIED,
            f"Permission denied on resource project {project}: the only project in this "
            f"local_gcp is {project_id()!r} (number {PROJECT_NUMBER}).",
        )


def with_number(name: str) -> str:
    """`name` with the project's number in place of its id; other names unchanged."""
    return name.replace(f"projects/{project_id()}/", f"projects/{PROJECT_NUMBER}/", 1)


def new_id() -> str:
    """A numeric id like Vertex AI's."""
    return str(random.SystemRandom().randrange(10**18, 9 * 10**18))


def last(name: str) -> str:
    """The id in a resource name."""
    return name.rpartition("/")[2]


def _canonical(match: re.Match) -> str:
    # The region first: at Google, a request to a region that does not exist reaches no service.
    regions.check(match["location"])
    check_project(match["project"])
    return f"projects/{PROJECT_NUMBER}/locations/{match['location']}{match['rest'] or ''}"
