"""Locations of datasets and jobs, and which buckets each of them can use.

https://cloud.google.com/bigquery/docs/locations. A location is a region, or one of the
multi-regions US and EU, which are separate from the regions in them.
"""

from __future__ import annotations

from collections.abc import Iterable

from local_gcp.project import REGIONS, known_regions

from .errors import BigQueryError, invalid

DEFAULT = "US"
"""Default of a dataset, and of a job that names no dataset."""

MULTI_REGIONS = ("US", "EU")
"""Multi-regions: requests find a job in them without its location:
https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/get"""

_NOT_OF_VERTEX = {"asia-southeast3", "europe-west10", "northamerica-south1", "us-central2"}
"""Regions that only BigQuery has; with `--regions`, only the regions named there exist."""

_OUTSIDE_EU = ("europe-west2", "europe-west6")
"""London and Zürich: regions of Europe, not of the multi-region EU."""


def canonical(location: str) -> str:
    """The location as BigQuery writes it; raises BigQueryError(invalid) if unknown."""
    name = location.upper() if location.upper() in MULTI_REGIONS else location.lower()
    regions = known_regions()
    if regions == REGIONS:
        regions |= _NOT_OF_VERTEX
    if name not in MULTI_REGIONS and name not in regions:
        raise invalid(f"Location {location} does not support this operation.")
    return name


def same(one: str, other: str) -> bool:
    """Return whether both are the same location; case does not matter."""
    return one.lower() == other.lower()


def fits(location: str, bucket: Iterable[str]) -> bool:
    """Return whether BigQuery in `location` can read and write a bucket in the locations `bucket`.

    `bucket`: its region or multi-region, or the regions of a dual-region. A dataset in US takes
    any. Google's pages disagree about other datasets: those on loads and extracts say that dataset
    and bucket must be in the same location, that on locations says that transfers are charged.
    This function follows the former, which was the rule for years.
    https://cloud.google.com/bigquery/docs/loading-data-cloud-storage-csv,
    https://cloud.google.com/bigquery/docs/locations#load-data-location-considerations
    """
    places = [place.lower() for place in bucket]
    if location == "US" or location.lower() in places:
        return True
    if location != "EU":
        return False
    return all(place.startswith("europe-") and place not in _OUTSIDE_EU for place in places)


def too_far(source: str, destination: str) -> BigQueryError:
    """Error for a load or an extract between two locations."""
    return invalid(
        "Cannot read and write in different locations: "
        f"source: {source}, destination: {destination}"
    )
