"""Platform: the group's Google Cloud, as platform.yaml beside the DAG file names it."""

import os
import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, ValidationInfo, field_validator

from trellis.workflow.spec import yaml_file
from trellis.workflow.spec.notifier import Notifier
from trellis.workflow.spec.problems import Problem, about_file
from trellis.workflow.spec.profile import Profile
from trellis.workflow.spec.quantities import USD, Duration
from trellis.workflow.spec.schedule import Schedule
from trellis.workflow.spec.section_validation import validate_section
from trellis.workflow.spec.sections import Section, broken, key

FILE = "platform.yaml"

CHOICE = "TRELLIS_PLATFORM"
"""Environment variable that names another file, for example platform-dev.yaml."""


_NOT_EU = ("europe-west2", "europe-west6")
"""London and Zurich are in Europe, and not in BigQuery's multi-region EU.
https://docs.cloud.google.com/bigquery/docs/locations#multi-regions"""

_SUBNETWORK = re.compile(
    r"(https://www\.googleapis\.com/compute/v1/projects/[^/]+/)?"
    r"regions/(?P<region>[a-z0-9-]+)/subnetworks/[a-z][a-z0-9-]*"
)


_TENSORBOARD = re.compile(
    r"projects/[a-z0-9-]+/locations/(?P<region>[a-z0-9-]+)/tensorboards/[0-9]+"
)


class PlatformError(ValueError):
    """The group's Google Cloud does not match platform.yaml; the message names the key."""


class Dataflow(Section):
    """Machines of the export."""

    machine_type: str = key("Compute Engine machine type of a worker", "n1-standard-4")
    max_workers: int = key("maximum number of workers", 2, ge=1, le=1000)
    timeout: Duration = key("when an export is stopped")


class Compare(Section):
    """Machines of the comparison."""

    machine_type: str = key("Compute Engine machine type", "n1-standard-4")
    timeout: Duration = key("when a comparison is stopped")


class JobMachines(Section):
    """Machines of all jobs of Vertex AI."""

    wait: Duration = key(
        "time that a job waits for its machines, unless its experiment's `machines.wait` is "
        "another, and that a deployment or an import may take; then its task fails, and a job is "
        "cancelled",
        timedelta(days=3),
    )


class Pools(Section):
    """Airflow pools in which jobs wait for quota instead of failing; a slot is a machine.

    Airflow counts waiting jobs only in pools made with `--include-deferred`.
    """

    vertex: str | None = key(
        "pool of Vertex AI's jobs: tuning takes `tune.parallel` slots, a training one for each "
        "worker, a batch prediction one for each replica, comparison and AutoML one",
        None,
        min_length=1,
    )
    dataflow: str | None = key(
        "pool of exports: each takes `dataflow.max_workers` slots", None, min_length=1
    )


class Limits(Section):
    """US dollars a calendar month (UTC), of training runs: no predictions, no deployed models."""

    group: USD | None = key("limit for all runs of the group", None)
    owners: dict[str, USD] = key("limits for the runs of each `owner`", {})


class Access(Section):
    """Airflow's roles that may see the group's DAGs, and change them.

    For an auth manager with rights by DAG: FAB's, which Composer has.
    """

    readers: list[str] = key("roles that may see every DAG and its runs", [])
    owners: dict[str, list[str]] = key(
        "by `owner` of an experiment: roles that may also trigger its DAGs, clear and delete runs"
    )


class Digest(Section):
    """A message of what the group's runs came to: the DAG `digest`."""

    schedule: Schedule = key("when it is sent (UTC)", "@weekly")
    days: int = key("number of days that it summarizes", 7, ge=1, le=366)


class IdleEndpoints(Section):
    """Endpoints without requests: the DAG `idle_endpoints`."""

    schedule: Schedule = key("when they are looked for (UTC)", "@daily")
    days: int = key("number of days without a request; Google counts no longer", 14, ge=1, le=42)
    undeploy: bool = key("undeploy their models, rather than only name them", False)


class Retention(Section):
    """Days for which data and models are kept that nobody needs; `trellis clean` removes others.

    Kept in any case: the runs from which a version of a model came, the newest result of each
    experiment, the datasets of kept runs, and the index of all runs.
    """

    runs: int = key("days after its end that a run is kept, with the models of its baselines", ge=7)
    predictions: int = key("days that files and tables of predictions are kept", 90, ge=1)
    temporary: int = key("days that temporary files of exports are kept", 7, ge=2)


class Watch(Section):
    """The look for new data and champions that experiments wait for: the DAG `watch`."""

    schedule: Schedule = key("when it looks (UTC)", "*/15 * * * *")


class Serving(Section):
    """Resources that deployed models and batch predictions may reach: they answer any permitted
    caller.
    """

    service_account: str | None = key(
        "service account of deployed models and batch predictions; it needs to read the model's "
        "files and the images that requests name, nothing else. None: the jobs' `service_account`",
        None,
    )
    image_uris: list[Annotated[str, StringConstraints(pattern=r"^gs://[^/]+/(.*/)?$")]] = key(
        "folders, gs://BUCKET/ or gs://BUCKET/FOLDER/, whose images a request may name by "
        "address; none: whatever the service account may read",
        [],
    )

    def reads(self, address: str) -> bool:
        """Return whether a request may name the image at a gs:// address."""
        return not self.image_uris or address.startswith(tuple(self.image_uris))


class Platform(Section):
    """Names and limits that all experiments of a group share."""

    project: str = key("Google Cloud project", pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$")
    region: str = key("region of all jobs", pattern=r"^[a-z]+-[a-z]+[0-9]+$")
    bucket: str = key("bucket of all files, without gs://", pattern=r"^[a-z0-9][a-z0-9._-]+$")
    dataset: str = key(
        "BigQuery dataset of snapshots and models, created if it does not exist",
        "trellis",
        pattern=r"^[A-Za-z0-9_]+$",
    )
    location: str = key("location of that dataset and of all tables that experiments read", "US")
    registry: str = key("registry of the job images: their address without name and tag")
    images: str | None = key(
        "file of local_gcp that says which environments of this machine stand for images, relative "
        "to platform.yaml; for a small machine only",
        None,
    )
    connection: str = key("Airflow connection to Google Cloud", "google_cloud_default")
    dag_prefix: str | None = key(
        "prefix of the ids of the group's DAGs, in an Airflow that others use too",
        None,
        pattern=r"^[a-z][a-z0-9_-]{0,29}$",
    )
    profile: Profile | None = key(
        "local: experiments take their section `local`, for runs on a small machine", None
    )
    access: Access | None = key(
        "Airflow's roles by owner; without it, Airflow's rights to all DAGs decide", None
    )
    limits: Limits | None = key(
        "limits of the cost of runs in a month; a run that might cost more than is left is refused",
        None,
    )
    notify: dict[str, Notifier] = key("recipients of failure messages, beside the task's log", {})
    digest: Digest | None = key(
        "a regular summary of runs and their costs, to `notify` and in a log", None
    )
    idle_endpoints: IdleEndpoints | None = key(
        "a regular search for deployed endpoints without requests", None
    )
    retention: Retention | None = key(
        "how long data and models are kept; without it, `trellis clean` removes nothing", None
    )
    watch: Watch = key(
        "schedule of the look for new data and champions that experiments wait for",
        Watch(),
    )
    service_account: str | None = key(
        "service account of jobs, and of deployed models without `serving`", None
    )
    serving: Serving = key(
        "resources that deployed models and batch predictions may reach", Serving()
    )
    tensorboard: str | None = key(
        "Vertex AI TensorBoard that trials and trainings upload their curves and hyperparameters "
        "to, projects/P/locations/REGION/tensorboards/ID; in the jobs' region, and only with a "
        "service account that may write there",
        None,
    )
    experiments: bool = key(
        "write the contenders of each run, with hyperparameters and scores on the test split, to "
        "Vertex AI Experiments",
        False,
    )
    network: str | None = key(
        "VPC network of jobs and private endpoints, projects/NUMBER/global/networks/NAME",
        None,
        pattern=r"^projects/[0-9]+/global/networks/[a-z][a-z0-9-]*$",
    )
    subnetwork: str | None = key(
        "subnetwork of Dataflow's workers, regions/REGION/subnetworks/NAME; needed unless the "
        "network makes its own. One of a shared VPC: its address, "
        "https://www.googleapis.com/compute/v1/projects/HOST/regions/REGION/subnetworks/NAME",
        None,
    )
    private_addresses: bool = key(
        "give Dataflow's workers no public address; the subnetwork needs Private Google Access",
        False,
    )
    encryption_key: str | None = key(
        "customer-managed key of jobs, models and endpoints, projects/P/.../K", None
    )
    # Google's minimums, as https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/
    # bigqueryml-syntax-create-automl#limitations and Vertex AI's beginner's guide to images have
    # them. Only a platform that is not Google's has others.
    automl_minimum_rows: int = key("fewest rows that AutoML learns from", 1000, ge=1)
    automl_minimum_images: int = key("fewest images of a class that AutoML learns from", 100, ge=1)
    labels: dict[str, str] = key("labels of every job, for billing reports", {})
    poll_seconds: int = key("interval between two polls of a job", 30, unit="seconds", ge=1, le=600)
    retry_seconds: int = key("delay before a task's first retry", 60, unit="seconds", ge=1, le=3600)
    machines: JobMachines = key("machines of all jobs of Vertex AI", JobMachines())
    pools: Pools = key("Airflow pools that limit how many machines work at once", Pools())
    dataflow: Dataflow = key("machines of the export")
    compare: Compare = key("machines of the comparison")

    @field_validator("location")
    @classmethod
    def _beside_the_bucket(cls, location: str, info: ValidationInfo) -> str:
        """Extracts and loads need both in one place; only the US multi-region goes with all.

        https://docs.cloud.google.com/bigquery/docs/exporting-data#data-locations
        """
        region = info.data.get("region")
        if region is None or location.upper() == "US" or location.lower() == region:
            return location
        if location.upper() == "EU" and region.startswith("europe-") and region not in _NOT_EU:
            return location
        raise broken(
            f"'{location}' does not fit the bucket and jobs in {region}: BigQuery exports to a "
            f"bucket beside its dataset only; expected {region}, US, or EU for a region in the EU"
        )

    @field_validator("tensorboard")
    @classmethod
    def _of_the_region(cls, tensorboard: str | None, info: ValidationInfo) -> str | None:
        """https://docs.cloud.google.com/vertex-ai/docs/experiments/tensorboard-training."""
        if tensorboard is None:
            return None
        found = _TENSORBOARD.fullmatch(tensorboard)
        if not found:
            raise broken(
                f"got '{tensorboard}'; expected projects/PROJECT/locations/REGION/tensorboards/ID, "
                "the ID a number: `gcloud ai tensorboards list` has it"
            )
        _check_beside_jobs(found["region"], info)
        if not info.data.get("service_account"):
            raise broken("needs `service_account`: jobs upload as it, and as no default account")
        return tensorboard

    @field_validator("subnetwork")
    @classmethod
    def _in_the_region(cls, subnetwork: str | None, info: ValidationInfo) -> str | None:
        if subnetwork is None:
            return None
        found = _SUBNETWORK.fullmatch(subnetwork)
        if not found:
            raise broken(
                f"got '{subnetwork}'; expected regions/REGION/subnetworks/NAME, or "
                "https://www.googleapis.com/compute/v1/projects/HOST/regions/REGION/subnetworks/NAME"
            )
        _check_beside_jobs(found["region"], info)
        return subnetwork

    @field_validator("private_addresses")
    @classmethod
    def _somewhere(cls, private: bool, info: ValidationInfo) -> bool:
        if private and not (info.data.get("network") or info.data.get("subnetwork")):
            raise broken("in which network? Name it: `subnetwork: regions/REGION/subnetworks/NAME`")
        return private

    def private_network(self) -> str:
        """The network of private endpoints. Raises PlatformError if the group names none."""
        if not self.network:
            raise PlatformError(
                "A private endpoint (deploy.private) needs the group's network, and platform.yaml "
                "names none (network: projects/NUMBER/global/networks/NAME)."
            )
        return self.network

    def dag_id(self, name: str) -> str:
        """Id of the group's DAG with this name: an experiment's, or another."""
        return f"{self.dag_prefix or ''}{name}"

    def table(self, name: str) -> str:
        """PROJECT.DATASET.TABLE of a name that may lack its project."""
        return name if name.count(".") == 2 else f"{self.project}.{name}"

    @property
    def serving_account(self) -> str | None:
        """The service account of deployed models and batch predictions."""
        return self.serving.service_account or self.service_account

    def own_table(self, name: str) -> str:
        """PROJECT.DATASET.NAME of a table, view or model that a run makes."""
        return f"{self.project}.{self.dataset}.{name}"

    def image(self, name: str, tag: str) -> str:
        """Address of an image of docker/Dockerfile: `trainer`, `serve`, `export`."""
        return f"{self.registry}/{name}:{tag}"

    def uri(self, path: str) -> str:
        """A gs:// address: `path` itself if it is one, else a path in the group's bucket."""
        return path if path.startswith("gs://") else f"gs://{self.bucket}/{path.lstrip('/')}"


def _check_beside_jobs(region: str, info: ValidationInfo) -> None:
    """Raise for a resource of another region than that of the jobs."""
    jobs = info.data.get("region")
    if jobs is not None and region != jobs:
        raise broken(f"is in {region}, and jobs run in {jobs} (region)")


def load(folder: Path) -> Platform:
    """The group's platform: platform.yaml in the folder of its DAG files.

    TRELLIS_PLATFORM names another file, in that folder or by an absolute path: one for development,
    one for production. Raises FileError with everything that is wrong with the file.
    """
    return read(folder / os.environ.get(CHOICE, FILE))


def read(path: Path, more: Callable[[Platform], Iterable[Problem]] | None = None) -> Platform:
    """Read and check a platform file. more: yields further problems. Raises FileError."""
    with about_file(path):
        document = yaml_file.read(path, CHOICE if CHOICE in os.environ else "")
        platform, problems = validate_section(Platform, document.values)
        if platform is None:
            raise document.error(problems)
        if more is not None and (problems := list(more(platform))):
            raise document.error(problems)
        if platform.images is None:
            return platform
        images = (path.parent / platform.images).resolve()
        return platform.model_copy(update={"images": str(images)})
