"""Rules that every plan of infra/ keeps: who may do what, what is encrypted, and names that fit."""

import json
import re
import subprocess
import types

import pytest

from tests.infra import terraform

RUNS = ["defaults", "encrypted", "private", "public", "budget", "sources"]

# Which of Google's identities encrypts, by API. https://docs.cloud.google.com/kms/docs/compatible-services;
# for Composer 3 https://docs.cloud.google.com/composer/docs/composer-3/configure-cmek-encryption
ENCRYPT = {
    "aiplatform": ["gcp-sa-aiplatform"],
    "artifactregistry": ["gcp-sa-artifactregistry"],
    "bigquery": ["bigquery-encryption"],
    "composer": ["cloudcomposer-accounts", "gs-project-accounts"],
    "dataflow": ["dataflow-service-producer-prod", "compute-system"],
    "storage": ["gs-project-accounts"],
}

# Without a field that names the key, and why.
WITHOUT_KEY = {
    # Keeps nothing itself.
    "google_artifact_registry_repository.python",
    # Is encrypted by its bucket's key, and Composer makes that bucket.
    "google_storage_bucket_object.pip",
}

KEY = "projects/our-lab/locations/us-central1/keyRings/trellis/cryptoKeys/trellis"


def planned(plan, prefix=""):
    """(address, type, values, what is not known yet) of what a plan makes."""
    for change in plan["resource_changes"]:
        if change["mode"] == "managed" and change["type"].startswith(prefix):
            after = change["change"]
            yield change["address"], change["type"], after["after"], after["after_unknown"]


def grants(plan):
    """(member, role, address) of every grant."""
    for address, kind, values, _ in planned(plan):
        if re.search(r"_iam_(member|binding)$", kind):
            for member in values.get("members") or [values["member"]]:
                yield member, values["role"], address


@pytest.mark.parametrize("run", RUNS)
def test_nobody_has_a_basic_role(plans, run):
    """Owner, Editor and Viewer reach everything; admin roles, too, what no run needs."""
    roles = {role for _, role, _ in grants(plans[run])}
    assert roles
    assert not {role for role in roles if re.fullmatch(r"roles/(owner|editor|viewer)", role)}
    assert not {role for role in roles if re.search(r"admin$|tokenCreator$", role, re.I)}


@pytest.mark.parametrize("run", RUNS)
def test_nobody_from_outside_has_any(plans, run):
    members = {member for member, _, _ in grants(plans[run])}
    assert not members & {"allUsers", "allAuthenticatedUsers"}
    assert all(member.startswith("serviceAccount:") for member in members)


def test_jobs_can_start_nothing_and_query_nothing(plans):
    roles = {role for member, role, _ in grants(plans["sources"]) if "trellis-job@" in member}
    assert not {
        role for role in roles if re.match(r"roles/(aiplatform|bigquery|iam|composer)", role)
    }


def test_served_models_read_and_do_nothing_else(plans):
    roles = {role for member, role, _ in grants(plans["sources"]) if "trellis-serve@" in member}
    assert roles == {"roles/storage.objectViewer"}


class Name(str):
    """The attribute resource.name of an IAM condition, with CEL's function.

    https://docs.cloud.google.com/iam/docs/conditions-attribute-reference#extract
    """

    def extract(self, template):
        prefix, suffix = re.split(r"{\w+}", template)
        _, found, rest = self.partition(prefix)
        part, ends, _ = rest.partition(suffix) if suffix else (rest, "end", "")
        return part if found and ends else ""


RUN = "heartbeats/runs/manual__2026"


@pytest.mark.parametrize(
    ("path", "may"),
    [
        (f"{RUN}/training/0/model/saved_model.pb", True),
        (f"{RUN}/training/ensemble/model/variables/variables.index", True),
        ("images/patient_17.png", True),
        (None, True),
        (f"{RUN}/plan.json", False),
        (f"{RUN}/training/0/predictions.parquet", False),
        (f"{RUN}/examples/check.txt", False),
        ("heartbeats/datasets/0123/source/rows-0.parquet", False),
        ("heartbeats/predictions/manual/rows.jsonl", False),
        ("_index/heartbeats/runs/manual.json", False),
        ("cloudbuild/source.tgz", False),
    ],
)
def test_served_models_read_of_what_runs_write_the_models_alone(plans, path, may):
    """path: in the bucket; None: the bucket itself, of which a list asks."""
    (condition,) = (
        values["condition"][0]["expression"]
        for address, _, values, _ in planned(plans["defaults"])
        if address == "google_storage_bucket_iam_member.served"
    )
    operators = re.findall(r"&&|\|\|", condition)
    assert len(operators) <= 12, "IAM's limit"
    name = "projects/_/buckets/our-lab-trellis" + (f"/objects/{path}" if path else "")
    python = condition.replace("&&", "and").replace("||", "or")
    assert eval(python, {"resource": types.SimpleNamespace(name=Name(name))}) == may


def test_the_readme_lists_every_role(plans):
    """The table in infra/README.md: | who | role | on | why |."""
    readme = (terraform.INFRA / "README.md").read_text()
    listed = set(re.findall(r"^\| `([\w-]+)` \| `([\w./]+)` \|", readme, re.M))
    given = set()
    for run in RUNS:
        for member, role, _ in grants(plans[run]):
            name, _, domain = member.removeprefix("serviceAccount:").partition("@")
            who = name if domain == "our-lab.iam.gserviceaccount.com" else domain.split(".")[0]
            given.add((who, role.replace("projects/our-lab/roles/", "")))
    assert listed == given


@pytest.mark.parametrize("run", RUNS)
def test_every_service_that_encrypts_may_use_the_key(plans, run):
    plan = plans[run]
    users = {
        member.split("@")[1].split(".")[0]
        for member, role, address in grants(plan)
        if address.startswith("google_kms") and role.endswith("cryptoKeyEncrypterDecrypter")
    }
    if run != "encrypted":
        assert users == set()
        return
    services = {
        values["service"].removesuffix(".googleapis.com")
        for _, _, values, _ in planned(plan, "google_project_service")
    }
    assert users == {agent for service in ENCRYPT.keys() & services for agent in ENCRYPT[service]}


def test_whatever_can_be_encrypted_is(plans, schemas):
    """A field of a resource that takes a key has the group's, in a plan with encryption."""
    seen = set()
    for address, kind, values, _ in planned(plans["encrypted"]):
        paths = list(key_fields(schemas[kind]))
        if kind.startswith("google_kms") or not paths or address in WITHOUT_KEY:
            continue
        assert any(at(values, path) == KEY for path in paths), f"{address} has no key"
        seen.add(kind)
    assert seen >= {
        "google_artifact_registry_repository",
        "google_bigquery_dataset",
        "google_composer_environment",
        "google_storage_bucket",
    }


def key_fields(schema, path=()):
    """Find where a key can be named: paths of names, through blocks that are there at most once."""
    for name, attribute in schema["attributes"].items():
        if re.fullmatch(r"(default_)?kms_key(_name)?", name) and (
            attribute["optional"] or attribute["required"]
        ):
            yield (*path, name)
    for name, block in schema["blocks"].items():
        yield from key_fields(block["block"], (*path, name))


def at(values, path):
    for name in path:
        values = values[0] if isinstance(values, list) and values else values
        values = values.get(name) if isinstance(values, dict) else None
    return values


@pytest.mark.parametrize("run", RUNS)
def test_every_api_that_is_used_is_enabled(plans, run):
    needs = {
        "google_artifact_registry": "artifactregistry",
        "google_bigquery": "bigquery",
        "google_billing": "billingbudgets",
        "google_composer": "composer",
        "google_compute": "compute",
        "google_kms": "cloudkms",
        "google_monitoring": "monitoring",
        "google_network_connectivity": "networkconnectivity",
        "google_project": "cloudresourcemanager",
        "google_service_account": "iam",
        "google_service_networking": "servicenetworking",
        "google_storage": "storage",
    }
    enabled = {
        values["service"] for _, _, values, _ in planned(plans[run], "google_project_service")
    }
    for _, kind, _, _ in planned(plans[run]):
        api = next(api for prefix, api in needs.items() if kind.startswith(prefix))
        assert f"{api}.googleapis.com" in enabled, f"{kind} needs {api}"
    for api in ("aiplatform", "dataflow", "cloudbuild"):
        assert f"{api}.googleapis.com" in enabled


def test_the_platform_file_is_one_that_trellis_reads(plans, tmp_path, local_gcp_environments):
    read = subprocess.run(
        [
            local_gcp_environments["airflow"],
            "-c",
            "import sys; from pathlib import Path; from trellis.workflow.spec import platform\n"
            "for file in sys.argv[1:]: print(platform.read(Path(file)).model_dump_json())",
            *(platform_file(plans[run], tmp_path / f"{run}.yaml") for run in RUNS),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert read.returncode == 0, read.stderr
    platforms = dict(zip(RUNS, map(json.loads, read.stdout.splitlines()), strict=True))

    defaults = platforms["defaults"]
    assert defaults["project"] == "our-lab"
    assert defaults["service_account"] == "trellis-job@our-lab.iam.gserviceaccount.com"
    assert defaults["serving"] == {
        "service_account": "trellis-serve@our-lab.iam.gserviceaccount.com",
        "image_uris": [f"gs://{defaults['bucket']}/"],
    }
    assert defaults["registry"] == "us-central1-docker.pkg.dev/our-images/trellis"
    assert defaults["labels"] == {"group": "lab"}
    assert defaults["network"] == "projects/123456789012/global/networks/trellis"
    assert (platforms["public"]["network"], defaults["encryption_key"]) == (None, None)
    assert (defaults["bucket"], defaults["dataset"]) == (
        first(plans["defaults"], "google_storage_bucket", "name"),
        first(plans["defaults"], "google_bigquery_dataset", "dataset_id"),
    )
    assert platforms["encrypted"]["encryption_key"] == KEY
    assert platforms["private"]["network"] == "projects/123456789012/global/networks/trellis"
    assert platforms["private"]["subnetwork"] == "regions/us-central1/subnetworks/trellis"
    assert platforms["private"]["private_addresses"]
    assert platforms["sources"]["location"] == "EU"


def platform_file(plan, path):
    path.write_text(plan["output_changes"]["platform_yaml"]["after"])
    return path


def first(plan, kind, field):
    return next(values[field] for _, found, values, _ in planned(plan) if found == kind)


def test_the_image_has_the_airflow_that_the_package_needs():
    """The default, and the oldest that the variable takes; the README names both versions."""
    wheel = (terraform.ROOT / "plugins/pyproject.toml").read_text()
    variables = (terraform.INFRA / "variables.tf").read_text()
    readme = (terraform.INFRA / "README.md").read_text()
    image, version = re.search(
        r'default += "(composer-3-airflow-([\d.]+)-build.\d+)"', variables
    ).groups()
    assert f'"apache-airflow>={version},' in wheel
    assert f"| Composer's image | `{image}` or later |" in readme
    packages = (terraform.ROOT / "dags/requirements-composer.txt").read_text()
    provider = re.search(r"^apache-airflow-providers-google==(\S+)$", packages, re.M)[1]
    assert f"| `apache-airflow-providers-google` | {provider} " in readme


def test_the_alerts_look_for_what_a_failed_task_a_late_run_and_a_drift_log(plans):
    workflow = terraform.ROOT / "plugins/trellis/workflow"
    files = ("assembly/alerts.py", "assembly/deadline.py", "stages/changes.py")
    logged = "".join((workflow / file).read_text() for file in files)
    filters = [
        condition["condition_matched_log"][0]["filter"]
        for _, kind, values, _ in planned(plans["defaults"])
        if kind == "google_monitoring_alert_policy"
        for condition in values["conditions"]
        if condition["condition_matched_log"]
    ]
    assert len(filters) == 3
    for text in filters:
        words = re.search(r'textPayload:"([A-Z ]+)"', text)[1]
        assert f'f"{words}: ' in logged


def test_airflow_is_told_of_the_platform_file_by_the_name_it_looks_for(plans):
    source = terraform.ROOT / "plugins/trellis/workflow/spec/platform.py"
    config = first(plans["defaults"], "google_composer_environment", "config")[0]
    assert config["software_config"][0]["env_variables"] == {
        re.search(r'^CHOICE = "(\w+)"$', source.read_text(), re.M)[1]: "platform.yaml"
    }


def test_the_example_of_variables_has_known_names():
    """terraform.tfvars.example, which the README tells the group to copy."""
    variables = (terraform.INFRA / "variables.tf").read_text()
    known = set(re.findall(r'^variable "(\w+)"', variables, re.M))
    example = (terraform.INFRA / "terraform.tfvars.example").read_text()
    named = set(re.findall(r"^#? ?(\w+) += ", example, re.M))
    assert "project" in named
    assert named <= known
