"""The entry point: which hosts are emulated, which are refused, and that bytes pass whole."""

import os
import socket
import ssl
from pathlib import Path

import psutil
import pytest
import requests

from local_gcp.gateway import why_refused

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def session(local_gcp) -> requests.Session:
    """requests with the proxy and the certificate authority that `env` names."""
    session = requests.Session()
    session.trust_env = False
    session.proxies = {"https": local_gcp.client_env["https_proxy"]}
    session.proxies["http"] = session.proxies["https"]
    session.verify = local_gcp.client_env["REQUESTS_CA_BUNDLE"]
    return session


@pytest.mark.parametrize(
    "host",
    [
        "storage.googleapis.com",
        "us-central1-aiplatform.googleapis.com",
        "dataflow.us-east4.rep.googleapis.com",
        "WWW.GoogleAPIs.com",
    ],
)
def test_googles_hosts_are_emulated(host):
    assert why_refused("CONNECT", f"{host}:443") is None


@pytest.mark.parametrize(
    ("method", "target", "reason"),
    [
        ("CONNECT", "example.com:443", "reaches no host outside this machine"),
        ("CONNECT", "googleapis.com.evil.org:443", "reaches no host outside"),
        ("CONNECT", "evilgoogleapis.com:443", "reaches no host outside"),
        ("CONNECT", "storage.googleapis.com:22", "reaches no host outside"),
        ("CONNECT", "127.0.0.1:443", "reaches no host outside"),
        ("GET", "http://storage.googleapis.com/", "a proxy for https only"),
    ],
)
def test_everything_else_is_refused(method, target, reason):
    assert target in why_refused(method, target)
    assert reason in why_refused(method, target)


def test_a_client_sees_why_it_was_refused(session):
    with pytest.raises(requests.exceptions.ProxyError, match=r"403 local_gcp refuses example\.com"):
        session.get("https://example.com/", timeout=10)
    plain = session.get("http://example.com/", timeout=10)
    assert plain.status_code == 403
    assert "GET http://example.com/ is refused" in plain.text


def test_a_host_of_googles_that_is_not_emulated_gets_501_with_its_name(session):
    url = "https://pubsub.googleapis.com/v1/projects/p/topics"
    answer = session.get(url, timeout=10)
    assert answer.status_code == 501
    assert answer.json()["error"]["status"] == "UNIMPLEMENTED"
    assert f"GET {url}" in answer.text


def test_regional_hosts_show_a_valid_certificate(session):
    for host in ("bigquery.us-east4.rep.googleapis.com", "aiplatform.eu.rep.googleapis.com"):
        assert session.get(f"https://{host}/", timeout=10).status_code == 501


def test_grpc_clients_reach_the_grpc_server(local_gcp):
    local_gcp.run(PROGRAMS / "over_grpc.py", environment="local_gcp")


def test_a_client_that_offers_both_protocols_gets_http_1_1(local_gcp):
    proxy = local_gcp.status()["endpoints"]["proxy"].removeprefix("http://").split(":")
    context = ssl.create_default_context(cafile=local_gcp.client_env["SSL_CERT_FILE"])
    context.set_alpn_protocols(["h2", "http/1.1"])
    host = "storage.googleapis.com"
    with socket.create_connection((proxy[0], int(proxy[1]))) as raw:
        raw.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
        assert raw.recv(1000).startswith(b"HTTP/1.1 200")
        with context.wrap_socket(raw, server_hostname=host) as tls:
            assert tls.selected_alpn_protocol() == "http/1.1"
            path = "/storage/v1/b?project=local-gcp"
            tls.sendall(f"GET {path} HTTP/1.1\r\nHost: storage.googleapis.com\r\n\r\n".encode())
            assert tls.recv(1000).startswith(b"HTTP/1.1 200")


def test_every_socket_of_the_server_is_on_loopback(local_gcp):
    sockets = psutil.Process(local_gcp.pid).net_connections("inet")
    addresses = {connection.laddr.ip.removeprefix("::ffff:") for connection in sockets}
    assert addresses == {"127.0.0.1"}


def test_large_bodies_pass_whole_in_both_directions(local_gcp, session):
    (local_gcp.buckets / "gateway").mkdir()
    data = os.urandom(20_000_000)
    url = "https://storage.googleapis.com/upload/storage/v1/b/gateway/o?uploadType=media&name=x"
    assert session.post(url, data=data, timeout=60).status_code == 200
    read = session.get("https://storage.googleapis.com/gateway/x", timeout=60)
    assert read.content == data
