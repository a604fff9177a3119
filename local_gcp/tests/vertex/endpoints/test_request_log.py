"""A sample of an endpoint's requests is kept in a table of BigQuery, as Vertex AI keeps it."""

import json

import pytest
from google.api_core import exceptions

from local_gcp.bigquery.refs import DatasetRef, TableRef
from local_gcp.bigquery.service import BigQuery
from local_gcp.home import Endpoints
from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.service import Context
from local_gcp.vertex.endpoints import request_log

DATASET = DatasetRef(PROJECT, "kept")
MASK = {"paths": ["predict_request_response_logging_config"]}


@pytest.fixture
def warehouse(home):
    bigquery = BigQuery(Context(home, PROJECT, Endpoints(1, 2), {}))
    bigquery.start()
    bigquery.warehouse.ensure_dataset(DATASET)
    yield bigquery.warehouse
    bigquery.stop()


@pytest.fixture
def keep(vertex, endpoint):
    """keep(share, "requests"): has the endpoint keep that share in the table."""

    def update(share, table="requests", enabled=True):
        uri = f"bq://{PROJECT}.kept.{table}"
        config = {
            "enabled": enabled,
            "sampling_rate": share,
            "bigquery_destination": {"output_uri": uri},
        }
        sent = {"name": endpoint, "predict_request_response_logging_config": config}
        return vertex.endpoints.update_endpoint(endpoint=sent, update_mask=MASK)

    return update


@pytest.fixture
def kept(vertex, warehouse):
    """kept("requests"): the rows of the table, as the service has them when it stops."""

    def read(table="requests"):
        vertex.service.request_log._flush()
        return warehouse.read(TableRef(PROJECT, "kept", table)).read_all().to_pylist()

    return read


def test_requests_and_answers_are_rows(upload, deploy, predict, keep, kept, endpoint):
    deployed = deploy(upload(), {"0": 100})
    predict(1)
    keep(1.0)
    predict(2)
    predict(3, 4.5)
    keep(1.0, enabled=False)
    predict(5)
    first, second = sorted(kept(), key=lambda row: row["logging_time"])
    assert [json.loads(text) for text in first["request_payload"]] == [2]
    assert [json.loads(text)["double"] for text in first["response_payload"]] == [4]
    assert [json.loads(text) for text in second["request_payload"]] == [3, 4.5]
    assert len(second["response_payload"]) == 2
    assert (second["endpoint"], second["deployed_model_id"]) == (endpoint, deployed)
    assert first["request_id"] != second["request_id"]


def test_of_many_requests_a_share_is_kept(upload, deploy, predict, keep, kept):
    deploy(upload(), {"0": 100})
    keep(0.2)
    for number in range(200):
        predict(number)
    # Outside of this once in 100,000 runs.
    assert 15 < len(kept()) < 70


def test_a_refused_request_is_not_kept(upload, deploy, predict, keep, kept):
    deploy(upload(), {"0": 100})
    keep(1.0)
    with pytest.raises(exceptions.InvalidArgument):
        predict("bad")
    predict(1)
    assert len(kept()) == 1


def test_a_table_that_is_gone_costs_nobody_an_answer(upload, deploy, predict, keep, capfd, vertex):
    deploy(upload(), {"0": 100})
    keep(1.0)
    vertex.service.request_log.warehouse.write = _refused
    assert predict(1)
    vertex.service.request_log._flush()
    assert "1 requests are not kept" in capfd.readouterr().err


def _refused(*_):
    raise request_log.BigQueryError("notFound", "Not found: Table")


def test_what_is_wrong_with_a_configuration_is_said(keep, vertex, endpoint):
    with pytest.raises(
        exceptions.InvalidArgument, match=r"sampling_rate.* 1\.5 is not in \(0, 1\]"
    ):
        keep(1.5)
    with pytest.raises(exceptions.InvalidArgument, match="sampling_rate"):
        keep(0.0)
    sent = {"name": endpoint, "predict_request_response_logging_config": {"enabled": True}}
    sent["predict_request_response_logging_config"]["sampling_rate"] = 0.5
    with pytest.raises(exceptions.InvalidArgument, match="output_uri"):
        vertex.endpoints.update_endpoint(endpoint=sent, update_mask=MASK)
    got = keep(0.25)
    assert got.predict_request_response_logging_config.sampling_rate == 0.25
