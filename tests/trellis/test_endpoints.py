"""`trellis endpoints` against a real local_gcp, whose endpoints get older by another clock."""

import argparse
import json
from datetime import UTC, datetime, timedelta

import pytest
from google.cloud import aiplatform_v1 as api
from google.protobuf import struct_pb2

from tests.airflow_side import ROOT, run_dag
from tests.wording import says
from trellis import endpoints
from trellis.workflow.assembly import idle_endpoints
from trellis.workflow.endpoints.state import Endpoint, Model, State
from trellis.workflow.endpoints.survey import undeploy
from trellis.workflow.spec import platform
from trellis.workflow.spec.platform import IdleEndpoints
from trellis.workflow.stages.idle_endpoints import IdleEndpointsOperator

pytestmark = pytest.mark.one_airflow

# Where no other test has endpoints.
REGION = "europe-west4"
PARENT = f"projects/local-gcp/locations/{REGION}"
OPTIONS = {"api_endpoint": f"{REGION}-aiplatform.googleapis.com"}
BUCKET = "endpoint-tests"
MACHINES = {
    "machine_spec": {"machine_type": "n1-standard-2"},
    "min_replica_count": 1,
    "max_replica_count": 2,
}


@pytest.fixture(scope="module")
def serving(google):
    """Clients of Vertex AI in that region: `models`, `endpoints`, `predictions`."""
    folder = google.buckets / BUCKET / "model"
    folder.mkdir(parents=True)
    (folder / "weights").write_text("1")
    return argparse.Namespace(
        models=api.ModelServiceClient(client_options=OPTIONS),
        endpoints=api.EndpointServiceClient(client_options=OPTIONS),
        predictions=api.PredictionServiceClient(client_options=OPTIONS),
    )


@pytest.fixture(scope="module")
def deployed(serving):
    """Names of endpoints by experiment: "asked" today, "forgotten" with a version kept beside the
    one with requests, and one of another group.
    """
    names = {}
    for experiment, group, copies in (
        ("asked", "demo", 1),
        ("forgotten", "demo", 2),
        ("theirs", "another", 1),
    ):
        model = {
            "display_name": experiment,
            "artifact_uri": f"gs://{BUCKET}/model",
            "container_spec": {"image_uri": "example.com/test/serve:1"},
        }
        uploaded = serving.models.upload_model(parent=PARENT, model=model).result(timeout=60)
        labels = {"trellis-experiment": experiment, "group": group}
        sent = {"display_name": experiment, "labels": labels}
        request = {"parent": PARENT, "endpoint": sent, "endpoint_id": experiment}
        name = serving.endpoints.create_endpoint(request=request).result(timeout=60).name
        for number in range(copies):
            request = {
                "endpoint": name,
                "deployed_model": {"model": uploaded.model, "dedicated_resources": MACHINES},
                "traffic_split": {} if number else {"0": 100},
            }
            serving.endpoints.deploy_model(request=request).result(timeout=60)
        names[experiment] = name
    return names


@pytest.fixture
def group(tmp_path):
    text = (ROOT / "dags/platform.yaml").read_text()
    (tmp_path / "platform.yaml").write_text(text.replace("us-central1", REGION))
    return tmp_path


@pytest.fixture
def trellis(deployed, group, capsys):
    """trellis(DAYS_LATER, undeploy=True): exit code, stdout, stderr."""

    def run(later=0, days=14, as_json=False, undeploy=False, yes=False):
        options = argparse.Namespace(
            folder=group, days=days, json=as_json, undeploy=undeploy, yes=yes
        )
        code = endpoints.run(options, datetime.now(UTC) + timedelta(days=later, seconds=60))
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def states(trellis):
    """State by experiment, so many days from now."""

    def read(later):
        _, out, _ = trellis(later, as_json=True)
        return {each["experiment"]: each["state"] for each in json.loads(out)}

    return read


@pytest.fixture
def project(google):
    """Writes HOME/project.json; it is gone after the test."""
    file = google.home / "project.json"
    yield lambda **facts: file.write_text(json.dumps(facts))
    file.unlink(missing_ok=True)


def test_cost_use_and_state(trellis, serving, deployed, states):
    instances = [struct_pb2.Value(number_value=1), struct_pb2.Value(number_value=2)]
    serving.predictions.predict(endpoint=deployed["asked"], instances=instances)
    assert states(1) == {"asked": "in use", "forgotten": "new", "theirs": "another group's"}
    assert states(20) == {"asked": "idle", "forgotten": "idle", "theirs": "another group's"}

    code, out, err = trellis(1)
    head, asked, *_ = out.splitlines()
    assert (code, err) == (0, "")
    heads = "experiment", "deployed", "machines", "a day", "in 14 days", "last request"
    assert head.split() == " ".join(heads).split()
    assert "1 to 2 x n1-standard-2" in asked
    _, out, _ = trellis(1, as_json=True)
    one, two, _ = json.loads(out)
    assert (one["predictions"], two["predictions"]) == (2, 0)
    assert two["usd_per_day"] == pytest.approx(2 * one["usd_per_day"], abs=0.01)
    assert f"{one['usd_per_day']:.2f} USD" in asked


def test_without_an_answer_of_monitoring_nothing_is_idle(trellis, project):
    project(missing_permissions=["monitoring.timeSeries.list"])
    code, out, err = trellis(20, undeploy=True, yes=True)
    assert (code, "idle" in out, out.count("unknown")) == (1, False, 2)
    assert "roles/monitoring.viewer" in err
    assert err.endswith("So nothing was undeployed.\n")
    project(disabled_apis=["monitoring.googleapis.com"])
    assert says(trellis(20)[2], "services enable", "monitoring.googleapis.com")


def test_days_that_google_does_not_keep(trellis):
    assert trellis(days=43)[0] == 2


def looked(group, later, undeploy, monkeypatch):
    """The tasks of a run of the DAG so many days from now, by id."""
    moment = datetime.now(UTC) + timedelta(days=later, seconds=60)
    monkeypatch.setattr(IdleEndpointsOperator, "now", lambda self: moment)
    dag = idle_endpoints.build(platform.load(group), IdleEndpoints(undeploy=undeploy))
    for task in dag.tasks:
        task.retry_delay = timedelta(0)
    run = run_dag(dag)
    return {task.task_id: task for task in run.get_task_instances()}


def test_a_regular_look_names_what_is_idle(group, deployed, project, monkeypatch):
    tasks = looked(group, 20, False, monkeypatch)
    text = tasks["find"].xcom_pull(task_ids="find")
    assert says(text.splitlines()[0], "TRELLIS IDLE: ", "14 days", ": asked, forgotten")
    assert f"{deployed['asked']}, " in text
    assert tasks["tell"].state == "success"
    assert looked(group, 1, True, monkeypatch)["tell"].state == "skipped"
    project(missing_permissions=["monitoring.timeSeries.list"])
    tasks = looked(group, 20, True, monkeypatch)
    assert (tasks["find"].state, tasks["tell"].state) == ("failed", "upstream_failed")


def test_idle_models_are_undeployed_only_when_told(trellis, serving, deployed, states):
    def left():
        found = (serving.endpoints.get_endpoint(name=name) for name in deployed.values())
        return [len(endpoint.deployed_models) for endpoint in found]

    assert trellis(1, undeploy=True, yes=True)[2] == ""
    code, _, err = trellis(20, undeploy=True)
    assert (code, left()) == (0, [1, 2, 1])
    would = [line.split(" from ")[0] for line in err.splitlines()]
    assert [line.startswith("Would undeploy ") for line in would] == [True, True, True, False]

    code, _, err = trellis(20, undeploy=True, yes=True)
    assert (code, left()) == (0, [0, 0, 1])
    assert err.count("Undeployed ") == 3
    assert states(20) == {"asked": "empty", "forgotten": "empty", "theirs": "another group's"}


def test_an_endpoint_that_was_changed_meanwhile_stays(serving, deployed):
    (theirs,) = serving.endpoints.get_endpoint(name=deployed["theirs"]).deployed_models
    before = Model(theirs.id, "theirs@1", 0, "n1-standard-2", (1, 2), None)
    seen = Endpoint(deployed["theirs"], "theirs", (before,), 0, None, State.IDLE)
    assert list(undeploy(serving.endpoints, seen)) == []
    assert len(serving.endpoints.get_endpoint(name=deployed["theirs"]).deployed_models) == 1
