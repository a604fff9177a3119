"""Request heads as TensorFlow and others send them, byte by byte over a socket."""

import http.client
import os
import socket
from urllib.parse import urlsplit

import pytest

PATH = "/upload/storage/v1/b/protocol/o?uploadType=media&name="


@pytest.fixture
def address(local_gcp):
    """Host and port of the server, which has the bucket `protocol`."""
    (local_gcp.buckets / "protocol").mkdir(exist_ok=True)
    url = urlsplit(local_gcp.client_env["LOCAL_GCP_URL"])
    return url.hostname, url.port


@pytest.fixture
def exchange(address):
    """Send pieces over one connection, return the first answer's status line."""

    def exchange(*pieces: bytes) -> bytes:
        with socket.create_connection(address) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connection.sendall(piece)
            return connection.recv(1000).split(b"\r\n")[0]

    return exchange


def head(name: str, *fields: str) -> bytes:
    lines = [f"POST {PATH}{name} HTTP/1.1", "Host: 127.0.0.1", *fields, "", ""]
    return "\r\n".join(lines).encode()


def test_transfer_encoding_identity_means_nothing(exchange, local_gcp):
    request = head("identity", "Content-Length: 4", "Transfer-Encoding: identity") + b"data"
    assert exchange(request) == b"HTTP/1.1 200 OK"
    assert (local_gcp.buckets / "protocol/identity").read_bytes() == b"data"


def test_also_when_the_head_arrives_in_pieces(exchange, local_gcp):
    request = head("pieces", "transfer-encoding:identity", "Content-Length: 4") + b"data"
    assert exchange(*(request[i : i + 5] for i in range(0, len(request), 5))) == b"HTTP/1.1 200 OK"
    assert (local_gcp.buckets / "protocol/pieces").read_bytes() == b"data"


def test_a_body_that_looks_like_the_header_is_left_alone(exchange, local_gcp):
    body = b"\r\nTransfer-Encoding: identity\r\n\r\n"
    request = head("body", f"Content-Length: {len(body)}")
    assert exchange(request + body) == b"HTTP/1.1 200 OK"
    assert (local_gcp.buckets / "protocol/body").read_bytes() == body


def test_chunked_beside_content_length(exchange, local_gcp):
    request = head("chunked", "Content-Length: 999", "Transfer-Encoding: chunked")
    assert exchange(request + b"4\r\ndata\r\n0\r\n\r\n") == b"HTTP/1.1 200 OK"
    assert (local_gcp.buckets / "protocol/chunked").read_bytes() == b"data"


def test_other_encodings_are_refused(exchange):
    assert exchange(head("x", "Transfer-Encoding: gzip")).startswith(b"HTTP/1.1 400")


@pytest.fixture
def connection(address):
    """One connection for all requests, as a client's pool has it."""
    connection = http.client.HTTPConnection(*address, timeout=30)
    yield connection
    connection.close()


def post(connection: http.client.HTTPConnection, path: str, body: bytes) -> int:
    connection.request("POST", path, body)
    answer = connection.getresponse()
    answer.read()
    return answer.status


@pytest.mark.parametrize("size", [0, 1, 64 << 10, (64 << 10) + 1, (3 << 20) + 5])
def test_bodies_of_any_length_one_after_the_other(connection, local_gcp, size):
    for body in (os.urandom(size), os.urandom(size)):
        assert post(connection, f"{PATH}length", body) == 200
        assert (local_gcp.buckets / "protocol/length").read_bytes() == body


def test_a_body_that_nobody_reads_does_not_disturb_the_next_request(connection, local_gcp):
    missing = PATH.replace("/protocol/", "/missing/")
    assert post(connection, f"{missing}x", os.urandom(3 << 20)) == 404
    assert post(connection, f"{PATH}next", b"data") == 200
    assert (local_gcp.buckets / "protocol/next").read_bytes() == b"data"


def test_a_request_that_follows_a_long_body_at_once(address, local_gcp):
    body = os.urandom(1 << 20)
    first = head("first", f"Content-Length: {len(body)}")
    second = head("second", "Content-Length: 4", "Connection: close")
    with socket.create_connection(address) as connection, connection.makefile("rb") as answers:
        connection.sendall(first + body + second + b"data")
        assert answers.read().count(b"HTTP/1.1 200 OK") == 2
    assert (local_gcp.buckets / "protocol/first").read_bytes() == body
    assert (local_gcp.buckets / "protocol/second").read_bytes() == b"data"


def test_a_client_that_asks_before_it_sends_the_body(address, local_gcp):
    body = os.urandom(1 << 20)
    request = head("asked", f"Content-Length: {len(body)}", "Expect: 100-continue")
    with socket.create_connection(address) as connection, connection.makefile("rb") as answers:
        connection.sendall(request)
        assert answers.readline() == b"HTTP/1.1 100 Continue\r\n"
        while answers.readline() != b"\r\n":
            pass
        connection.sendall(body)
        assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
    assert (local_gcp.buckets / "protocol/asked").read_bytes() == body
