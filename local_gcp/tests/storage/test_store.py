"""Guarantees of the store at moments that no client can bring about."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_gcp.rest import ApiError
from local_gcp.storage.catalog import Catalog
from local_gcp.storage.checksums import checksums
from local_gcp.storage.preconditions import Preconditions
from local_gcp.storage.store import ObjectStore, StoredObject

BUCKET = "bbb"


def put(
    store: ObjectStore,
    name: str,
    content: bytes,
    conditions: Preconditions = Preconditions(),  # noqa: B008 - immutable
    **fields: str,
) -> StoredObject:
    source = store.temporary()
    source.write_bytes(content)
    with source.open("rb") as file:
        sums = checksums(file)
    return store.put(source, BUCKET, name, fields, sums, conditions)


@pytest.mark.parametrize("step", [(Path, "replace"), (Catalog, "put_object"), (os, "utime")])
def test_a_kill_at_any_step_of_a_write_leaves_the_old_object(store, monkeypatch, step):
    put(store, "x", b"old", contentType="text/old")

    def killed(*_positional, **_named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*step, killed)
        with pytest.raises(KeyboardInterrupt):
            put(store, "x", b"new", contentType="text/new")
    file, found = store.open(BUCKET, "x")
    assert (file.read(), found.fields) == (b"old", {"contentType": "text/old"})
    file.close()

    put(store, "x", b"newer", contentType="text/newer")
    assert store.get(BUCKET, "x").fields == {"contentType": "text/newer"}


def test_of_many_that_create_an_object_one_wins(store, monkeypatch):
    put_object = Catalog.put_object

    def slow(*arguments):
        time.sleep(0.02)  # between the check and the rename
        put_object(*arguments)

    monkeypatch.setattr(Catalog, "put_object", slow)

    def create(writer: int) -> bool:
        try:
            put(store, "lock", bytes([writer]), conditions=Preconditions(generation_match=0))
        except ApiError as error:
            return error.code != 412
        return True

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(create, range(16))).count(True) == 1


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
