"""A project in which all is well, and faults to plant in it: HOME/project.json of local_gcp."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.airflow_side import ROOT
from trellis.doctor.runner import DIAGNOSES, diagnose
from trellis.doctor.target import Target, read
from trellis.workflow.pricing.machines import table
from trellis.workflow.spec.source import ImageSource, TableSource

PROJECT, NUMBER, REGION = "local-gcp", "100000000001", "us-central1"
KEY = f"projects/{PROJECT}/locations/{REGION}/keyRings/lab/cryptoKeys/lab"
NETWORK = f"projects/{NUMBER}/global/networks/lab"
SUBNETWORK = f"projects/{PROJECT}/regions/{REGION}/subnetworks/lab"
COMPOSER = f"projects/{PROJECT}/locations/{REGION}/environments/lab"
BUILDS = f"projects/{PROJECT}/locations/{REGION}/imageVersions/composer-3-airflow-"

AGENTS = [
    "service-{}@gcp-sa-aiplatform",
    "bq-{}@bigquery-encryption",
    "service-{}@gs-project-accounts",
    "service-{}@dataflow-service-producer-prod",
    "service-{}@compute-system",
]


def key_policy(*agents: str) -> dict[str, Any]:
    accounts = [f"serviceAccount:{a.format(NUMBER)}.iam.gserviceaccount.com" for a in agents]
    role = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
    return {"bindings": [{"role": role, "members": accounts}]}


def composer(triggerers: int = 1, image: str = "3.3.1-build.0", **packages: str) -> dict[str, Any]:
    listed = {
        "trellis-airflow": f"=={version('trellis-airflow')}",
        "apache-airflow-providers-google": "==22.8.0",
        **{name.replace("_", "-"): pin for name, pin in packages.items()},
    }
    software = {"imageVersion": f"composer-3-airflow-{image}", "pypiPackages": listed}
    workloads = {"triggerer": {"count": triggerers}}
    config = {"softwareConfig": software, "workloadsConfig": workloads}
    return {"state": "RUNNING", "config": config}


# As Terraform makes it, with a network and a key.
RESOURCES: dict[str, Any] = {
    COMPOSER: composer(),
    NETWORK: {
        "name": "lab",
        "autoCreateSubnetworks": False,
        "peerings": [{"name": "servicenetworking-googleapis-com", "state": "ACTIVE"}],
    },
    SUBNETWORK: {
        "name": "lab",
        "network": f"https://www.googleapis.com/compute/v1/{NETWORK}",
        "privateIpGoogleAccess": True,
    },
    KEY: {"purpose": "ENCRYPT_DECRYPT", "primary": {"state": "ENABLED"}},
    f"{KEY}:policy": key_policy(*AGENTS),
    f"projects/{PROJECT}/locations/{REGION}/keyRings/lab": {"name": "lab"},
}

Plant = Callable[..., None]


def found(target: Any, title: str) -> list[str]:
    """Problems and fixes of one diagnosis."""
    chosen = [each for each in DIAGNOSES if each.title == title]
    return [f"{f.problem} {f.fix}" for f in diagnose(target, io.StringIO(), chosen)]


@pytest.fixture(scope="session")
def made(google: Any) -> None:
    """Bucket, dataset, tables and manifests of the group; and a bucket and a dataset elsewhere."""
    from google.cloud import bigquery, storage

    buckets = storage.Client()
    for name, location in (("doctor", REGION), ("doctor-eu", "europe-west1")):
        buckets.create_bucket(name, location=location)
    client = bigquery.Client()
    for name, location in (("doctor", "US"), ("doctor_eu", "EU"), ("research", "US")):
        dataset = bigquery.Dataset(f"{PROJECT}.{name}")
        dataset.location = location
        client.create_dataset(dataset, exists_ok=True)
    sources = [experiment.source for experiment in read(ROOT / "dags")[1].values()]
    for source in sources:
        if isinstance(source, TableSource):
            # Columns that the experiments' queries name.
            names = ("sample_id", "malignant", "measured_on", "patient", "days", "recurred")
            columns = [bigquery.SchemaField(name, "STRING") for name in names]
            wanted = bigquery.Table(f"{PROJECT}.{source.bigquery}", columns)
            client.create_table(wanted, exists_ok=True)
        if isinstance(source, ImageSource):
            for name in ("doctor", "doctor-eu"):
                buckets.bucket(name).blob(source.images).upload_from_string("")


@pytest.fixture
def plant(google: Any, made: None) -> Iterator[Plant]:
    """Says what is in the project, until the test ends; all is well at first."""
    file: Path = google.home / "project.json"

    def write(resources: dict[str, Any] | None = None, **facts: Any) -> None:
        there = {**RESOURCES, **(resources or {})}
        kept = {name: fields for name, fields in there.items() if fields is not None}
        file.write_text(json.dumps({**facts, "resources": kept}))

    write()
    yield write
    file.unlink()


@pytest.fixture
def target(plant: Plant) -> Callable[..., Target]:
    """The demo's group, in that project; with changes of platform.yaml."""
    demo, experiments = read(ROOT / "dags")

    def make(**changes: Any) -> Target:
        values = {
            **demo.model_dump(),
            "bucket": "doctor",
            "dataset": "doctor",
            "network": NETWORK,
            "subnetwork": f"regions/{REGION}/subnetworks/lab",
            "private_addresses": True,
            "encryption_key": KEY,
            **changes,
        }
        # A day on which the table's prices are not old.
        today = date.fromisoformat(table().date) + timedelta(days=30)
        return Target(type(demo)(**values), experiments, today=today)

    return make
