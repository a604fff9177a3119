import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from google.cloud import bigquery


@pytest.fixture(scope="session")
def client_env(local_gcp) -> dict[str, str]:
    """The variables that lead clients to the session's local_gcp."""
    return local_gcp.client_env


@pytest.fixture
def client(client_env, monkeypatch: pytest.MonkeyPatch) -> bigquery.Client:
    """Google's own client, unchanged, with local_gcp's environment."""
    for name, value in client_env.items():
        monkeypatch.setenv(name, value)
    return bigquery.Client()


@pytest.fixture
def dataset(client: bigquery.Client) -> Iterator[str]:
    """A new, empty dataset of the project."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    client.create_dataset(name)
    yield name
    client.delete_dataset(name, delete_contents=True)


@pytest.fixture
def folder(local_gcp) -> Path:
    """A new bucket, as a folder; its name is the bucket's."""
    folder = local_gcp.buckets / f"test-{uuid.uuid4().hex[:12]}"
    folder.mkdir()
    return folder


@pytest.fixture
def run(client: bigquery.Client) -> Callable[..., list[tuple]]:
    """Runs GoogleSQL and returns its rows as tuples. `config`: of bigquery.QueryJobConfig."""

    def run(query: str, **config) -> list[tuple]:
        job = client.query(query, job_config=bigquery.QueryJobConfig(**config))
        return [tuple(row.values()) for row in job.result()]

    return run


@pytest.fixture
def rows(client: bigquery.Client) -> Callable[..., list[tuple]]:
    """The rows of a table, through tabledata.list."""
    return lambda table, **options: [
        tuple(row.values()) for row in client.list_rows(client.get_table(table), **options)
    ]
