"""Platform: the group's Google Cloud, as platform.yaml beside the DAG file names it."""

import functools
from pathlib import Path

from research.quantities import Duration
from research.sections import Section, check, key
from research.yaml_file import parse

PATH = Path(__file__).parents[1] / "platform.yaml"


class PlatformError(ValueError):
    """The group's Google Cloud is not as platform.yaml says; the message names the key."""


class Dataflow(Section):
    """What the export runs on."""

    machine_type: str = key("Compute Engine machine type of a worker", "n1-standard-4")
    max_workers: int = key("workers at most", 2, ge=1, le=1000)
    timeout: Duration = key("when an export is stopped")


class Compare(Section):
    """What the comparison runs on."""

    machine_type: str = key("Compute Engine machine type", "n1-standard-4")
    timeout: Duration = key("when a comparison is stopped")


class Platform(Section):
    """Names and limits that all experiments of a group share."""

    project: str = key("Google Cloud project", pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$")
    region: str = key("region of all jobs", pattern=r"^[a-z]+-[a-z]+[0-9]+$")
    bucket: str = key("bucket of all files, without gs://", pattern=r"^[a-z0-9][a-z0-9._-]+$")
    dataset: str = key(
        "BigQuery dataset of snapshots and models, made if it is not there",
        "trellis",
        pattern=r"^[A-Za-z0-9_]+$",
    )
    location: str = key("where that dataset, and all tables that experiments read, are", "US")
    registry: str = key("where the job images lie, without their names and tags")
    connection: str = key("Airflow connection to Google Cloud", "google_cloud_default")
    service_account: str | None = key("whom jobs and deployed models run as", None)
    network: str | None = key(
        "VPC network of jobs and private endpoints, projects/NUMBER/global/networks/NAME", None
    )
    encryption_key: str | None = key(
        "customer-managed key of jobs, models and endpoints, projects/P/.../K", None
    )
    labels: dict[str, str] = key("on every job, for the bill", {})
    poll_seconds: int = key("between two looks at a job", unit="seconds", ge=1, le=600)
    retry_seconds: int = key("before a failed task's first retry", unit="seconds", ge=1, le=3600)
    dataflow: Dataflow = key("what the export runs on")
    compare: Compare = key("what the comparison runs on")

    def private_network(self) -> str:
        """The network of private endpoints. Raises PlatformError if the group names none."""
        if not self.network:
            raise PlatformError(
                "deploy.private keeps the endpoint inside the group's network, and platform.yaml "
                "names none (network: projects/NUMBER/global/networks/NAME)."
            )
        return self.network

    def table(self, name: str) -> str:
        """PROJECT.DATASET.TABLE of a name that may lack its project."""
        return name if name.count(".") == 2 else f"{self.project}.{name}"

    def own_table(self, name: str) -> str:
        """PROJECT.DATASET.NAME of a table, view or model that a run makes."""
        return f"{self.project}.{self.dataset}.{name}"

    def image(self, name: str, tag: str) -> str:
        """Address of a job image: `trainer`, `export`."""
        return f"{self.registry}/{name}:{tag}"

    def uri(self, path: str) -> str:
        """A gs:// address: `path` itself if it is one, else a path in the group's bucket."""
        return path if path.startswith("gs://") else f"gs://{self.bucket}/{path.lstrip('/')}"


@functools.cache
def load() -> Platform:
    """The group's platform. Raises FileError with everything that is wrong with its file."""
    return read(PATH)


def read(path: Path) -> Platform:
    """Read and check a platform file. Raises FileError."""
    document = parse(str(path), path.read_text())
    platform, problems = check(Platform, document.values)
    if platform is None:
        raise document.error(problems)
    return platform
