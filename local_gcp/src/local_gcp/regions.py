"""The regions of Vertex AI and Dataflow, and what is answered at one that does not exist.

Google's clients send a request to the host of its region. *.googleapis.com resolves whatever the
region, and where no service is behind a host, Google's front end answers HTTP 404 with a web page.
A gRPC client makes of it UNIMPLEMENTED, "Received http2 header with status: 404", and no more. Here
it is the same code, and the message goes on to say what is wrong.
https://github.com/langchain4j/langchain4j/issues/5865,
https://github.com/GoogleCloudPlatform/generative-ai/issues/1339
"""

from __future__ import annotations

import difflib

import grpc

from local_gcp.wire import RpcError

# https://cloud.google.com/vertex-ai/docs/general/locations, without `global`, where nothing that
# is played here exists.
REGIONS = frozenset(
    [
        "africa-south1",
        "asia-east1",
        "asia-east2",
        "asia-northeast1",
        "asia-northeast2",
        "asia-northeast3",
        "asia-south1",
        "asia-south2",
        "asia-southeast1",
        "asia-southeast2",
        "australia-southeast1",
        "australia-southeast2",
        "europe-central2",
        "europe-north1",
        "europe-north2",
        "europe-southwest1",
        "europe-west1",
        "europe-west2",
        "europe-west3",
        "europe-west4",
        "europe-west6",
        "europe-west8",
        "europe-west9",
        "europe-west12",
        "me-central1",
        "me-central2",
        "me-west1",
        "northamerica-northeast1",
        "northamerica-northeast2",
        "southamerica-east1",
        "southamerica-west1",
        "us-central1",
        "us-east1",
        "us-east4",
        "us-east5",
        "us-east7",
        "us-south1",
        "us-west1",
        "us-west2",
        "us-west3",
        "us-west4",
        "us-west8",
    ]
)


class NoSuchRegionError(RpcError):
    """Over REST it is HTTP 404."""

    def __init__(self, region: str):
        super().__init__(
            grpc.StatusCode.UNIMPLEMENTED,
            "Received http2 header with status: 404. (Google says no more; local_gcp: there is no "
            f"region {region!r}, and nothing at {region}-aiplatform.googleapis.com. "
            f"{suggestion(region)})",
        )


def check(region: str) -> None:
    """NoSuchRegionError unless it is one of Vertex AI's."""
    if region not in REGIONS:
        raise NoSuchRegionError(region)


def suggestion(region: str) -> str:
    """What was probably meant."""
    near = difflib.get_close_matches(region, REGIONS, 1)
    return f"Did you mean {near[0]}?" if near else "One that exists is us-central1."
