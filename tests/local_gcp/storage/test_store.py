"""What the store promises at the moments that no client can bring about."""

import os
import time
from pathlib import Path

import pytest

from local_gcp.storage.checksums import checksums
from local_gcp.storage.preconditions import Preconditions
from local_gcp.storage.store import ObjectStore

BUCKET = "bbb"


def put(store: ObjectStore, name: str, content: bytes, **fields):
    source = store.temporary()
    source.write_bytes(content)
    with source.open("rb") as file:
        sums = checksums(file)
    return store.put(source, BUCKET, name, fields, sums, Preconditions())


def test_a_kill_between_metadata_and_bytes_leaves_the_old_object(store, monkeypatch):
    put(store, "x", b"old", contentType="text/old")

    def killed(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            put(store, "x", b"new", contentType="text/new")
    file, found = store.open(BUCKET, "x")
    assert (file.read(), found.fields) == (b"old", {"contentType": "text/old"})
    file.close()

    put(store, "x", b"newer", contentType="text/newer")
    assert store.get(BUCKET, "x").fields == {"contentType": "text/newer"}


def test_generations_grow_when_the_clock_does_not(store, monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)
    generations = [put(store, "x", b"1").generation for _ in range(3)]
    assert generations == sorted(set(generations))


def test_bytes_and_description_belong_together_while_an_object_is_replaced(store):
    put(store, "x", b"first")
    file, found = store.open(BUCKET, "x")
    put(store, "x", b"second!")
    with file:
        assert (file.read(), found.size) == (b"first", 5)


def test_a_file_written_elsewhere_is_summed_once(store, monkeypatch):
    path = store.root / BUCKET / "x"
    path.write_bytes(b"outside")
    os.utime(path, (1, 1))  # long ago: nobody is writing it any more
    sums = store.summed(store.get(BUCKET, "x")).checksums
    assert store.get(BUCKET, "x").checksums == sums

    path.write_bytes(b"changed")
    assert store.get(BUCKET, "x").checksums is None


def test_sums_of_a_file_in_the_making_are_not_kept(store):
    path = store.root / BUCKET / "x"
    path.write_bytes(b"1")
    store.summed(store.get(BUCKET, "x"))
    assert store.get(BUCKET, "x").checksums is None


def test_an_empty_folder_is_in_nobodys_way(store):
    (store.root / BUCKET / "a/b").mkdir(parents=True)
    put(store, "a/b", b"file")
    assert store.get(BUCKET, "a/b").size == 4


def test_what_requests_left_behind_goes_at_the_start(store, tmp_path):
    leftover = store.temporary()
    leftover.write_bytes(b"x")
    ObjectStore(store.root, store.catalog, tmp_path / "requests")
    assert not leftover.exists()
