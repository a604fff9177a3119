"""Rows of a table as a serving container is sent them, and what the results say of them."""

import datetime
import decimal
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from local_gcp.vertex.batch_prediction import instances

DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
ROWS = pa.table(
    {
        "id": pa.array([DAY, DAY + datetime.timedelta(1)]),
        "big": pa.array([2**60, None]),
        "price": pa.array([decimal.Decimal("0.10"), None]),
        "rate": pa.array([0.5, float("nan")]),
        "is_new": pa.array([True, None]),
        "taken": pa.array([NOON, None], pa.timestamp("us", "UTC")),
        "pulse": pa.array([[1.5, 2.0], []]),
        "label": pa.array(["a", "b"]),
    }
)
# Answers with each instance as JSON text.
ECHO = """
import http.server, json, os
REFUSE = os.environ["REFUSE"]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({})
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if REFUSE and REFUSE in text:
            self.send_response(400)
            self.end_headers()
            return self.wfile.write(b"refused")
        said = json.loads(text)
        self.answer({"predictions": [json.dumps(one) for one in said["instances"]]})
    def answer(self, body):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())
http.server.HTTPServer(("127.0.0.1", int(os.environ["AIP_HTTP_PORT"])), Handler).serve_forever()
"""


@pytest.fixture
def predict(tmp_path):
    """predict("bigquery", key="id"): counts and folder of the results."""

    def run(form, batch_size=64, refuse="", **shape):
        pq.write_table(ROWS, tmp_path / "instances.parquet")
        shape = {"type": "object", "key": None, "included": [], "excluded": [], **shape}
        config = {
            "model": {
                "argv": [sys.executable, "-I", "-S", "-c", ECHO],
                "image": {},
                "env": {"REFUSE": refuse},
                "account": "",
                "cwd": "/",
                "health": "/health",
                "predict": "/predict",
            },
            "input": {"format": "bigquery", "files": [str(tmp_path / "instances.parquet")]},
            "instance": shape,
            "parameters": None,
            "batch_size": batch_size,
            "output": {"format": form},
            "buckets": str(tmp_path),
        }
        instances.predict_container(config, tmp_path)
        return tmp_path

    return run


def test_every_type_of_bigquery_is_sent_as_bigquery_writes_it_in_json(predict):
    folder = predict("jsonl", key="id", excluded=["label"])
    lines = (folder / "prediction.results-00000-of-00001").read_text().splitlines()
    first, second = map(json.loads, lines)
    assert first["key"] == "2024-02-29"
    assert json.loads(first["prediction"]) == {
        "big": 2**60,
        "price": "0.10",
        "rate": 0.5,
        "is_new": True,
        "taken": "2024-02-29T12:00:00Z",
        "pulse": [1.5, 2.0],
    }
    rest = {"big": None, "price": None, "is_new": None, "taken": None}
    assert json.loads(second["prediction"]) == {**rest, "rate": "NaN", "pulse": []}


def test_a_request_that_fails_fails_for_all_of_its_rows(predict):
    """Check against real tables of failed rows: all columns of the input, and a text,
    `prediction_error`.
    """
    folder = predict("bigquery", batch_size=1, refuse='"big": null', excluded=["label"])
    kept = pq.read_table(folder / "predictions.parquet")
    failed = pq.read_table(folder / "errors.parquet")
    assert kept["label"].to_pylist() == ["a"]
    assert failed.schema.names == [*ROWS.schema.names, "prediction_error"]
    assert failed["label"].to_pylist() == ["b"]
    (text,) = failed["prediction_error"].to_pylist()
    assert text.startswith("Post request fails. Cannot get predictions. Error: Exceeded retries: ")
    assert "Non-OK result 400 (refused) from server, retry=3" in text

    folder = predict("bigquery", batch_size=2, refuse='"big": null', excluded=["label"])
    assert pq.read_table(folder / "predictions.parquet").num_rows == 0
    assert pq.read_table(folder / "errors.parquet")["label"].to_pylist() == ["a", "b"]


def test_a_table_of_results_has_the_row(predict):
    kept = pq.read_table(predict("bigquery", included=["label"]) / "predictions.parquet")
    assert kept.schema.names == [*ROWS.schema.names, "prediction"]
    assert kept["label"].to_pylist() == ["a", "b"]
