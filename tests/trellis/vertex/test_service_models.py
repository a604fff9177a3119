"""Models of Google's services in the registry and at an endpoint, with a real BigQuery ML model."""

import pytest
from google.cloud import aiplatform_v1 as api
from google.cloud import bigquery

from tests.trellis.vertex.deploying import PARENT, PLACE, deploy, model, register, run
from trellis.verdict import JobFailedForGood
from trellis.vertex.registry import service_of
from trellis.vertex.service_models import ServiceVersionOperator
from trellis.workflow.stages.deploy import smoke_requests
from trellis_contracts.challenger import Example

ROWS = "SELECT MOD(n, 10) AS size, IF(MOD(n, 10) > 4, 'large', 'small') AS label"
MODEL = "local-gcp.service_models.sizes"


@pytest.fixture(scope="module")
def learned(serving):
    """(instance, canonical prediction) of two rows by ML.PREDICT."""
    client = bigquery.Client(location="us-central1")
    client.create_dataset("service_models", exists_ok=True)
    client.query_and_wait(
        f"CREATE MODEL `{MODEL}` OPTIONS (model_type = 'logistic_reg', data_split_method = "
        f"'NO_SPLIT', input_label_cols = ['label']) AS {ROWS} FROM UNNEST(GENERATE_ARRAY(1, 60)) n"
    )
    rows = client.query_and_wait(
        f"SELECT * FROM ML.PREDICT(MODEL `{MODEL}`, (SELECT size FROM UNNEST([2, 7]) AS size))"
    )
    return [
        Example(
            str(row["size"]),
            {"size": str(row["size"])},
            {
                "label": row["predicted_label"],
                "probabilities": {p["label"]: p["prob"] for p in row["predicted_label_probs"]},
            },
        )
        for row in rows
    ]


def adopt(name, run_id="run", service="bqml", source=MODEL):
    """The name of the version that a run registered."""
    fields = {
        "display_name": name,
        "labels": {"trellis-experiment": name, "trellis-run": run_id},
        "version_description": '{"run": "gs://b/r/"}',
    }
    operator = ServiceVersionOperator(
        task_id="register",
        model_id=name,
        model=fields,
        aliases=["challenger"],
        origin={"service": service, "model": source},
        bigquery_location="us-central1",
        **PLACE,
    )
    return run(operator, run_id)["name"]


@pytest.fixture
def copied(serving, name):
    """Name of a model as AutoML's pipeline leaves one: of its own, without our labels."""
    sent = {**model("theirs"), "labels": {}}
    answer = serving.models.upload_model(parent=PARENT, model=sent).result(timeout=30)
    return answer.model


def test_a_bigquery_model_is_a_version_that_answers_as_ml_predict(serving, name, learned, endpoint):
    first = register(name, aliases=["champion"], run_id="before")
    deploy(endpoint, first)
    version = adopt(name)
    assert version == f"{first[:-1]}2"
    assert adopt(name) == version  # an attempt after it was complete
    found = serving.models.get_model(name=version)
    assert service_of(found) == "bqml"
    assert (found.labels["trellis-run"], list(found.version_aliases)) == ("run", ["challenger"])
    assert found.version_description == '{"run": "gs://b/r/"}'
    deployed = deploy(endpoint, version, share=50)
    client = api.PredictionServiceClient(
        client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    )
    # The program of the first version answers anything.
    told = smoke_requests.ask(client, endpoint, deployed, 50, learned, 60_000, service="bqml")
    assert (told.examples, told.largest_difference < 1e-9) == (2, True)


def test_a_registration_that_was_interrupted_is_completed(serving, name, learned):
    """BigQuery registered it, and the task died before it gave the version its labels."""
    client = bigquery.Client(location="us-central1")
    own = f"local-gcp.service_models.{name.replace('-', '_')}"
    client.query_and_wait(
        f"CREATE MODEL `{own}` OPTIONS (model_type = 'linear_reg', input_label_cols = ['label']) "
        "AS SELECT 1.0 * n AS x, 2.0 * n AS label FROM UNNEST(GENERATE_ARRAY(1, 9)) n"
    )
    client.query_and_wait(f"ALTER MODEL `{own}` SET OPTIONS (vertex_ai_model_id = '{name}')")
    assert adopt(name, source=own).endswith(f"/models/{name}@1")
    found = serving.models.get_model(name=f"{PARENT}/models/{name}@1")
    assert found.labels["trellis-experiment"] == name


def test_a_copy_is_made_once(serving, name, copied):
    version = adopt(name, service="automl", source=copied)
    assert adopt(name, service="automl", source=copied) == version
    found = serving.models.get_model(name=version)
    assert found.original_model_info.model.startswith(copied.rpartition("/")[0])
    assert found.labels["trellis-experiment"] == name
    # Another run's comparison may choose the same model again: that is another version.
    assert adopt(name, run_id="other", service="automl", source=copied) != version


def test_a_model_that_is_someone_elses_gets_no_version(serving, name, copied):
    theirs = {**model(name), "labels": {}}
    request = {"parent": PARENT, "model_id": name, "model": theirs}
    serving.models.upload_model(request=request).result(timeout=10)
    with pytest.raises(JobFailedForGood, match="trellis-experiment is not set"):
        adopt(name, service="automl", source=copied)
