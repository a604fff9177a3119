"""A whole server process, as an endpoint of Vertex AI runs it: model and images in a bucket."""

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest
import tensorflow as tf

from tests.trainer.serving.images import image, sent
from tests.trainer.serving.test_images import png_header

BUCKET = "serving-endpoint"
HEALTH = "/v1/endpoints/7/deployedModels/8"
PREDICT = f"{HEALTH}:predict"
LIGHT, DARK = sent(image(255)), sent(image(0))
CUT_JPEG = sent(image(0, (512, 512), ".jpg")[:-100])  # its header is whole
TEXT = sent(b"a text file named .jpg\n")
LARGE = sent(png_header(10_000, 5_000))


class Client:
    """A client with a connection of its own."""

    def __init__(self, port):
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def send(self, method, route, body=None):
        """Status, headers, and the document if there is one."""
        self._connection.request(method, route, body)
        response = self._connection.getresponse()
        content = response.read()
        return response.status, response.headers, json.loads(content) if content else None

    def predict(self, *instances, **others):
        """Status and document."""
        body = json.dumps({"instances": instances, **others})
        status, _, document = self.send("POST", PREDICT, body)
        return status, document


class Endpoint:
    """A server process, and what it said before it was ready."""

    def __init__(self, process):
        self.process = process
        self.port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
        self.before = self.health(), Client(self.port).send("POST", PREDICT, b"{}")
        assert "ready" in process.stdout.readline()

    def health(self):
        return Client(self.port).send("GET", HEALTH)[0]

    def predict(self, *instances, **others):
        return Client(self.port).predict(*instances, **others)

    def labels(self, *instances):
        status, document = self.predict(*instances)
        assert status == 200, document
        return [prediction["label"] for prediction in document["predictions"]]


@pytest.fixture(scope="module")
def endpoint(local_gcp, model_folder):
    folder = local_gcp.buckets / BUCKET
    shutil.copytree(model_folder, folder / "experiment/model")
    (folder / "light.png").write_bytes(image(250))
    variables = {
        "AIP_STORAGE_URI": f"gs://{BUCKET}/experiment/model",
        "AIP_HTTP_PORT": "0",
        "AIP_HEALTH_ROUTE": HEALTH,
        "AIP_PREDICT_ROUTE": PREDICT,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "trainer", "serve"],
        env=local_gcp.env | variables,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Endpoint(process)
        process.kill()


def test_it_answers_while_it_loads_and_says_so(endpoint):
    health, (status, headers, document) = endpoint.before
    assert health == status == 503
    assert int(headers["retry-after"]) > 0
    assert document["error"]["message"] == "the model is still loading"


def test_it_is_healthy_when_the_model_is_loaded(endpoint):
    assert endpoint.health() == 200


def test_predictions_come_in_the_order_of_the_instances(endpoint):
    status, document = endpoint.predict(LIGHT, DARK, parameters=None)
    assert status == 200
    light, dark = document["predictions"]
    assert (light["label"], dark["label"]) == ("light", "dark")
    assert light["probabilities"].keys() == {"dark", "light"}
    assert sum(dark["probabilities"].values()) == pytest.approx(1)


def test_no_skew_between_the_server_and_the_bare_model(endpoint, model_folder):
    files = [image(value) for value in range(0, 256, 4)]
    bare = tf.saved_model.load(str(model_folder)).signatures["serving_default"]
    expected = bare(image=tf.constant(files))["probabilities"].numpy()
    _, document = endpoint.predict(*map(sent, files))
    served = [list(p["probabilities"].values()) for p in document["predictions"]]
    assert served == pytest.approx(expected, abs=1e-6)


def test_images_in_a_bucket(endpoint):
    named = {"image": f"gs://{BUCKET}/light.png"}
    assert endpoint.labels(DARK, named, DARK, named) == ["dark", "light", "dark", "light"]
    status, document = endpoint.predict(DARK, {"image": f"gs://{BUCKET}/none.png"})
    assert status == 400
    assert "instances[1].image: gs://" in document["error"]["message"]


@pytest.mark.parametrize(
    ("instances", "field", "reason"),
    [
        ([LIGHT, TEXT], "instances[1].image", "not an image; expected one of JPEG"),
        ([LARGE, LIGHT], "instances[0].image", "50.0 megapixels"),
        ([LIGHT, DARK, CUT_JPEG], "instances[2].image", "corrupt or truncated JPEG"),
        ([{"image": {"b64": "no!"}}], "instances[0].image.b64", "not base64"),
        ([LIGHT | {"pixels": [0.5]}], "instances[0].pixels", "not a feature"),
        ([LIGHT] * 2000, "instances", "1 to 256"),
    ],
    ids=["text", "50 megapixels", "cut", "base64", "field", "2000 instances"],
)
def test_a_wrong_instance_is_named(endpoint, instances, field, reason):
    status, document = endpoint.predict(*instances)
    error = document["error"]
    assert (status, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    (violation,) = error["details"][0]["fieldViolations"]
    assert violation["field"] == field
    assert reason in violation["description"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"label=7", 400),
        (b'{"instances": [], "parameters": {"threshold": NaN}}', 400),
        (b"[" * 500_000 + b"]" * 500_000, 400),
        (bytes(11 << 20), 413),
    ],
    ids=["no JSON", "NaN", "1 MB of nested lists", "11 MB"],
)
def test_a_wrong_body(endpoint, body, status):
    got, _, document = Client(endpoint.port).send("POST", PREDICT, body)
    assert got == document["error"]["code"] == status


@pytest.mark.parametrize(("method", "route", "status"), [("GET", PREDICT, 405), ("GET", "/", 404)])
def test_a_wrong_route_is_told_the_right_ones(endpoint, method, route, status):
    got, _, document = Client(endpoint.port).send(method, route)
    assert got == status
    assert f"expected POST {PREDICT} or GET {HEALTH}" in document["error"]["message"]


def test_a_process_that_serves_has_no_keras_in_it(endpoint):
    libraries = Path(f"/proc/{endpoint.process.pid}/maps").read_text()
    assert "libtensorflow" in libraries
    assert "/pandas/" not in libraries, "what Keras brings along"


def test_wrong_requests_take_nothing_from_those_that_come_with_them(endpoint):
    requests = [(LIGHT, DARK), (CUT_JPEG,), (DARK,), (TEXT,)] * 20
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda instances: endpoint.predict(*instances), requests))
    assert [status for status, _ in answers] == [200, 400, 200, 400] * 20
    labels = [[p["label"] for p in document["predictions"]] for _, document in answers[::2]]
    assert labels == [["light", "dark"], ["dark"]] * 20


def test_sigterm_under_load_loses_no_request(endpoint):
    """Stands last: it ends the server of this module."""
    statuses = []
    ready = threading.Barrier(9)

    def client_that_heeds_notice():
        client = Client(endpoint.port)
        body = json.dumps({"instances": [LIGHT, DARK]})
        ready.wait()
        closing = False
        while not closing:
            status, headers, _ = client.send("POST", PREDICT, body)
            statuses.append(status)
            closing = headers.get("connection") == "close"

    with ThreadPoolExecutor(8) as threads:
        clients = [threads.submit(client_that_heeds_notice) for _ in range(8)]
        ready.wait()
        while len(statuses) < 50:
            time.sleep(0.01)
        endpoint.process.send_signal(signal.SIGTERM)
        for client in clients:
            client.result(timeout=60)
    assert set(statuses) == {200}
    assert endpoint.health() == 503
    # Who has not heard of it yet is still served.
    assert endpoint.labels(LIGHT) == ["light"]
    assert endpoint.process.wait(timeout=60) == 0
    with pytest.raises(ConnectionRefusedError):
        endpoint.health()
