import gzip

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.rest import ApiError
from local_gcp.storage.media import byte_range


@given(size=st.integers(1, 20), first=st.integers(0, 25), last=st.integers(0, 25))
def test_ranges_select_what_slices_select(size, first, last):
    data = bytes(range(size))
    if first >= size and last >= first:
        with pytest.raises(ApiError, match="not satisfiable"):
            byte_range(f"bytes={first}-{last}", size)
    elif last < first:
        assert byte_range(f"bytes={first}-{last}", size) is None  # no range: all of it
    else:
        start, end = byte_range(f"bytes={first}-{last}", size)
        assert data[start : end + 1] == data[first : last + 1]


def test_open_and_suffix_ranges():
    assert byte_range("bytes=3-", 10) == (3, 9)
    assert byte_range("bytes=-3", 10) == (7, 9)
    assert byte_range("bytes=-30", 10) == (0, 9)
    for everything in (None, "bytes=-", "bytes=0-1,3-4", "lines=1-2"):
        assert byte_range(everything, 10) is None
    for header, size in (("bytes=0-", 0), ("bytes=10-", 10), ("bytes=-0", 10)):
        with pytest.raises(ApiError, match="not satisfiable"):
            byte_range(header, size)


def test_a_gzip_object_is_unpacked_for_clients_that_do_not_take_gzip(bucket, client):
    blob = bucket.blob("log.txt")
    blob.content_encoding = "gzip"
    blob.upload_from_string(gzip.compress(b"line\n" * 1000), content_type="text/plain")
    url = f"{client.api_endpoint}/{bucket.name}/log.txt"

    plain = requests.get(url, headers={"Accept-Encoding": "identity"}, timeout=10)
    assert plain.content == b"line\n" * 1000
    assert "Content-Encoding" not in plain.headers

    packed = requests.get(url, headers={"Accept-Encoding": "gzip"}, stream=True, timeout=10)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.raw.read()) == b"line\n" * 1000
    assert blob.download_as_bytes() == b"line\n" * 1000
    assert gzip.decompress(blob.download_as_bytes(raw_download=True)) == b"line\n" * 1000


def test_reads_say_what_they_give(bucket, client):
    blob = bucket.blob("a/b")
    blob.metadata = {"step": "3", "name": "größe"}
    blob.upload_from_string(b"0123456789", content_type="text/x")
    url = f"{client.api_endpoint}/{bucket.name}/a/b"

    part = requests.get(url, headers={"Range": "bytes=2-4"}, timeout=10)
    assert (part.status_code, part.content) == (206, b"234")
    assert part.headers["Content-Range"] == "bytes 2-4/10"
    head = requests.head(url, timeout=10)
    assert (head.headers["Content-Length"], head.content) == ("10", b"")
    assert head.headers["X-Goog-Generation"] == str(blob.generation)
    assert head.headers["X-Goog-Hash"] == f"crc32c={blob.crc32c},md5={blob.md5_hash}"
    assert head.headers["X-Goog-Meta-step"] == "3"
    etag = head.headers["ETag"]
    assert etag == f'"{blob.etag}"'
    # Google's client keeps what a download says as the object's etag.
    assert requests.get(blob.media_link, timeout=10).headers["ETag"] == blob.etag
    assert requests.get(url, headers={"If-None-Match": etag}, timeout=10).status_code == 304
    beyond = requests.get(url, headers={"Range": "bytes=10-"}, timeout=10)
    assert beyond.status_code == 416
