"""Further problems that the diagnoses find, beside those of test_runner.py; each runs alone."""

import dataclasses
import time
from datetime import timedelta
from pathlib import Path

import pytest
from google.cloud.aiplatform_v1 import JobServiceClient

from tests.trellis.doctor.conftest import (
    BUILDS,
    COMPOSER,
    KEY,
    NETWORK,
    SUBNETWORK,
    composer,
    found,
)
from tests.trellis.programs.killed_tasks import pool
from tests.wording import says
from trellis.doctor import demand
from trellis.doctor.diagnoses import airflow, perimeter, prices, quotas
from trellis.doctor.findings import Notice, Passed
from trellis.google_api import RefusedError
from trellis.workflow.spec.source import TableSource

ACCOUNT = "projects/-/serviceAccounts/jobs@local-gcp.iam.gserviceaccount.com"
PEERED = {"peerings": [{"name": "servicenetworking-googleapis-com", "state": "ACTIVE"}]}


@pytest.mark.parametrize(
    ("title", "facts", "expected"),
    [
        (
            "Composer",
            {COMPOSER: composer(image="3.1.0-build.2")},
            "has composer-3-airflow-3.1.0-build.2: Airflow 3.3.1 or later is needed.",
        ),
        (
            "Composer",
            {COMPOSER: composer(apache_airflow_providers_google="==22.4.0")},
            "lists apache-airflow-providers-google==22.4.0; apache-airflow-providers-google==",
        ),
        ("Composer", {COMPOSER: composer(trellis_airflow="==0.0.9")}, "trellis-airflow==0.0.9;"),
        ("Composer", {COMPOSER: composer(trellis_airflow="")}, "lists trellis-airflow;"),
        ("Composer", {COMPOSER: {**composer(), "state": "ERROR"}}, "The environment lab is ERROR."),
        (
            "Composer",
            {COMPOSER: {"state": "RUNNING", "config": {}}},
            "No Composer environment in us-central1 has trellis-airflow (lab).",
        ),
        (
            "Network",
            {NETWORK: {"name": "lab"}},
            "The network lab is not peered with Google's services.",
        ),
        (
            "Network",
            {SUBNETWORK: {"network": "global/networks/other", "privateIpGoogleAccess": True}},
            "The subnetwork lab is part of other, not of lab.",
        ),
        ("Encryption key", {KEY: {"primary": {"state": "DISABLED"}}}, "version is DISABLED."),
        (
            "Service accounts",
            {ACCOUNT: {"disabled": True}},
            "is disabled. gcloud iam service-accounts",
        ),
    ],
)
def test_resources_that_are_not_as_they_should_be(target, plant, title, facts, expected):
    plant(resources=facts)
    (problem,) = found(target(), title)
    assert expected in problem


@pytest.mark.parametrize(
    ("title", "absent", "expected"),
    [
        ("Service accounts", ACCOUNT, "There is no service account jobs@local-gcp"),
        ("Encryption key", KEY, f"There is no key {KEY}."),
        ("Network", NETWORK, f"There is no network {NETWORK}."),
        ("Network", SUBNETWORK, f"There is no subnetwork {SUBNETWORK}."),
    ],
)
def test_resources_that_are_not_there(target, plant, title, absent, expected):
    plant(absent=[absent])
    (problem,) = found(target(), title)
    assert expected in problem


@pytest.mark.parametrize(
    ("title", "changes", "expected"),
    [
        ("Service accounts", {"service_account": None}, "platform.yaml names no service_account."),
        ("Bucket", {"bucket": "nowhere"}, "There is no bucket gs://nowhere. gcloud storage"),
        (
            "Encryption key",
            {"encryption_key": KEY.replace("us-central1", "europe-west4")},
            "There is no key projects/local-gcp/locations/europe-west4/",
        ),
        (
            "Network",
            {"subnetwork": None, "private_addresses": False},
            "The network lab has no automatic subnetworks, and platform.yaml names none.",
        ),
    ],
)
def test_a_platform_file_that_does_not_fit(target, title, changes, expected):
    (problem,) = found(target(**changes), title)
    assert expected in problem


def test_a_dataset_that_is_not_there(target, plant):
    assert found(target(dataset="later"), "Dataset") == []
    plant(missing_permissions=["bigquery.datasets.create"])
    (problem,) = found(target(dataset="later"), "Dataset")
    assert says(problem, "bq mk", "--location=US", "local-gcp:later")


def builds(**disabled):
    """Composer's builds by number; of each, what it is disabled for."""
    return {
        f"{BUILDS}{number}": {f"{what}Disabled": True for what in whats}
        for number, whats in disabled.items()
    }


@pytest.mark.parametrize(
    ("listed", "problem", "fix"),
    [
        ({"3.3.1-build.0": []}, None, None),
        # A list that is empty says nothing about one build.
        ({}, None, None),
        (
            {"3.3.1-build.0": ["creation"], "3.3.1-build.9": [], "3.3.1-build.10": []},
            "with which Composer makes no environment",
            "--image-version=composer-3-airflow-3.3.1-build.10",
        ),
        # One that is gone from the list, too; later builds with which none is made are no way out.
        (
            {"3.3.2-build.4": ["creation"], "3.10.0-build.1": [], "3.9.0-build.7": []},
            "with which Composer makes no environment",
            "--image-version=composer-3-airflow-3.10.0-build.1",
        ),
        (
            {"3.3.1-build.0": ["creation", "upgrade"], "3.4.0-build.0": []},
            "from which Composer upgrades no environment",
            "Make a second environment",
        ),
    ],
)
def test_the_build_of_the_environment(target, plant, listed, problem, fix):
    plant(resources=builds(**listed))
    problems = found(target(), "Composer")
    assert len(problems) == (problem is not None)
    for text in problems:
        assert problem in text
        assert fix in text


@pytest.mark.parametrize("alive", [True, False])
def test_without_composer_the_airflow_here_counts(target, plant, monkeypatch, alive):
    plant(absent=[], resources={COMPOSER: None})
    monkeypatch.setattr(airflow, "_triggerer_alive", lambda: alive)
    problems = found(target(), "Composer")
    assert len(problems) == (not alive)
    assert all(says(problem, "no Composer", "us-central1") for problem in problems)


def test_a_database_without_a_triggerer(airflow_database):
    assert not airflow._triggerer_alive()


def policy(constraint, *rules):
    return {f"projects/local-gcp/policies/{constraint}": {"spec": {"rules": list(rules)}}}


@pytest.mark.parametrize(
    ("changes", "policies", "expected"),
    [
        ({}, {}, []),
        ({}, policy("compute.vmExternalIpAccess", {"denyAll": True}), []),
        (
            {"private_addresses": False},
            policy("compute.vmExternalIpAccess", {"denyAll": True}),
            ["compute.vmExternalIpAccess allows no external addresses"],
        ),
        (
            {"encryption_key": None},
            policy(
                "gcp.restrictNonCmekServices",
                {
                    "values": {
                        "deniedValues": ["bigquery.googleapis.com", "sqladmin.googleapis.com"]
                    }
                },
            ),
            ["wants keys of the organization's for bigquery.googleapis.com, and"],
        ),
        (
            {},
            policy("gcp.resourceLocations", {"values": {"allowedValues": ["in:us-locations"]}}),
            [],
        ),
        (
            {},
            policy("gcp.resourceLocations", {"values": {"allowedValues": ["in:eu-locations"]}}),
            ["gcp.resourceLocations does not allow us-central1"],
        ),
        (
            {},
            policy(
                "gcp.resourceLocations",
                {"values": {"allowedValues": ["in:europe-west4-locations", "us-central1"]}},
            ),
            ["does not allow us."],
        ),
        (
            {"private_addresses": False},
            policy(
                "compute.vmExternalIpAccess",
                {"values": {"allowedValues": ["projects/p/zones/z/instances/bastion"]}},
            ),
            ["compute.vmExternalIpAccess allows no external addresses"],
        ),
        (
            {},
            policy(
                "gcp.restrictCmekCryptoKeyProjects",
                {"values": {"allowedValues": ["projects/keys"]}},
            ),
            ["allows keys of projects/keys alone"],
        ),
        (
            {},
            policy(
                "gcp.restrictCmekCryptoKeyProjects",
                {"values": {"allowedValues": ["under:folders/7", "under:projects/keys"]}},
            ),
            [],
        ),
        (
            {},
            policy(
                "gcp.restrictServiceUsage",
                {"values": {"deniedValues": ["dataflow.googleapis.com"]}},
            ),
            ["gcp.restrictServiceUsage does not allow dataflow.googleapis.com."],
        ),
        # A group that is not known may have it.
        (
            {},
            policy(
                "gcp.resourceLocations", {"values": {"allowedValues": ["in:low-carbon-locations"]}}
            ),
            [],
        ),
    ],
)
def test_policies_of_the_organization(plant, target, changes, policies, expected):
    plant(resources=policies)
    problems = found(target(**changes), "Organization policies")
    assert len(problems) == len(expected)
    for text, problem in zip(expected, problems, strict=True):
        assert text in problem


RUN = [f"{name}.googleapis.com" for name in perimeter.SERVICES]


def inside(restricted=("bigquery.googleapis.com",), policy_number=5, **status):
    """The project below a folder of an organization, in a perimeter of its access policy."""
    path = f"accessPolicies/{policy_number}"
    status = {"resources": ["projects/100000000001"], "restrictedServices": restricted, **status}
    return {
        "folders/7": {"parent": "organizations/9"},
        path: {"parent": "organizations/9"},
        f"{path}/servicePerimeters/lab": {"title": "lab's data", "status": status},
    }


@pytest.mark.parametrize(
    ("changes", "resources", "expected"),
    [
        ({}, inside(), []),
        ({"network": None}, inside(resources=["projects/1"]), []),
        ({"network": None}, inside(restricted=()), []),
        ({"network": None}, inside(), ["in the perimeter lab's data, and platform.yaml gives"]),
        (
            {},
            inside(vpcAccessibleServices={"enableRestriction": True, "allowedServices": RUN[:-1]}),
            ["The perimeter lab's data lets its networks reach no storage."],
        ),
        (
            {},
            inside(
                restricted=RUN,
                vpcAccessibleServices={
                    "enableRestriction": True,
                    "allowedServices": ["RESTRICTED-SERVICES"],
                },
            ),
            [],
        ),
    ],
    ids=["agrees", "of others", "of no service", "no network", "closed", "open"],
)
def test_the_perimeter_of_the_project(plant, target, changes, resources, expected):
    plant(resources=resources, parent="folders/7")
    problems = found(target(**changes), "Perimeter")
    assert len(problems) == len(expected)
    for text, problem in zip(expected, problems, strict=True):
        assert text in problem


def test_a_source_outside_the_perimeter_is_said(plant, target):
    group = target()
    experiment = next(
        each for each in group.experiments.values() if isinstance(each.source, TableSource)
    )
    source = experiment.source.model_copy(update={"bigquery": "other-lab.research.rows"})
    moved = experiment.model_copy(update={"source": source})
    elsewhere = dataclasses.replace(group, experiments={Path("a.yaml"): moved})
    for number, said in (("projects/2", 1), ("projects/100000000001", 0)):
        plant(resources={**inside(), "projects/other-lab": {"name": number}}, parent="folders/7")
        notices = [each for each in perimeter.diagnose(elsewhere) if isinstance(each, Notice)]
        assert ["other-lab is not in the perimeter" in each.problem for each in notices] == [
            True
        ] * said


def test_a_project_without_an_organization_is_in_no_perimeter(target):
    (passed,) = perimeter.diagnose(target())
    assert passed.text == "the project is in no organization"


def test_who_may_not_see_the_perimeters_gets_the_command_that_allows_it(plant, target):
    def refuse(url, field, **parameters):
        raise RefusedError(403, "The caller does not have permission")

    plant(parent="organizations/9")
    group = target()
    group.api.items = refuse
    (missing,) = perimeter.diagnose(group)
    assert says(missing.fix, "gcloud organizations", " 9 --member=")
    assert missing.fix.endswith("=roles/accesscontextmanager.policyReader")


def test_old_prices_and_prices_of_another_region(target):
    old = dataclasses.replace(target(), today=target().today + timedelta(days=151))
    (finding, _) = prices.diagnose(old)
    assert "days ago" in finding.problem
    assert finding.fix == "trellis prices --write"
    older = dataclasses.replace(target(), today=target().today + timedelta(days=300))
    (_, automl, composer, _) = prices.diagnose(older)
    assert says(automl.problem, "AutoML", "2026-10-07")
    assert says(automl.fix, "prices.json", "vertex-ai/pricing")
    assert says(composer.problem, "Composer")
    there = target(region="europe-west4", subnetwork=None, private_addresses=False)
    (finding, others, _) = prices.diagnose(there)
    assert says(others.problem, "services", "us-central1")
    assert says(finding.problem, "us-central1", "europe-west4")


@pytest.fixture
def running(google):
    """A job on one n1-standard-4, of four vCPUs."""
    options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    jobs = JobServiceClient(client_options=options)
    job = {"display_name": "a job", "job_spec": {"worker_pool_specs": [pool("sleep 600")]}}
    parent = "projects/local-gcp/locations/us-central1"
    made = jobs.create_custom_job(parent=parent, custom_job=job)
    while jobs.get_custom_job(name=made.name).state.name != "JOB_STATE_RUNNING":
        time.sleep(0.1)
    yield
    jobs.cancel_custom_job(name=made.name)


@pytest.mark.usefixtures("running")
def test_machines_of_a_quota_that_others_have_are_told(target, plant):
    metric = "custom_model_training_cpus"
    (need,) = [each for each in demand.vertex(target()) if each.metric == metric]
    limits = {f"aiplatform.googleapis.com/{metric}": need.amount + 3}
    plant(quotas=limits)
    (notice,) = [each for each in quotas.vertex(target()) if isinstance(each, Notice)]
    assert says(notice.problem, metric, f"4 of {need.amount + 3}", need.who, str(need.amount))
    assert str(need.amount + 4) in notice.fix

    plant(quotas=limits, missing_permissions=["monitoring.timeSeries.list"])
    told = list(quotas.vertex(target()))
    assert all(isinstance(each, Passed) for each in told)
    assert "monitoring.timeSeries.list" in told[0].text
