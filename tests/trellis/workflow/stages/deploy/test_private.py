"""A private endpoint's address, emulated by an HTTPS server whose certificate nobody knows."""

import datetime
import http.server
import json
import ssl
import threading

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.cloud.aiplatform_v1.types import Endpoint
from google.oauth2.credentials import Credentials

from trellis.workflow.stages.deploy import private, smoke_requests
from trellis_contracts.challenger import Example

ENDPOINT = "projects/1/locations/us-central1/endpoints/digits"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        expected = (f"/v1/{ENDPOINT}:predict", "Bearer a-token")
        good = (self.path, self.headers["Authorization"]) == expected
        (instance,) = body["instances"]
        answer = {"deployedModelId": "7", "predictions": [{"value": 2 * instance["x"]}]}
        if instance["x"] > 9:
            good, answer = False, {"error": {"message": "instance 0: x is too large"}}
        self.send_response(200 if good else 400)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    pem = tmp_path_factory.mktemp("private") / "own.pem"
    pem.write_bytes(_self_signed())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield private.PrivateClient(f"127.0.0.1:{server.server_port}", Credentials("a-token"))
    server.shutdown()


def _self_signed():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "nobody")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(1))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    return certificate + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def ask(client, x):
    example = Example("row-1", {"x": x}, {"value": 2 * x})
    return smoke_requests.ask(client, ENDPOINT, "7", 100, [example], 60_000)


def test_a_smoke_test_of_a_private_endpoint(client):
    found = ask(client, 4)
    assert (found.requests, found.largest_difference) == (1, 0)


def test_its_refusal_is_reported(client):
    with pytest.raises(smoke_requests.SmokeTestError, match=r"BadRequest: its message may"):
        ask(client, 10)


def test_a_worker_outside_the_network_is_reported(monkeypatch):
    monkeypatch.setattr(smoke_requests, "START_SECONDS", 0.1)
    outside = private.PrivateClient("127.0.0.1:1", Credentials("a-token"))
    with pytest.raises(
        smoke_requests.SmokeTestError, match="are Airflow's workers in the endpoint's netw"
    ):
        ask(outside, 4)


def endpoint(**automation):
    network = {"project_id": "p", "network": "projects/1/global/networks/n", **automation}
    config = {"enable_private_service_connect": True, "psc_automation_configs": [network]}
    return Endpoint(name=ENDPOINT, private_service_connect_config=config)


def test_the_address_comes_with_the_first_deployment():
    assert private.address(endpoint(ip_address="10.0.0.7")) == "10.0.0.7"
    with pytest.raises(AirflowException, match="no address in the network yet"):
        private.address(endpoint())
    with pytest.raises(AirflowFailException, match="networks/n: no permission"):
        private.address(endpoint(error_message="no permission"))
    assert not private.is_private(Endpoint(name=ENDPOINT))
