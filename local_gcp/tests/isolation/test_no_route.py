"""Nothing of a local run leaves the machine: clients in a network namespace with loopback alone.

There, a library that goes past local_gcp cannot hide it: it finds neither host nor name server.
"""

import json
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
LOOPBACK_ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def _possible() -> bool:
    try:
        return not subprocess.run([*LOOPBACK_ALONE, "true"], capture_output=True).returncode
    except OSError:
        return False


pytestmark = pytest.mark.skipif(
    not _possible(), reason="no network namespace: needs root, unshare and ip"
)


@pytest.fixture
def run(local_gcp_environments, tmp_path):
    """Runs a program of `programs` with a local_gcp of its own; returns what it prints."""

    def run(program: str, *arguments: str, environment: str) -> str:
        server, client = (local_gcp_environments[name] for name in ("local_gcp", environment))
        local_gcp = [server, "-m", "local_gcp", "--home", tmp_path / "home", "run", "--"]
        done = subprocess.run(
            [*LOOPBACK_ALONE, *local_gcp, client, PROGRAMS / program, *arguments],
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert not done.returncode, f"{done.stdout}\n{done.stderr[-6000:]}"
        return done.stdout

    return run


HTTP = ["urllib", "requests", "httpx", "aiohttp", "httplib2"]


@pytest.mark.parametrize(
    ("environment", "works", "refused"),
    [
        ("airflow", [*HTTP, "httpx2", "grpc"], []),
        pytest.param("trainer", [*HTTP[:-1], "grpc"], ["httplib2"], marks=pytest.mark.slow),
    ],
)
def test_google_answers_and_every_other_host_is_refused(run, environment, works, refused):
    printed = run("http_clients.py", *works, *refused, environment=environment)
    outcome = [f"{name} works" for name in works] + [f"{name} is refused" for name in refused]
    assert printed.splitlines()[-len(outcome) :] == outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "environment"),
    [
        ("gcsfs", "airflow"),
        ("gcloud_aio", "airflow"),
        ("pyarrow", "trainer"),
        ("beam", "trainer"),
        ("tensorflow", "trainer"),
    ],
)
def test_storage(run, library, environment):
    run("storage_clients.py", library, environment=environment)


def test_a_client_that_ignores_the_proxy_calls_no_host_of_google(local_gcp, local_gcp_environments):
    """Without the hook on PYTHONPATH, aiohttp does; it gets no token, so it goes no further."""
    program = [local_gcp_environments["airflow"], PROGRAMS / "aio_bigquery.py"]
    env = {name: value for name, value in local_gcp.env.items() if name != "PYTHONPATH"}
    done = subprocess.run([*LOOPBACK_ALONE, *program], env=env, capture_output=True, text=True)
    assert "host oauth2.local-gcp.invalid:443" in done.stdout, done.stderr
    assert "bigquery.googleapis.com" not in done.stdout


@pytest.mark.slow
def test_all_clients_of_bigquery_in_one_process(run):
    run("bigquery_clients.py", environment="airflow")


@pytest.mark.slow
def test_deferrable_operators_of_bigquery(run):
    printed = run("deferrable_operators.py", environment="airflow")
    answer = json.loads(printed.splitlines()[-1])
    assert set(answer["states"].values()) == {"success"}, answer["states"]
    assert answer["got"] == [[7, "2024-01-02"]]
