"""kill -9 among writes: what was acknowledged is there, the rest is whole or absent."""

import threading
import time

import pytest
from google.cloud import storage


@pytest.mark.parametrize("seconds", [pytest.param(0.05, marks=pytest.mark.slow), 0.4])
def test_acknowledged_writes_survive_kill_9(new_local_gcp, monkeypatch, seconds):
    local_gcp = new_local_gcp()
    local_gcp.up()
    for name, value in local_gcp.client_env.items():
        monkeypatch.setenv(name, value)
    client = storage.Client()
    bucket = client.create_bucket("bucket")
    acknowledged: dict[str, int] = {}  # the number of each object's last acknowledged write

    def write(writer: int) -> None:
        for number in range(100_000):
            blob = bucket.blob(f"{writer}/{number % 5}")
            blob.metadata = {"number": str(number)}
            try:
                blob.upload_from_string(content(number), retry=None)
            except Exception:  # the server is gone
                return
            acknowledged[blob.name] = number

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for writer in writers:
        writer.start()
    time.sleep(seconds)
    local_gcp.kill()
    for writer in writers:
        writer.join()
    local_gcp.up()

    found = {blob.name: blob for blob in bucket.list_blobs()}
    assert acknowledged.keys() <= found.keys()
    for name, blob in found.items():
        number = int(blob.metadata["number"])
        # The write that the kill interrupted may have come to its end, five numbers further on.
        assert number - acknowledged.get(name, number) in (0, 5)
        assert blob.download_as_text() == content(number)


def content(number: int) -> str:
    return f"{number} " * 20_000
