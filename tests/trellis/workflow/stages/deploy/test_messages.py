"""Messages that register and deploy a model, field by field; Google's own classes take them."""

import json
from dataclasses import replace

import pytest
from google.cloud.aiplatform_v1.types import DeployedModel, Endpoint, Model
from google.protobuf import json_format

from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import from_file
from trellis.workflow.spec.experiment import Program
from trellis.workflow.spec.platform import Serving
from trellis.workflow.stages.deploy import messages
from trellis.workflow.validation.file import with_changes
from trellis_contracts.challenger import Challenger, Provenance

RUN = layout.Run("trellis-local", "digits", "scheduled__2026-01-01")
CHALLENGER = Challenger(
    contender="training/1",
    model="gs://trellis-local/digits/runs/r/training/1/model/",
    examples=(),
    hyperparameters={"learning_rate": 0.001, "units": 64},
    provenance=Provenance(
        run="gs://trellis-local/digits/runs/r/",
        dataset="3f2a",
        versions={"tensorflow": "2.21.0"},
        code_sha256="c0de" * 16,
    ),
)


@pytest.fixture
def plan(digits):
    experiment = with_changes(
        digits, {("deploy",): {"machines": {"type": "n1-standard-2", "replicas": [1, 3]}}}
    )
    return a_plan(experiment, RUN)


def message_of(kind, content):
    message = kind()
    json_format.ParseDict(content, kind.pb(message))
    return message


def test_a_model_is_served_by_the_job_image(plan, group):
    model = message_of(Model, messages.model(plan, group, CHALLENGER))
    container = model.container_spec
    assert container.image_uri == "us-central1-docker.pkg.dev/local-gcp/trellis/serve:0.1.0"
    assert list(container.command) == ["python", "-m", "trainer.serve"]
    assert [port.container_port for port in container.ports] == [8080]
    assert (container.health_route, container.predict_route) == ("/health", "/predict")
    assert model.artifact_uri == "gs://trellis-local/digits/runs/r/training/1/model"
    assert "explanation_spec" not in model
    assert "encryption_spec" not in model


def test_a_program_has_the_server_and_the_routes_that_it_names(digits, group):
    """Without a command the image's own entry point serves."""
    program = Program(serve=[], health="/alive", predict="/v1/answers")
    address = "example.com/programs/ours:3"
    own = digits.model_copy(update={"image": address, "program": program})
    container = message_of(
        Model, messages.model(a_plan(own, RUN), group, CHALLENGER)
    ).container_spec
    assert container.image_uri == address
    assert list(container.command) == list(container.args) == []
    assert (container.health_route, container.predict_route) == ("/alive", "/v1/answers")
    served = own.model_copy(update={"program": Program(serve=["serve.sh", "--fast"])})
    container = message_of(Model, messages.model(a_plan(served, RUN), group, CHALLENGER))
    assert list(container.container_spec.command) == ["serve.sh", "--fast"]


def test_its_image_is_the_one_that_the_plan_has_looked_up(plan, group):
    """Whoever moves the tag afterwards changes nothing that is served."""
    address = f"{group.registry}/serve:0.1.0"
    known = replace(plan, images={address: f"sha256:{'0' * 64}"})
    image = messages.model(known, group, CHALLENGER)["container_spec"]["image_uri"]
    assert image == f"{group.registry}/serve@sha256:{'0' * 64}"


def test_model_and_endpoint_have_the_experiments_description(plan, group):
    read = from_file(plan.file(), RUN)
    about = "Handwritten digits: 1,797 grey images"
    assert messages.model(read, group, CHALLENGER)["description"].startswith(about)
    assert messages.planned_endpoint(read, group)["description"].startswith(about)


def test_a_version_leads_back_to_its_run(plan, group):
    model = message_of(Model, messages.model(plan, group, CHALLENGER))
    assert dict(model.labels) == {
        "group": "demo",
        "trellis-experiment": "digits",
        "owner": "trellis",
        "trellis-run": "scheduled__2026-01-01",
        "trellis-dataset": "3f2a",
        "trellis-trainer": "0-1-0",
    }
    assert json.loads(model.version_description) == {
        "run": "gs://trellis-local/digits/runs/r/",
        "contender": "training/1",
        "dataset": "3f2a",
        "versions": {"tensorflow": "2.21.0"},
        "code_sha256": "c0de" * 16,
        "hyperparameters": {"learning_rate": 0.001, "units": 64},
    }


def test_a_description_that_is_too_long_loses_its_longest_part():
    many = {f"parameter_{n}": 0.1 for n in range(200)}
    text = messages.description(replace(CHALLENGER, hyperparameters=many))
    assert len(text) <= 2000
    assert json.loads(text)["left_out"] == ["hyperparameters"]
    assert json.loads(text)["versions"] == {"tensorflow": "2.21.0"}


def test_the_endpoint_belongs_to_the_experiment(plan, group):
    endpoint = message_of(Endpoint, messages.endpoint(plan.experiment, group))
    assert endpoint.display_name == "digits"
    assert dict(endpoint.labels) == {
        "group": "demo",
        "trellis-experiment": "digits",
        "owner": "trellis",
    }


def test_a_deployed_model_has_the_files_machines(plan, group):
    deployed = message_of(DeployedModel, messages.deployed_model(plan, group))
    resources = deployed.dedicated_resources
    assert resources.machine_spec.machine_type == "n1-standard-2"
    assert (resources.min_replica_count, resources.max_replica_count) == (1, 3)
    assert not resources.machine_spec.accelerator_count
    assert deployed.service_account == group.service_account
    assert deployed.display_name == "digits scheduled__2026-01-01"


def test_accelerators_have_an_image_that_uses_them(plan, group):
    machines = {"type": "n1-standard-8", "gpu": "NVIDIA_TESLA_T4", "gpus": 2}
    plan = a_plan(with_changes(plan.experiment, {("deploy", "machines"): machines}), RUN)
    machine = message_of(
        DeployedModel, messages.deployed_model(plan, group)
    ).dedicated_resources.machine_spec
    assert (machine.accelerator_type.name, machine.accelerator_count) == ("NVIDIA_TESLA_T4", 2)
    model = messages.model(plan, group, CHALLENGER)
    assert model["container_spec"]["image_uri"].endswith("/serve:0.1.0-gpu")


def test_the_groups_account_and_key_are_used(plan, group):
    key = "projects/p/locations/r/keyRings/k/cryptoKeys/c"
    own = group.model_copy(update={"service_account": "a@p.iam", "encryption_key": key})
    assert messages.deployed_model(plan, own)["service_account"] == "a@p.iam"
    for message in (
        messages.model(plan, own, CHALLENGER),
        messages.endpoint(plan.experiment, own),
    ):
        assert message["encryption_spec"] == {"kms_key_name": key}


def test_what_is_served_has_an_account_and_images_of_its_own(plan, group):
    serving = Serving(service_account="serve@lab.iam.gserviceaccount.com", image_uris=["gs://lab/"])
    group = group.model_copy(update={"serving": serving})
    assert messages.deployed_model(plan, group)["service_account"] == serving.service_account
    container = messages.model(plan, group, CHALLENGER)["container_spec"]
    assert container["args"] == ["--image-uri=gs://lab/"]
