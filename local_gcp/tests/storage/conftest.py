import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.cloud import storage

from local_gcp.storage.catalog import Catalog
from local_gcp.storage.store import ObjectStore


@pytest.fixture
def client(local_gcp, monkeypatch: pytest.MonkeyPatch) -> storage.Client:
    """Google's own client, unchanged, with local_gcp's environment."""
    for name, value in local_gcp.client_env.items():
        monkeypatch.setenv(name, value)
    return storage.Client()


@pytest.fixture
def bucket(client: storage.Client) -> Iterator[storage.Bucket]:
    """A new, empty bucket."""
    bucket = client.create_bucket(f"test-{uuid.uuid4().hex[:12]}")
    yield bucket
    bucket.delete(force=True)


@pytest.fixture
def folder(local_gcp, bucket: storage.Bucket) -> Path:
    """The bucket as other processes see it."""
    return local_gcp.buckets / bucket.name


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    """The store alone, in this process, with a bucket `b`."""
    root = tmp_path / "buckets"
    (root / "bbb").mkdir(parents=True)
    return ObjectStore(root, Catalog(tmp_path / "catalog.db"), tmp_path / "requests")
