"""The regions of Vertex AI and Dataflow, and the error for one that does not exist.

Google's clients send a request to the host of its region. *.googleapis.com resolves for every
region, and for a host without a service Google's front end returns HTTP 404 with a web page, which
a gRPC client reports as UNIMPLEMENTED, "Received http2 header with status: 404". local_gcp returns
the same code, with a message that explains it.
https://github.com/langchain4j/langchain4j/issues/5865,
https://github.com/GoogleCloudPlatform/generative-ai/issues/1339
"""

from __future__ import annotations

import difflib

import grpc

from local_gcp.project import known_regions
from local_gcp.wire import RpcError


class NoSuchRegionError(RpcError):
    """A region that does not exist; HTTP 404 over REST."""

    def __init__(self, region: str):
        super().__init__(
            grpc.StatusCode.UNIMPLEMENTED,
            "Received http2 header with status: 404. (Google says no more; local_gcp: there is no "
            f"region {region!r}, and nothing at {region}-aiplatform.googleapis.com. "
            f"{suggestion(region)})",
        )


def check(region: str) -> None:
    """Raise NoSuchRegionError unless it is in `project.known_regions`."""
    if region not in known_regions():
        raise NoSuchRegionError(region)


def suggestion(region: str) -> str:
    """A sentence with the most similar region."""
    near = difflib.get_close_matches(region, known_regions(), 1)
    example = "us-central1" if "us-central1" in known_regions() else min(known_regions())
    return f"Did you mean {near[0]}?" if near else f"One that exists is {example}."
