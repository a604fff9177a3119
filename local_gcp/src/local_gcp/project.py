"""The one Google Cloud project of this server, and the regions that exist in it.

Both are environment variables, set by `local-gcp up`. The command line imports this module: keep it
light.
"""

from __future__ import annotations

import os

PROJECT_VARIABLE = "LOCAL_GCP_PROJECT"
REGIONS_VARIABLE = "LOCAL_GCP_REGIONS"
DEFAULT_PROJECT = "local-gcp"
PROJECT_NUMBER = 100000000001
"""Twelve digits, like Google's."""

# https://cloud.google.com/vertex-ai/docs/general/locations, without `global`, where nothing that
# is emulated here exists.
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


def project_id() -> str:
    """The project's id."""
    return os.environ.get(PROJECT_VARIABLE) or DEFAULT_PROJECT


def known_regions() -> frozenset[str]:
    """The regions in $LOCAL_GCP_REGIONS ("europe-west1,europe-west4"), else all of Vertex AI's."""
    chosen = os.environ.get(REGIONS_VARIABLE)
    return frozenset(chosen.split(",")) if chosen else REGIONS
