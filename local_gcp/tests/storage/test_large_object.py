"""An object that is larger than what a server may hold in memory."""

import hashlib
import threading
from pathlib import Path

import psutil
import pytest
import requests

MEGABYTE = 1 << 20
SIZE = 500 * MEGABYTE
ALLOWED_GROWTH = 64 * MEGABYTE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """A file of 500 MB in which no block is like another."""
    path = tmp_path_factory.mktemp("large") / "large.bin"
    with path.open("wb") as file:
        for block in range(SIZE // MEGABYTE):
            file.write(hashlib.sha256(str(block).encode()).digest() * (MEGABYTE // 32))
    yield path
    path.unlink()


@pytest.fixture
def growth(local_gcp):
    """By how many bytes the server has grown at most since the test began."""
    server = psutil.Process(local_gcp.pid)
    before = peak = server.memory_info().rss
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.05):
            peak = max(peak, server.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield lambda: peak - before
    ended.set()
    watcher.join()


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.mark.parametrize("chunk", [None, 32 * MEGABYTE])
def test_through_googles_client(bucket, folder, large, tmp_path, growth, chunk):
    blob = bucket.blob("large", chunk_size=chunk)
    blob.upload_from_filename(large)
    assert digest(folder / "large") == digest(large)
    bucket.copy_blob(blob, bucket, "copy")
    bucket.blob("copy").download_to_filename(tmp_path / "read")
    assert digest(tmp_path / "read") == digest(large)
    assert growth() < ALLOWED_GROWTH


def test_through_the_proxy_in_one_request(local_gcp, bucket, folder, large, growth):
    session = requests.Session()
    session.proxies = {"https": local_gcp.client_env["https_proxy"]}
    session.verify = local_gcp.client_env["REQUESTS_CA_BUNDLE"]
    url = f"https://storage.googleapis.com/upload/storage/v1/b/{bucket.name}/o?uploadType="
    related = b'--b\r\n\r\n{"name": "multipart"}\r\n--b\r\n\r\n', b"\r\n--b--"

    def multipart():
        yield related[0]
        with large.open("rb") as file:
            yield from iter(lambda: file.read(MEGABYTE), b"")
        yield related[1]

    with large.open("rb") as file:
        session.post(f"{url}media&name=media", data=file, timeout=120).raise_for_status()
    session.post(
        f"{url}multipart",
        data=multipart(),
        headers={"Content-Type": "multipart/related; boundary=b"},
        timeout=120,
    ).raise_for_status()
    assert digest(folder / "media") == digest(folder / "multipart") == digest(large)

    read = hashlib.sha256()
    with session.get(
        f"https://storage.googleapis.com/{bucket.name}/media", stream=True, timeout=120
    ) as answer:
        for block in answer.iter_content(MEGABYTE):
            read.update(block)
    assert read.hexdigest() == digest(large)
    assert growth() < ALLOWED_GROWTH
