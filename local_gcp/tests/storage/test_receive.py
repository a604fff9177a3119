"""Bodies to disk, however the network cuts them."""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.rest import ApiError
from local_gcp.storage.checksums import RunningChecksums, checksums
from local_gcp.storage.receive import Related, write_related, write_stream


async def in_pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def receive(body: bytes, content_type: str, size: int = 7) -> tuple[Related, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "body"
        related = asyncio.run(write_related(in_pieces(body, size), content_type, path))
        return related, path.read_bytes()


# Media made of what delimits media: the hard cases.
media = st.lists(
    st.sampled_from([b"\r", b"\n", b"\r\n", b"--", b"--b", b"--b--", b"x", b"\0\xff"])
).map(b"".join)


@given(media=media, eol=st.sampled_from([b"\r\n", b"\n"]), size=st.integers(1, 50))
def test_the_media_arrives_byte_for_byte(media, eol, size):
    lines = [
        b"--=b=",
        b"Content-Type: application/json; charset=UTF-8",
        b"",
        json.dumps({"name": "x"}).encode(),
        b"--=b=",
        b"content-type: image/png",
        b"",
        media,
        b"--=b=--",
    ]
    related, received = receive(eol.join(lines), 'multipart/related; boundary="=b="', size)
    assert received == media
    assert related == Related({"name": "x"}, "image/png")


def test_clients_may_add_line_ends_and_leave_out_quotes():
    body = b'--b\r\n\r\n{"name": "x"}\r\n--b\r\n\r\nmedia\r\n--b--\r\n\r\n'
    related, received = receive(body, "multipart/related; boundary=b")
    assert received == b"media"
    assert related.content_type is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "expected a JSON part and a media part"),
        (b"--b\r\n\r\n{}\r\n--b--", "expected a JSON part and a media part"),
        (b"--b\r\n\r\n{}\r\n--b\r\n\r\nmedia", "closing boundary is missing"),
        (b"--b\r\n\r\n{\r\n--b\r\n\r\nmedia\r\n--b--", "not JSON"),
    ],
)
def test_malformed_bodies_are_refused(body, message):
    with pytest.raises(ApiError, match=message):
        receive(body, "multipart/related; boundary=b")


def test_what_arrived_before_a_break_is_kept(tmp_path):
    async def breaks_off() -> AsyncIterator[bytes]:
        yield b"first"
        raise ConnectionError

    path = tmp_path / "data"
    with pytest.raises(ConnectionError):
        asyncio.run(write_stream(breaks_off(), path))
    asyncio.run(write_stream(in_pieces(b"st and rest", 2), path, offset=3))
    assert path.read_bytes() == b"first and rest"


def test_checksums_follow_bodies_that_continue_or_replace_others(tmp_path):
    path, body, others = tmp_path / "file", os.urandom(5 << 20), os.urandom(2 << 20)
    sums = RunningChecksums(path)
    for start, sent in ((0, body[: 2 << 20]), (2 << 20, others), (1 << 20, body[1 << 20 :])):
        stream = in_pieces(sent, 200_000)
        assert asyncio.run(write_stream(stream, path, start, sums)) == len(sent)
        sums.follow()
    assert path.read_bytes() == body
    with path.open("rb") as file:
        assert sums.result() == checksums(file)
