"""A session over plain REST, without Google's client: what `bq` and scripts with curl do."""

import time
import uuid

import pyarrow.parquet as pq
import pytest
import requests

API = "https://bigquery.googleapis.com/bigquery/v2/projects/local-gcp"
UPLOAD = "https://bigquery.googleapis.com/upload/bigquery/v2/projects/local-gcp"


@pytest.fixture
def call(client_env, monkeypatch):
    """METHOD path with a JSON body; the JSON answer, whose status must be `status`."""
    for name, value in client_env.items():
        monkeypatch.setenv(name, value)

    def call(method, path, body=None, status=200, **query):
        headers = {"Authorization": "Bearer any"}
        response = requests.request(
            method, f"{API}/{path}", json=body, params=query, headers=headers, timeout=60
        )
        assert response.status_code == status, response.text
        return response.json() if response.content else None

    return call


@pytest.fixture
def dataset(call):
    name = f"rest_{uuid.uuid4().hex[:12]}"
    call("POST", "datasets", {"datasetReference": {"datasetId": name}})
    yield name
    call("DELETE", f"datasets/{name}", status=204, deleteContents="true")


@pytest.fixture
def done(call):
    """Begins a job, and waits until it is DONE."""

    def done(configuration):
        job = call("POST", "jobs", {"configuration": configuration})
        while job["status"]["state"] != "DONE":
            time.sleep(0.05)
            job = call("GET", f"jobs/{job['jobReference']['jobId']}", location="US")
        assert "errorResult" not in job["status"], job["status"]
        return job

    return done


@pytest.fixture
def query(call):
    """jobs.query, to its end; the answer of its last page."""

    def query(text, **more):
        body = {"query": text, "useLegacySql": False, **more}
        answer = call("POST", "queries", body)
        reference = answer["jobReference"]
        while not answer["jobComplete"]:
            answer = call("GET", f"queries/{reference['jobId']}", location=reference["location"])
        return answer

    return query


def cells(answer):
    return [[cell["v"] for cell in row["f"]] for row in answer.get("rows", [])]


def test_a_session(call, done, query, dataset, folder):
    table = {"projectId": "local-gcp", "datasetId": dataset, "tableId": "samples"}
    schema = {
        "fields": [
            {"name": "key", "type": "STRING", "mode": "REQUIRED"},
            {"name": "x", "type": "FLOAT"},
            {"name": "label", "type": "BOOLEAN"},
        ]
    }
    made = call("POST", f"datasets/{dataset}/tables", {"tableReference": table, "schema": schema})
    assert (made["type"], made["numRows"]) == ("TABLE", "0")

    lines = [f"k{i},{i / 10},{str(i >= 50).lower()}" for i in range(100)]
    (folder / "rows.csv").write_text("\n".join(lines))
    uri = f"gs://{folder.name}"
    load = {"sourceUris": [f"{uri}/rows.csv"], "destinationTable": table}
    assert done({"load": load})["statistics"]["load"]["outputRows"] == "100"

    answer = query(
        f"SELECT label, COUNT(*) AS n FROM {dataset}.samples WHERE x > @x GROUP BY 1 ORDER BY 1",
        parameterMode="NAMED",
        queryParameters=[
            {
                "name": "x",
                "parameterType": {"type": "FLOAT64"},
                "parameterValue": {"value": "1.95"},
            }
        ],
    )
    assert [f["type"] for f in answer["schema"]["fields"]] == ["BOOLEAN", "INTEGER"]
    assert (cells(answer), answer["totalRows"]) == ([["false", "30"], ["true", "50"]], "2")

    script = query(f"DECLARE n INT64; SET n = (SELECT COUNT(*) FROM {dataset}.samples); SELECT n;")
    assert cells(script) == [["100"]]
    children = call("GET", "jobs", parentJobId=script["jobReference"]["jobId"])
    assert [job["state"] for job in children["jobs"]] == ["DONE"]

    query(
        f"""CREATE MODEL {dataset}.m OPTIONS (model_type = 'logistic_reg',
        input_label_cols = ['label'], data_split_method = 'NO_SPLIT')
        AS SELECT x, label FROM {dataset}.samples"""
    )
    model = call("GET", f"datasets/{dataset}/models/m")
    assert model["modelType"] == "LOGISTIC_REGRESSION"
    (listed,) = call("GET", f"datasets/{dataset}/models")["models"]
    assert listed["modelReference"]["modelId"] == "m"
    evaluated = query(f"SELECT roc_auc FROM ML.EVALUATE(MODEL {dataset}.m)")
    assert float(cells(evaluated)[0][0]) == 1
    query(
        f"""CREATE TABLE {dataset}.predicted AS SELECT key, predicted_label
        FROM ML.PREDICT(MODEL {dataset}.m, (SELECT key, x FROM {dataset}.samples))"""
    )
    extract = {
        "sourceTable": {**table, "tableId": "predicted"},
        "destinationUris": [f"{uri}/predicted-*.parquet"],
        "destinationFormat": "PARQUET",
    }
    assert done({"extract": extract})["statistics"]["extract"]["destinationUriFileCounts"] == ["1"]
    rows = pq.read_table(folder / "predicted-000000000000.parquet").to_pylist()
    assert {row["key"]: row["predicted_label"] for row in rows}["k3"] is False
    assert len(rows) == 100

    call("DELETE", f"datasets/{dataset}/models/m", status=204)
    error = call("GET", f"datasets/{dataset}/models/m", status=404)["error"]
    assert (error["status"], error["errors"][0]["reason"]) == ("NOT_FOUND", "notFound")


def test_pages_of_rows(call, query):
    text = "SELECT n FROM UNNEST(GENERATE_ARRAY(1, 5)) AS n ORDER BY n"
    answer = query(text, maxResults=2)
    found = cells(answer)
    while "pageToken" in answer:
        answer = call(
            "GET",
            f"queries/{answer['jobReference']['jobId']}",
            maxResults=2,
            pageToken=answer["pageToken"],
        )
        found += cells(answer)
    assert found == [["1"], ["2"], ["3"], ["4"], ["5"]]


def test_a_request_id_is_done_once(call, query, dataset):
    query(f"CREATE TABLE {dataset}.t (x INT64)")
    request = {"requestId": uuid.uuid4().hex}
    first = query(f"INSERT {dataset}.t VALUES (1)", **request)
    again = query(f"INSERT {dataset}.t VALUES (1)", **request)
    assert again["jobReference"] == first["jobReference"]
    assert first["numDmlAffectedRows"] == again["numDmlAffectedRows"] == "1"
    query(f"INSERT {dataset}.t VALUES (1)", requestId=uuid.uuid4().hex)
    assert cells(query(f"SELECT COUNT(*) FROM {dataset}.t")) == [["2"]]


def test_another_query_is_no_repetition(query):
    request = {"requestId": uuid.uuid4().hex}
    assert cells(query("SELECT 1", **request)) == [["1"]]
    assert cells(query("SELECT 2", **request)) == [["2"]]
    assert cells(query("SELECT 1", maxResults=1, **request)) == [["1"]]


def test_an_upload(call, done, dataset):
    configuration = {
        "load": {
            "destinationTable": {
                "projectId": "local-gcp",
                "datasetId": dataset,
                "tableId": "t",
            },
            "sourceFormat": "NEWLINE_DELIMITED_JSON",
            "autodetect": True,
        }
    }
    begun = requests.post(
        f"{UPLOAD}/jobs?uploadType=resumable", json={"configuration": configuration}, timeout=60
    )
    sent = requests.put(begun.headers["Location"], data=b'{"x": 1}\n{"x": 2}\n', timeout=60)
    job = sent.json()
    while job["status"]["state"] != "DONE":
        time.sleep(0.05)
        job = call("GET", f"jobs/{job['jobReference']['jobId']}")
    assert job["statistics"]["load"]["outputRows"] == "2"
    rows = call("GET", f"datasets/{dataset}/tables/t/data")
    assert cells(rows) == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "datasets/d/routines"),
        ("POST", "datasets/d/routines"),
        ("GET", "datasets/d/tables/t/rowAccessPolicies"),
        ("POST", "datasets/d/tables/t:getIamPolicy"),
        ("POST", "datasets/d:undelete"),
        ("PUT", "datasets/d/models/m"),
    ],
)
def test_what_is_not_emulated_is_refused_by_name(call, method, path):
    error = call(method, path, {} if method != "GET" else None, status=501)["error"]
    assert f"{method} /bigquery/v2/projects/local-gcp/{path} of BigQuery" in error["message"]
    assert error["errors"][0]["reason"] == "notImplemented"
