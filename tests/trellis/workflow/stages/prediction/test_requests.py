"""What a real endpoint is asked, kept by it and compared with what its model learned from."""

import datetime
import time

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowSkipException
from google.cloud import aiplatform_v1 as api
from google.cloud import bigquery, storage
from google.protobuf import json_format, struct_pb2

from tests.contracts.datasets import categorical, dataset, numeric
from tests.trellis.vertex import deploying
from tests.trellis.workflow.stages.prediction.conftest import BUCKET, LEARNED, OPTIONS
from tests.wording import says
from trellis.results.index import load_index
from trellis.vertex.endpoints import EndpointOperator
from trellis.workflow.contracts.champion_record import ChampionRecord
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.prediction_layout import requests_table
from trellis.workflow.lookups import documents, records
from trellis.workflow.lookups import requests_table as table_of
from trellis.workflow.pricing import queries
from trellis.workflow.spec.platform import PlatformError
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages.deploy import messages
from trellis.workflow.stages.prediction import answers, requests
from trellis.workflow.validation.file import with_changes
from trellis_contracts.deployment import Deployment

NAME = "sampled"
KEEP = {("deploy", "requests"): {"share": 1.0, "keep": "7 days"}}


def endpoint_of(experiment, platform):
    """The name of the experiment's endpoint, as a deployment finds or makes it."""
    table_of.create(experiment, platform)
    operator = EndpointOperator(
        task_id="endpoint",
        endpoint_id=NAME,
        endpoint=messages.endpoint(experiment, platform),
        **deploying.PLACE,
    )
    return deploying.run(operator)["endpoint"]


@pytest.fixture(scope="module")
def made(predictions):
    """A champion that is served, and whose every request is kept."""
    made = predictions(NAME, query="SELECT 1 AS sample")
    made.experiment = with_changes(made.experiment, KEEP)
    learned = dataset(
        numeric("x", [-1.0, 1.0] * 150),
        categorical("stage", ["early", "late"] * 150),
        numeric("taken at", [1.0] * 300, kind="timestamp") | {"column": "taken"},
        classes={"false": 150, "true": 150},
    )
    answered = {"false": 50, "true": 50}
    made.promote("champion", table=LEARNED, learned=learned, answered=answered)
    made.endpoint = endpoint_of(made.experiment, made.platform)
    deploying.deploy(made.endpoint, f"{deploying.PARENT}/models/{NAME}@1", share=100)
    return made


@pytest.fixture
def ask(made):
    """ask(40, x=1.0): sends as many requests, and waits until they are kept."""
    clients = api.PredictionServiceClient(client_options=OPTIONS)
    rows = bigquery.Client(project="local-gcp")

    def kept():
        statement = f"SELECT COUNT(*) AS n FROM `{requests_table(made.experiment, made.platform)}`"
        (row,) = rows.query_and_wait(
            statement, job_config=bigquery.QueryJobConfig(use_query_cache=False)
        )
        return row["n"]

    def ask(count, **changes):
        before = kept()
        for number in range(count):
            instance = {
                "x": -1.0 if number % 2 else 1.0,
                "stage": "late" if number % 2 else "early",
                "taken": "2026-01-01T00:00:00Z",
                **changes,
            }
            clients.predict(
                endpoint=made.endpoint,
                instances=[json_format.ParseDict(instance, struct_pb2.Value())],
                parameters=json_format.ParseDict({"each": True}, struct_pb2.Value()),
            )
        until = time.monotonic() + 20
        while kept() < before + count:
            assert time.monotonic() < until
            time.sleep(0.2)
        # A comparison's moments have whole seconds.
        time.sleep(1.1)

    return ask


@pytest.fixture
def run(made, monkeypatch):
    """Runs the task as many days from now: (the warnings, what people were told). The emulator
    keeps a request at once, so that nothing waits for one that is late.
    """
    told = []
    monkeypatch.setattr(requests, "LATE", datetime.timedelta())
    with DAG("requests_tests"):
        task = requests.task(made.experiment, made.platform, lambda _, text: told.append(text))

    def run(days):
        told.clear()
        today = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days)
        monkeypatch.setattr(requests, "today", lambda: today)
        return task.operator.python_callable(run_id=f"scheduled__{today}"), told

    return run


def recorded():
    """The records in the index, newest first."""
    index = load_index(storage.Client(project="local-gcp"), BUCKET, NAME)
    return index.predictions


def test_requests_are_compared_each_day_since_the_last_time(made, ask, run, capsys):
    ask(20)
    assert run(0) == ([], [])
    assert "20 instances are too few" in capsys.readouterr().out
    ask(20)
    with pytest.raises(AirflowSkipException, match="has been made"):
        run(0)
    # Those of a day with too few are compared the next day.
    assert run(1) == ([], [])
    assert "40 instances of requests to projects/" in capsys.readouterr().out
    ask(60, x=1.0, stage="never")
    warnings, told = run(2)
    assert len(warnings) >= 3
    said = " ".join(warnings)
    assert "feature 'x' has" in said
    assert "feature 'stage'" in said
    assert says(said, "the prediction: ", "50.0%", "0.0%")
    # What people send is no message's.
    assert "never" not in said
    (text,) = told
    assert says(text, "TRELLIS WARNING: ", "sampled", "beyond the limits")
    found = recorded()
    assert sorted(one.predicted for one in found) == [20, 40, 60]
    assert {tuple(one.warnings) for one in found} == {(), tuple(warnings)}
    assert run(3) == ([], [])
    assert "0 instances are too few" in capsys.readouterr().out


def test_too_many_requests_end_in_one_warning_and_are_left_out_from_then_on(
    ask, run, capsys, monkeypatch
):
    ask(31)
    with monkeypatch.context() as little:
        # BigQuery bills 10 MiB at least for a table.
        little.setattr(requests, "MOST_BYTES", 1)
        little.setattr(queries, "LEAST", 1)
        (warning,), (text,) = run(10)
    assert "are more than a query may read" in warning
    assert "keep a smaller share" in warning
    assert says(text, "TRELLIS WARNING: ", "sampled", "not compared")
    newest = recorded()[0]
    assert (newest.predicted, newest.warnings) == (None, (warning,))
    capsys.readouterr()
    assert run(11) == ([], [])
    assert "0 instances are too few" in capsys.readouterr().out


def test_a_failed_comparison_is_not_paid_again_until_the_next_day(ask, run, capsys, monkeypatch):
    ask(31)
    with monkeypatch.context() as broken:

        def of_rows(*_):
            raise SourceError("The second query fails.")

        broken.setattr(answers, "of_rows", of_rows)
        with pytest.raises(SourceError):
            run(20)
    with pytest.raises(AirflowSkipException, match="has failed"):
        run(20)
    assert run(21) == ([], [])
    assert "31 instances of requests" in capsys.readouterr().out


def test_requests_that_are_written_late_wait_for_the_next_comparison(ask, run, capsys, monkeypatch):
    ask(31)
    with monkeypatch.context() as late:
        late.setattr(requests, "LATE", datetime.timedelta(minutes=10))
        assert run(30) == ([], [])
    assert "0 instances are too few" in capsys.readouterr().out
    assert run(31) == ([], [])
    assert "31 instances of requests" in capsys.readouterr().out


def test_a_comparison_begins_at_the_deployment_and_then_where_the_last_one_ended(
    made, ask, run, monkeypatch
):
    asked = []
    place = requests._place
    monkeypatch.setattr(requests, "_place", lambda *given: asked.append(place(*given)) or asked[-1])
    _, endpoints = deploying.clients()
    (deployed,) = endpoints.get_endpoint(name=made.endpoint).deployed_models
    for record in (made.folder / "_index" / NAME / "predictions").glob("*"):
        record.unlink()
    ask(31)
    for day in (40, 41):
        run(day)
    since = datetime.datetime.fromisoformat(asked[0]["since"])
    assert since == deployed.create_time.replace(nanosecond=0)
    assert asked[1]["since"] == asked[0]["until"]
    # Both may have ended in one second, which leaves their order open.
    assert sorted(str(one.until) for one in recorded()) == [one["until"] for one in asked]


def test_smoke_tests_of_a_deployment_do_not_count(made, ask, run, capsys):
    version = f"{deploying.PARENT}/models/{NAME}@1"
    for record in (made.folder / "_index" / NAME / "predictions").glob("*"):
        record.unlink()
    ask(31)
    done = {"step": "champion", "at": records.now()}
    where = f"gs://{BUCKET}/{NAME}/runs/r/"
    deployment = Deployment(where, "training/1", made.endpoint, version, None, steps=(done,))
    documents.write_file(made.platform, f"{where}deployment.json", deployment)
    time.sleep(1.1)
    ask(35)
    run(50)
    assert "35 instances of requests" in capsys.readouterr().out

    # Served anew by another image.
    ask(32)
    again = ChampionRecord(
        experiment=NAME,
        run_id="reserve",
        at=records.now(),
        user=None,
        asked="champion",
        version=version,
        before=version,
    )
    where = f"gs://{BUCKET}/_index/{NAME}/reserves/r.json"
    records.add_champion(made.platform, where, again)
    time.sleep(1.1)
    ask(33)
    run(51)
    assert "33 instances of requests" in capsys.readouterr().out


def test_the_table_forgets_after_the_time_that_the_file_says(made):
    client = bigquery.Client(project="local-gcp")
    name = requests_table(made.experiment, made.platform)

    def kept():
        partitioning = client.get_table(name).time_partitioning
        assert partitioning.field == "logging_time"
        return datetime.timedelta(milliseconds=partitioning.expiration_ms)

    assert kept() == datetime.timedelta(days=7)
    longer = with_changes(made.experiment, {("deploy", "requests", "keep"): "20 days"})
    table_of.create(longer, made.platform)
    assert kept() == datetime.timedelta(days=20)


def test_the_table_has_the_groups_key_or_is_refused(made):
    client = bigquery.Client(project="local-gcp")
    keys = [f"projects/p/locations/us/keyRings/r/cryptoKeys/{name}" for name in "ab"]
    first, second = (made.platform.model_copy(update={"encryption_key": key}) for key in keys)
    keyed = made.experiment.model_copy(update={"name": "keyed"})
    table_of.require(keyed, first)  # nothing is there yet
    for platform in (first, second, second):
        table_of.create(keyed, platform)
        table_of.require(keyed, platform)
        found = client.get_table(requests_table(keyed, platform))
        assert found.encryption_configuration.kms_key_name == platform.encryption_key
        assert found.time_partitioning.expiration_ms == 7 * 24 * 3600 * 1000

    # That of the others was made before the group had a key.
    for refused in (table_of.require, table_of.create):
        with pytest.raises(PlatformError) as error:
            refused(made.experiment, first)
        name = requests_table(made.experiment, first)
        assert says(
            str(error.value), name, "encryption_key", f"bq cp -f --destination_kms_key {keys[0]}"
        )


def test_an_endpoint_that_is_there_follows_the_file(made):
    _, endpoints = deploying.clients()

    def config():
        return endpoints.get_endpoint(name=made.endpoint).predict_request_response_logging_config

    half = with_changes(made.experiment, {("deploy", "requests", "share"): 0.5})
    assert endpoint_of(half, made.platform) == made.endpoint
    assert (config().enabled, config().sampling_rate) == (True, 0.5)
    none = with_changes(made.experiment, {("deploy", "requests"): None})
    endpoint_of(none, made.platform)
    assert not config().enabled
    endpoint_of(made.experiment, made.platform)
    assert (config().enabled, config().sampling_rate) == (True, 1.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"share": 0.0}, "deploy.requests.share"),
        ({"share": 1.5}, "deploy.requests.share"),
        ({"share": 0.1, "keep": "2 hours"}, "expected a day or more"),
    ],
)
def test_what_cannot_be_kept_is_refused(breast_cancer, changes, said):
    with pytest.raises(FileError, match=said):
        with_changes(breast_cancer, {("deploy", "requests"): changes})


def test_requests_of_images_and_of_services_are_refused(digits, breast_cancer):
    with pytest.raises(FileError, match="requests with images are not kept"):
        with_changes(digits, {("deploy", "requests"): {"share": 0.1}})
    served = {("deploy", "allow"): ["trainings", "automl"], ("deploy", "requests"): {"share": 0.1}}
    with pytest.raises(FileError, match="a model of a service is asked in its own form"):
        with_changes(breast_cancer, served)
