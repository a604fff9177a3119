"""gs:// addresses become files below GCS_ROOT; nothing else does; writing is all or nothing."""

from pathlib import Path

import pytest

from trainer import storage
from trainer.storage import StorageError


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("gs://bucket/flowers/1.jpg", "bucket/flowers/1.jpg"),
        ("gs://bucket/flowers/", "bucket/flowers"),
        ("gs://my.bucket_1-a", "my.bucket_1-a"),
        ("gs://bucket/été/a b..c.jpg", "bucket/été/a b..c.jpg"),
    ],
)
def test_gs_address_is_a_file_below_the_mount(monkeypatch, uri, path):
    monkeypatch.setenv("GCS_ROOT", "/mnt/buckets")
    assert storage.local_path(uri) == Path("/mnt/buckets") / path


def test_vertex_mounts_buckets_at_gcs(monkeypatch):
    monkeypatch.delenv("GCS_ROOT", raising=False)
    assert storage.local_path("gs://bucket/a") == Path("/gcs/bucket/a")


def test_a_path_stays_itself(tmp_path):
    assert storage.local_path(tmp_path) == tmp_path
    assert storage.local_path("runs/1") == Path("runs/1")


@pytest.mark.parametrize(
    "uri", ["s3://bucket/a", "https://host/a", "gs://", "gs:///a", "gs://Bucket/a", "gs://b/../c"]
)
def test_other_addresses_are_refused_by_name(uri):
    with pytest.raises(StorageError) as refused:
        storage.local_path(uri)
    assert uri in str(refused.value)


def test_an_object_name_cannot_leave_its_bucket():
    with pytest.raises(StorageError, match=r"'\.\.'"):
        storage.local_path("gs://bucket/a/../../other/secret")


def test_join_puts_one_slash_between_parts():
    assert storage.join("gs://b/x/", "y", "z.json") == "gs://b/x/y/z.json"
    assert storage.join("gs://b/x", "y/") == "gs://b/x/y"


def test_written_text_is_there_with_its_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("GCS_ROOT", str(tmp_path))
    storage.write_text("gs://bucket/new/folder/a.json", "é")
    assert (tmp_path / "bucket/new/folder/a.json").read_text(encoding="utf-8") == "é"


def test_a_write_that_fails_leaves_the_old_file_and_no_remains(tmp_path):
    target = tmp_path / "a.json"
    storage.write_text(target, "old")
    with pytest.raises(TypeError):
        storage.write_bytes(target, "no bytes")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
