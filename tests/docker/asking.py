"""Asks a server that runs in a container."""

import json
import socket
import time
import urllib.error
import urllib.request


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def ask(port, route, **body):
    """(status, content) of a request; None while nobody or nothing but 503 answers."""
    data = json.dumps(body).encode() if body else None
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{route}", data, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        if error.code == 503:
            return None
        return error.code, error.read()
    except OSError:
        return None


def wait_for(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.2)
    return value


def wait_for_port(port, process):
    def listens():
        assert process.poll() is None, f"it ended with code {process.returncode}"
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens)
