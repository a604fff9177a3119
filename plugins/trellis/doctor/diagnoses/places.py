"""Checks that bucket and Vertex AI are in the group's region."""

from collections.abc import Iterator

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.google_api import RefusedError

_BUCKET = "https://storage.googleapis.com/storage/v1/b/{bucket}"


def bucket(target: Target) -> Iterator[Finding | Passed]:
    """The group's bucket exists, in the region of the jobs."""
    group = target.platform
    found = target.api.find(_BUCKET.format(bucket=group.bucket))
    make = f"gcloud storage buckets create gs://NAME --project={group.project} "
    make += f"--location={group.region} --uniform-bucket-level-access"
    if found is None:
        yield Finding(
            f"There is no bucket gs://{group.bucket}.",
            "All files of a run are in it (platform.yaml: bucket).",
            make.replace("NAME", group.bucket),
        )
    elif found["location"].lower() != group.region:
        yield Finding(
            f"gs://{group.bucket} is in {found['location']}, jobs run in {group.region}.",
            "Vertex AI takes models and datasets of its own region only, and reading from another "
            "one is slow and billed.",
            f"{make}; then name it in platform.yaml (bucket)",
        )
    else:
        yield Passed(f"gs://{group.bucket} in {group.region}")


def vertex(target: Target) -> Iterator[Finding | Passed]:
    """Vertex AI is available in the region."""
    from google.api_core import exceptions
    from google.cloud.aiplatform_v1 import JobServiceClient, ListCustomJobsRequest

    group = target.platform
    parent = f"projects/{group.project}/locations/{group.region}"
    client = JobServiceClient(
        client_options={"api_endpoint": f"{group.region}-aiplatform.googleapis.com"}
    )
    try:
        client.list_custom_jobs(ListCustomJobsRequest(parent=parent, page_size=1), timeout=60)
    except (
        exceptions.NotFound,
        exceptions.MethodNotImplemented,
        exceptions.InvalidArgument,
    ) as error:
        yield Finding(
            f"Vertex AI is not available in {group.region}: {error.message}",
            "All jobs run there (platform.yaml: region).",
            "Choose a region of https://docs.cloud.google.com/vertex-ai/docs/general/locations",
        )
    except exceptions.GoogleAPICallError as error:
        raise RefusedError(error.code or 0, error.message) from None
    else:
        yield Passed(f"available in {group.region}")
