"""Versions of a model with a server that starts in an instant, and the DAG that goes back."""

import json
import re
import shutil

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api

from tests.airflow_side import run_dag
from tests.trellis.workflow import platforms
from trellis.identity import EXPERIMENT_LABEL
from trellis.vertex.deployments import version_at
from trellis.workflow.assembly import rollback
from trellis.workflow.validation.file import with_changes

BUCKET = "rollback-tests"
OPTIONS = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
PARENT = "projects/local-gcp/locations/us-central1"
MACHINES = {
    "machine_spec": {"machine_type": "n1-standard-2"},
    "min_replica_count": 1,
    "max_replica_count": 1,
}


class Registry:
    """The model of one experiment, its endpoint, and the DAG rollback."""

    def __init__(self, google, experiment, platform, bucket=BUCKET):
        self.name, self.platform, self.experiment = experiment.name, platform, experiment
        self.model = f"{PARENT}/models/{self.name}"
        self.endpoint_name = f"{PARENT}/endpoints/{self.name}"
        self.bucket, self.folder = bucket, google.buckets / bucket / self.name
        self.models = api.ModelServiceClient(client_options=OPTIONS)
        self.endpoints = api.EndpointServiceClient(client_options=OPTIONS)
        self.dag = rollback.build({self.name: experiment}, platform)

    def run(self, version="previous", **conf):
        return run_dag(self.dag, experiment=self.name, version=version, **conf)

    def upload(self, *aliases, labels=None, files=None, container=None, **variables):
        """The next version, made by a run of the same number. labels: if not the experiment's.
        files, container: of a real model, and what serves it.
        """
        number = str(len(self.versions()) + 1)
        model = self.folder / f"runs/run-{number}/model"
        model.mkdir(parents=True)
        (model / "weights").write_text(number)
        if files is not None:
            shutil.copytree(files, model, dirs_exist_ok=True)
        sent = {
            "display_name": self.name,
            "labels": labels or {EXPERIMENT_LABEL: self.name},
            "version_aliases": aliases,
            "version_description": json.dumps(
                {"run": f"gs://{self.bucket}/{self.name}/runs/run-{number}/"}
            ),
            "artifact_uri": f"gs://{self.bucket}/{self.name}/runs/run-{number}/model",
            "container_spec": container
            or {
                "image_uri": "example.com/test/serve:1",
                "env": [{"name": k, "value": str(v)} for k, v in variables.items()],
            },
        }
        request = {"parent": PARENT, "model": sent}
        request |= {"parent_model": self.model} if number != "1" else {"model_id": self.name}
        self.models.upload_model(request=request).result(timeout=20)
        return number

    def create_endpoint(self):
        sent = {"display_name": self.name, "labels": {EXPERIMENT_LABEL: self.name}}
        request = {"parent": PARENT, "endpoint": sent, "endpoint_id": self.name}
        self.endpoints.create_endpoint(request=request).result(timeout=20)

    def deploy(self, number, **split):
        """The operation that deploys a version. split: m1=90 for the shares that there are."""
        ids = {v: id_ for id_, v in self._deployed().items()}
        shares = {ids[name[1:]]: share for name, share in split.items()}
        if not ids or shares:
            shares["0"] = 100 - sum(shares.values())
        deployed = {"model": f"{self.model}@{number}", "dedicated_resources": MACHINES}
        request = {"endpoint": self.endpoint_name, "deployed_model": deployed}
        return self.endpoints.deploy_model(request={**request, "traffic_split": shares})

    def versions(self):
        try:
            return list(self.models.list_model_versions(name=self.model))
        except exceptions.NotFound:
            return []

    @property
    def aliases(self):
        """{alias: version}, without Vertex AI's own."""
        found = {a: v.version_id for v in self.versions() for a in v.version_aliases}
        return {alias: version for alias, version in found.items() if alias != "default"}

    @property
    def traffic(self):
        """{version: percent} of all that is deployed."""
        split = self._endpoint().traffic_split
        return {version: split.get(id_, 0) for id_, version in self._deployed().items()}

    def _deployed(self):
        return {m.id: version_at(m).version for m in self._endpoint().deployed_models}

    def _endpoint(self):
        return self.endpoints.get_endpoint(name=self.endpoint_name)


@pytest.fixture
def registry(google, digits, group, request):
    """A Registry under the test's own name, without versions."""
    (google.buckets / BUCKET).mkdir(exist_ok=True)
    platform = platforms.of_tests(group, bucket=BUCKET)
    letters = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))
    # The end tells parameters apart.
    name = letters[:20].strip("-") + letters[-20:].strip("-")
    experiment = with_changes(digits, {("deploy",): {"gate": {"require": {"accuracy": 0.5}}}})
    return Registry(
        google,
        experiment.model_copy(update={"name": name}),
        platform,
    )


@pytest.fixture
def two(registry):
    """Version 2 is the champion and served, version 1 was it before and is not deployed."""
    registry.upload("previous")
    registry.upload("champion")
    registry.create_endpoint()
    registry.deploy("2").result(timeout=30)
    return registry


@pytest.fixture
def states():
    """{task: state} of a run."""
    return lambda run: {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
