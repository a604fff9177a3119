"""Each fault is found, alone and with all others; without faults there are no findings."""

import io
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.trellis.doctor.conftest import AGENTS, COMPOSER, KEY, SUBNETWORK, composer, key_policy
from trellis.doctor.runner import diagnose

JOBS = "jobs@local-gcp.iam.gserviceaccount.com"
REPOSITORY = "projects/local-gcp/locations/us-central1/repositories/trellis"
VERTEX = "aiplatform.googleapis.com"


@dataclass(frozen=True)
class Fault:
    """A planted fault, and parts of its finding: the problem, and its fix."""

    problem: str
    fix: str
    facts: dict[str, Any] = field(default_factory=dict)
    platform: dict[str, Any] = field(default_factory=dict)


FAULTS = {
    "an API is off": Fault(
        "dataflow.googleapis.com is not enabled in local-gcp.",
        "gcloud services enable dataflow.googleapis.com --project=local-gcp",
        {"disabled_apis": ["dataflow.googleapis.com"]},
    ),
    "no triggerer": Fault(
        "The environment lab has no triggerer.",
        "gcloud composer environments update lab --project=local-gcp --location=us-central1 "
        "--triggerer-count=1",
        {"resources": {COMPOSER: composer(triggerers=0)}},
    ),
    "an image was not pushed": Fault(
        "There is no image us-central1-docker.pkg.dev/local-gcp/trellis/serve:0.1.0.",
        "terraform -chdir=infra output -raw release",
        {"absent": [f"{REPOSITORY}/packages/serve/tags/0.1.0"]},
    ),
    "a role in the project is lacking": Fault(
        "lacks aiplatform.endpoints.deploy in local-gcp.",
        "--role=roles/aiplatform.user",
        {"missing_permissions": ["aiplatform.endpoints.deploy"]},
    ),
    "a role on the bucket is lacking": Fault(
        "lacks storage.objects.create on gs://doctor",
        "--role=roles/storage.objectUser",
        {"missing_permissions": ["storage.objects.create"]},
    ),
    "a role on the dataset is lacking": Fault(
        "lacks bigquery.tables.updateData in the dataset doctor",
        "--role=roles/bigquery.dataEditor",
        {"missing_permissions": ["bigquery.tables.updateData"]},
    ),
    "Airflow may not use the job account": Fault(
        f"lacks iam.serviceAccounts.actAs on {JOBS}.",
        f"gcloud iam service-accounts add-iam-policy-binding {JOBS}",
        {"missing_permissions": ["iam.serviceAccounts.actAs"]},
    ),
    "the bucket is elsewhere": Fault(
        "gs://doctor-eu is in EUROPE-WEST1, jobs run in us-central1.",
        "--location=us-central1",
        platform={"bucket": "doctor-eu"},
    ),
    "the dataset is elsewhere": Fault(
        "The dataset doctor_eu is in EU, platform.yaml has US",
        "name another dataset",
        platform={"dataset": "doctor_eu"},
    ),
    "too few machines for a training": Fault(
        "Quota custom_model_training_preemptible_cpus of Vertex AI in us-central1 leaves 8, and "
        "few-rows.yaml, tune asks for 84.",
        "https://console.cloud.google.com/iam-admin/quotas?project=local-gcp",
        {"quotas": {f"{VERTEX}/custom_model_training_preemptible_cpus": 8}},
    ),
    "too few machines for an export": Fault(
        "Quota CPUS of Compute Engine in us-central1 leaves 8, and platform.yaml, dataflow asks "
        "for 9.",
        "https://console.cloud.google.com/iam-admin/quotas?project=local-gcp",
        {"quotas": {"compute.googleapis.com/CPUS": 8}},
    ),
    "no Private Google Access": Fault(
        "The subnetwork lab has no Private Google Access.",
        "gcloud compute networks subnets update lab --project=local-gcp --region=us-central1 "
        "--enable-private-ip-google-access",
        {
            "resources": {
                SUBNETWORK: {"name": "lab", "network": "networks/lab"},
            }
        },
    ),
    "a service may not use the key": Fault(
        "bq-100000000001@bigquery-encryption.iam.gserviceaccount.com may not use the key.",
        f"gcloud kms keys add-iam-policy-binding {KEY}",
        {"resources": {f"{KEY}:policy": key_policy(AGENTS[0], *AGENTS[2:])}},
    ),
}


def merged(faults):
    """All facts and changes of platform.yaml together."""
    facts, platform = {}, {}
    for fault in faults:
        platform |= fault.platform
        for name, value in fault.facts.items():
            known = facts.get(name, type(value)())
            facts[name] = known + value if isinstance(value, list) else known | value
    return facts, platform


def test_in_health_nothing_is_found(target):
    out = io.StringIO()
    assert diagnose(target(), out) == []
    assert out.getvalue().count("good") == 19


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(target, plant, fault):
    plant(**fault.facts)
    (finding,) = diagnose(target(**fault.platform), io.StringIO())
    assert fault.problem in finding.problem
    assert fault.fix in finding.fix


def test_all_faults_together_are_found(target, plant):
    facts, platform = merged(FAULTS.values())
    plant(**facts)
    out = io.StringIO()
    findings = diagnose(target(**platform), out)
    for name, fault in FAULTS.items():
        problem = fault.problem
        for there, here in (
            ("gs://doctor", "gs://doctor-eu"),
            ("dataset doctor", "dataset doctor_eu"),
        ):
            problem = problem.replace(there, here) if not fault.platform else problem
        assert [f for f in findings if problem in f.problem and fault.fix in f.fix], name
    assert len(findings) == len(FAULTS)
    print(out.getvalue())
