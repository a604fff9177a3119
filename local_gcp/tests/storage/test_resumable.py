"""Resumable uploads through kill -9, by the wire protocol and by Google's client."""

import base64
import hashlib
import io
import os
import time

import pytest
import requests
from google.api_core import exceptions
from google.cloud import storage
from google.cloud.storage._media.requests import ResumableUpload

from local_gcp.rest import ApiError
from local_gcp.storage.resumable import ContentRange

CHUNK = 1 << 20
BLOCK = 256 << 10
"""Of an unfinished upload, only whole ones are kept."""
DATA = bytes(range(256)) * (2 * BLOCK // 256)


@pytest.fixture
def session(client, bucket):
    """The address of a new upload session for the object `x`."""
    begun = requests.post(
        f"{client.api_endpoint}/upload/storage/v1/b/{bucket.name}/o",
        params={"uploadType": "resumable", "name": "x", "ifGenerationMatch": "0"},
        json={"metadata": {"k": "v"}},
        headers={"X-Upload-Content-Type": "text/x"},
        timeout=10,
    )
    assert begun.status_code == 200
    return begun.headers["Location"]


def send(session: str, data: bytes, content_range: str | None = None) -> requests.Response:
    headers = {"Content-Range": content_range} if content_range else {}
    return requests.put(session, data=data, headers=headers, timeout=10)


def test_chunks_of_a_known_size(session, bucket):
    answer = send(session, DATA[:BLOCK], f"bytes 0-{BLOCK - 1}/{2 * BLOCK}")
    assert (answer.status_code, answer.headers["Range"]) == (308, f"bytes=0-{BLOCK - 1}")
    answer = send(session, DATA[BLOCK:], f"bytes {BLOCK}-{2 * BLOCK - 1}/{2 * BLOCK}")
    assert (answer.status_code, answer.json()["size"]) == (200, str(2 * BLOCK))
    blob = bucket.get_blob("x")
    assert blob.download_as_bytes() == DATA
    assert (blob.metadata, blob.content_type) == ({"k": "v"}, "text/x")


def test_a_size_that_is_known_at_the_end(session, bucket):
    assert send(session, DATA, f"bytes 0-{2 * BLOCK - 1}/*").status_code == 308
    assert send(session, b"", f"bytes */{2 * BLOCK}").status_code == 200
    assert bucket.blob("x").download_as_bytes() == DATA


def test_what_lies_behind_a_whole_block_has_to_be_sent_again(session, bucket):
    answer = send(session, DATA[: BLOCK + 5], f"bytes 0-{BLOCK + 4}/*")
    assert (answer.status_code, answer.headers["Range"]) == (308, f"bytes=0-{BLOCK - 1}")
    rest = DATA[BLOCK : BLOCK + 5]
    assert send(session, rest, f"bytes {BLOCK}-{BLOCK + 4}/{BLOCK + 5}").status_code == 200
    assert bucket.blob("x").download_as_bytes() == DATA[: BLOCK + 5]


def test_a_chunk_that_is_too_small_ends_the_session(session, bucket):
    """Google's answer is text, and the same for what follows."""
    for data, sent in ((DATA[:1024], "bytes 0-1023/*"), (DATA, f"bytes 0-{2 * BLOCK - 1}/*")):
        answer = send(session, data, sent)
        assert answer.status_code == 400
        assert " 262144" in answer.text
        assert "contained 1024 bytes" in answer.text
    assert bucket.get_blob("x") is None


def test_the_last_chunk_may_be_small(session, bucket):
    assert send(session, DATA[:5], "bytes 0-4/5").status_code == 200
    assert bucket.blob("x").download_as_bytes() == DATA[:5]


def test_everything_at_once(session, bucket):
    assert send(session, b"01234").status_code == 200
    assert bucket.blob("x").download_as_bytes() == b"01234"


def test_questions_about_the_state(session):
    answer = send(session, b"", "bytes */*")
    assert (answer.status_code, "Range" in answer.headers) == (308, False)
    total = BLOCK + 2
    send(session, DATA[:BLOCK], f"bytes 0-{BLOCK - 1}/{total}")
    asked = send(session, b"", f"bytes */{total}")
    assert asked.headers["Range"] == f"bytes=0-{BLOCK - 1}"
    last = f"bytes {BLOCK}-{BLOCK + 1}/{total}"
    generation = send(session, b"34", last).json()["generation"]
    # The client may not have heard that it is finished; asking again changes nothing.
    assert send(session, b"", f"bytes */{total}").json()["generation"] == generation
    assert send(session, b"34", last).json()["generation"] == generation


def test_bytes_that_are_sent_again_or_too_early(session, bucket):
    total = 2 * BLOCK
    send(session, DATA[:BLOCK], f"bytes 0-{BLOCK - 1}/{total}")
    answer = send(session, DATA[-2:], f"bytes {total - 2}-{total - 1}/{total}")
    assert (answer.status_code, answer.headers["Range"]) == (308, f"bytes=0-{BLOCK - 1}")
    assert send(session, DATA[9:], f"bytes 9-{total - 1}/{total}").status_code == 200
    assert bucket.blob("x").download_as_bytes() == DATA


def test_checksums_are_those_of_the_bytes_that_were_sent_last(session, bucket):
    wrong, data = os.urandom(3 * CHUNK), os.urandom(4 * CHUNK)
    send(session, data[:CHUNK] + wrong[CHUNK:], f"bytes 0-{3 * CHUNK - 1}/*")
    sent = send(session, data[CHUNK:], f"bytes {CHUNK}-{4 * CHUNK - 1}/{4 * CHUNK}")
    assert sent.json()["md5Hash"] == base64.b64encode(hashlib.md5(data).digest()).decode()
    assert bucket.blob("x").download_as_bytes() == data


def test_cancelled_and_unknown_sessions(session, bucket):
    assert requests.delete(session, timeout=10).status_code == 499
    assert send(session, b"x").status_code == 404
    assert not bucket.blob("x").exists()


def test_the_precondition_is_checked_again_at_the_end(session, bucket):
    bucket.blob("x").upload_from_string("another writer's")
    assert send(session, b"mine").status_code == 412
    assert bucket.blob("x").download_as_text() == "another writer's"


def test_a_damaged_upload_is_refused(session):
    headers = {"X-Goog-Hash": "crc32c=AAAAAA=="}
    answer = requests.put(session, data=b"text", headers=headers, timeout=10)
    assert answer.status_code == 400
    assert "doesn't match calculated CRC32C" in answer.text


def test_checksums_told_at_the_beginning_and_at_the_end_are_both_verified(bucket):
    # Sent in pieces: the client ends with the checksum of what it read, which does match.
    blob = bucket.blob("x", chunk_size=1 << 18)
    with pytest.raises(exceptions.BadRequest, match="doesn't match calculated CRC32C"):
        blob.upload_from_file(io.BytesIO(bytes(1 << 19)), crc32c_checksum_value="AAAAAA==")
    assert not blob.exists()


def test_a_finished_session_of_a_replaced_object_is_gone(session, bucket):
    send(session, b"mine")
    bucket.blob("x").upload_from_string("another writer's")
    assert send(session, b"", "bytes */4").status_code == 410


@pytest.mark.parametrize("header", ["bytes 0-1", "bytes 5-1/6", "bytes a-b/c", "0-1/2"])
def test_malformed_ranges_are_refused(header):
    with pytest.raises(ApiError, match="Invalid Content-Range"):
        ContentRange.parse(header)


@pytest.mark.slow
def test_an_upload_goes_on_after_kill_9(new_local_gcp, monkeypatch):
    local_gcp = new_local_gcp()
    local_gcp.up()
    for name, value in local_gcp.client_env.items():
        monkeypatch.setenv(name, value)
    bucket = storage.Client().create_bucket("bucket")
    data = os.urandom(5 * CHUNK)
    path = local_gcp.home / "data"
    path.write_bytes(data)

    transport = requests.Session()
    url = f"{local_gcp.client_env['STORAGE_EMULATOR_HOST']}/upload/storage/v1/b/bucket/o"
    upload = ResumableUpload(f"{url}?uploadType=resumable", CHUNK)
    with path.open("rb") as stream:
        upload.initiate(transport, stream, {"name": "x"}, "application/octet-stream")
        for chunk in range(5):
            if chunk in (0, 3):  # before the first chunk, and between two
                local_gcp.kill()
                local_gcp.up()
            upload.transmit_next_chunk(transport)
    assert upload.finished

    local_gcp.kill()  # what was acknowledged is there
    local_gcp.up()
    blob = bucket.get_blob("x")
    assert blob.download_as_bytes() == data
    assert hashlib.md5(data).digest().hex() == hashlib.md5(blob.download_as_bytes()).hexdigest()
    assert list((local_gcp.home / "storage/uploads").iterdir()) == []


@pytest.mark.slow
def test_a_chunk_that_a_kill_cuts_in_the_middle(new_local_gcp):
    """The client sent half of a chunk when the server died; it asks, and sends the rest."""
    local_gcp = new_local_gcp()
    local_gcp.up()
    (local_gcp.buckets / "bucket").mkdir()
    api = local_gcp.client_env["STORAGE_EMULATOR_HOST"]
    session = requests.post(
        f"{api}/upload/storage/v1/b/bucket/o?uploadType=resumable&name=x", timeout=10
    ).headers["Location"]
    data = os.urandom(8 * CHUNK)

    def dies_half_way():
        yield data[: 3 * CHUNK]
        (received,) = (local_gcp.home / "storage/uploads").iterdir()
        while received.stat().st_size < CHUNK:
            time.sleep(0.01)
        local_gcp.kill()
        yield data[3 * CHUNK :]

    with pytest.raises(requests.ConnectionError):
        requests.put(session, data=dies_half_way(), timeout=10)
    local_gcp.up()
    answer = send(session, b"", f"bytes */{len(data)}")
    assert answer.status_code == 308
    have = int(answer.headers["Range"].removeprefix("bytes=0-")) + 1
    answer = send(session, data[have:], f"bytes {have}-{len(data) - 1}/{len(data)}")
    assert answer.status_code == 200
    assert (local_gcp.buckets / "bucket/x").read_bytes() == data
