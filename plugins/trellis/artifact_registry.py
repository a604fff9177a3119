"""Reads the digest that a tag of an image stands for from Artifact Registry."""

import re
from urllib.parse import quote

from trellis.google_api import GoogleApi

_IMAGE = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[^/]+)/(?P<repository>[^/]+)"
    r"/(?P<package>[^@]+):(?P<tag>[^:/@]+)"
)
_DIGEST = re.compile(r".+@(sha256:[0-9a-f]{64})")


def is_known(address: str) -> bool:
    """Return whether the image is in an Artifact Registry, by its address with its tag, or named by
    its digest.
    """
    return bool(_IMAGE.fullmatch(address) or _DIGEST.fullmatch(address))


def digest(api: GoogleApi, address: str) -> str | None:
    """sha256:... of an image in an Artifact Registry; None if there is no such tag.

    Raises RefusedError; ValueError for an address of another registry.
    """
    if named := _DIGEST.fullmatch(address):
        return named[1]
    image = _IMAGE.fullmatch(address)
    if image is None:
        raise ValueError(f"{address} is not in an Artifact Registry")
    found = api.find(
        "https://artifactregistry.googleapis.com/v1/projects/{project}/locations/{location}"
        "/repositories/{repository}".format(**image.groupdict())
        + f"/packages/{quote(image['package'], safe='')}/tags/{image['tag']}"
    )
    return found["version"].rsplit("/", 1)[-1] if found else None
