"""Deployments with a server that starts in an instant, of runs that are otherwise made by hand."""

import json
import re

import pytest
from airflow.sdk import DAG
from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException
from google.cloud import aiplatform_v1 as api

from tests.airflow_side import run_dag, store
from tests.trellis.workflow import platforms
from tests.trellis.workflow.plans import a_plan
from trellis.identity import EXPERIMENT_LABEL
from trellis.vertex.deployments import version_at
from trellis.workflow.assembly import undeploy_previous
from trellis.workflow.contracts import layout
from trellis.workflow.stages.deploy.subject import Subject
from trellis.workflow.stages.deploy.tasks import tasks
from trellis.workflow.validation.file import with_changes

BUCKET = "deploy-tests"
OPTIONS = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
PARENT = "projects/local-gcp/locations/us-central1"


class Deployments:
    """The DAG of one experiment's deployments, and what it leaves."""

    def __init__(self, google, experiment, platform):
        self.google, self.experiment, self.platform = google, experiment, platform
        self.name = experiment.name
        self.endpoints = api.EndpointServiceClient(client_options=OPTIONS)
        self.models = api.ModelServiceClient(client_options=OPTIONS)
        self.rules = {}
        self.refused = False
        self.alerts = []
        self.dag = self._dag()
        self.undeploy_dag = undeploy_previous.build(platform, [])

    def run(self, **rules):
        """A run that promotes a model of these rules (programs/trainer/serve.py)."""
        self.rules = rules
        if self.experiment.deploy.keep_previous:
            store(self.undeploy_dag)
        return run_dag(self.dag)

    def _dag(self):
        with DAG(
            self.name,
            default_args={"retries": 1, "retry_delay": 0.1, "owner": "trellis"},
        ) as dag:
            self._promoted() >> tasks(Subject(self.experiment, self.platform), self._alert)
        return dag

    def _alert(self, context):
        self.alerts.append(context["ti"].task_id)

    def _promoted(self):
        @airflow_task(task_id="promote")
        def promote(run_id):
            """Leaves what the stages before leave, unless it is refused."""
            if self.refused:
                raise AirflowFailException("compared with another version than is served")
            run = layout.Run(BUCKET, self.name, layout.run_folder(run_id))
            self.folder = self.google.buckets / run.uri.removeprefix("gs://")
            model = self.folder / "training/1/model"
            if model.exists():  # cleared: as it was
                return
            model.mkdir(parents=True)
            (model / "serving.json").write_text(json.dumps(self.rules))
            (self.folder / "leaderboard").mkdir()
            self._write(run.plan, a_plan(self.experiment, run).file().to_document())
            self._write(run.challenger, challenger(run))

        return promote()

    def _write(self, uri, content):
        path = self.google.buckets / uri.removeprefix("gs://")
        path.write_text(json.dumps(content))

    def expect(self, answers):
        """Change what was predicted offline, by the last run: {x: value}."""
        path = self.folder / "leaderboard/challenger.json"
        content = json.loads(path.read_text())
        content["examples"] = examples(answers)
        path.write_text(json.dumps(content))

    def put_back(self, version):
        """Roll back like a person."""
        endpoint = self.endpoint
        ids = {version_at(each).version: each.id for each in endpoint.deployed_models}
        self.endpoints.update_endpoint(
            endpoint={"name": endpoint.name, "traffic_split": {ids[version]: 100}},
            update_mask={"paths": ["traffic_split"]},
        )
        name = f"{PARENT}/models/{self.name}@{version}"
        self.models.merge_version_aliases(name=name, version_aliases=["champion", "-previous"])

    def promote_another(self):
        """Leave a further version, the champion, in the registry, like a later run."""
        first = self.models.get_model(name=f"{PARENT}/models/{self.name}@1")
        sent = {
            "display_name": self.name,
            "labels": {EXPERIMENT_LABEL: self.name},
            "artifact_uri": first.artifact_uri,
            "container_spec": first.container_spec,
            "version_aliases": ["champion"],
        }
        name = f"{PARENT}/models/{self.name}"
        request = {"parent": PARENT, "parent_model": name, "model": sent}
        self.models.upload_model(request=request).result(timeout=20)

    def deploy_all(self, version):
        """Deploy a version, and give it all requests; what was there before stays."""
        machines = {
            "machine_spec": {"machine_type": "n1-standard-2"},
            "min_replica_count": 1,
            "max_replica_count": 1,
        }
        deployed = {"model": self.version(version), "dedicated_resources": machines}
        request = {"endpoint": self.endpoint.name, "deployed_model": deployed}
        request["traffic_split"] = {"0": 100}
        self.endpoints.deploy_model(request=request).result(timeout=30)

    def undeploy_all(self):
        endpoint = self.endpoint
        for deployed in endpoint.deployed_models:
            request = {"endpoint": endpoint.name, "deployed_model_id": deployed.id}
            self.endpoints.undeploy_model(request).result(timeout=30)

    def delete_endpoint(self):
        endpoint = self.endpoint
        self.undeploy_all()
        self.endpoints.delete_endpoint(name=endpoint.name).result(timeout=30)

    def delete_model(self):
        self.models.delete_model(name=f"{PARENT}/models/{self.name}").result(timeout=30)

    def version(self, number):
        return f"{PARENT}/models/{self.name}@{number}"

    @property
    def undeployments(self):
        """Runs of undeploy_previous that the deployments triggered."""
        from airflow.models import DagRun
        from airflow.utils.session import create_session

        with create_session() as session:
            runs = session.query(DagRun).filter(DagRun.dag_id == undeploy_previous.NAME)
            return runs.filter(DagRun.run_id.startswith(f"{self.name}__")).all()

    @property
    def record(self):
        """deployment.json of the last run."""
        return json.loads((self.folder / "deployment.json").read_text())

    @property
    def endpoint(self):
        return self.endpoints.get_endpoint(name=f"{PARENT}/endpoints/{self.name}")

    @property
    def traffic(self):
        """{version: percent} of all that is deployed."""
        endpoint = self.endpoint
        return {
            version_at(deployed).version: endpoint.traffic_split.get(deployed.id, 0)
            for deployed in endpoint.deployed_models
        }

    @property
    def aliases(self):
        """{alias: version}, without Vertex AI's own."""
        versions = self.models.list_model_versions(name=f"{PARENT}/models/{self.name}")
        found = {a: v.version_id for v in versions for a in v.version_aliases}
        return {alias: version for alias, version in found.items() if alias != "default"}


def examples(answers):
    return [
        {"key": f"row-{x}", "instance": {"x": x}, "prediction": {"value": y}}
        for x, y in answers.items()
    ]


def challenger(run):
    return {
        "schema": 1,
        "contender": "training/1",
        "model": f"{run.training(1)}model/",
        "examples": examples({1: 2, 2.5: 5, -3: -6}),
        "hyperparameters": {"units": 8},
        "provenance": {
            "run": run.uri,
            "dataset": "3f2a",
            "versions": {},
            "code_sha256": "c0de" * 16,
        },
    }


@pytest.fixture
def deployments(google, digits, group, request):
    """Makes Deployments under the test's own name: deployments(canary=[50, 100])."""
    (google.buckets / BUCKET).mkdir(exist_ok=True)
    platform = platforms.of_tests(
        group, bucket=BUCKET, registry="us-central1-docker.pkg.dev/stand-in/trellis"
    )
    letters = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))
    # The end tells parameters apart.
    name = letters[:20].strip("-") + letters[-20:].strip("-")

    def make(**deploy):
        experiment = with_changes(digits, {("deploy",): {"canary": [30, 100], **deploy}})
        return Deployments(google, experiment.model_copy(update={"name": name}), platform)

    return make


@pytest.fixture
def states():
    """{task: state} of a run."""
    return lambda run: {
        ti.task_id.removeprefix("deploy."): str(ti.state) for ti in run.get_task_instances()
    }
