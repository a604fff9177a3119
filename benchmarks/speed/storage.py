"""Megabytes a second through local_gcp's Storage, by Google's client.

The limit is the same client against a server that does nothing else than to receive or to send the
bytes: what no server can exceed on this machine. Each round makes a new object, as an export does;
replacing one also waits until the file system has written its bytes.
"""

import base64
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import google_crc32c
from google.cloud import storage
from google.cloud.storage import Blob

from benchmarks.speed import emulator

MEGABYTES = 200
BARE = (sys.executable, "-m", "benchmarks.speed.storage")
BLOCK = random.Random(0).randbytes(1 << 20)


def crc32c() -> str:
    """The checksum of all bytes, which the client compares."""
    total = google_crc32c.Checksum()
    for _ in range(MEGABYTES):
        total.update(BLOCK)
    return base64.b64encode(total.digest()).decode()


class Bare(BaseHTTPRequestHandler):
    """The part of the JSON API that a resumable upload and a download need, without storing."""

    protocol_version = "HTTP/1.1"
    checksum: str  # of all bytes, which only the server's own process computes

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, b"{}", Location=f"http://{self.headers['Host']}/session")

    def do_PUT(self) -> None:
        left, place = int(self.headers["Content-Length"]), memoryview(bytearray(len(BLOCK)))
        while left:
            left -= self.rfile.readinto(place[: min(left, len(place))])
        last, total = re.findall(r"\d+", self.headers["Content-Range"])[1:]
        if int(last) + 1 == int(total):
            self.answer(200, json.dumps({"crc32c": self.checksum}).encode())
        else:
            self.answer(308, b"", Range=f"bytes=0-{last}")

    def do_GET(self) -> None:
        if "/o/" not in self.path:  # the client also asks for the bucket
            return self.answer(200, b"{}")
        self.answer(200, None, **{"X-Goog-Hash": f"crc32c={self.checksum}"})
        for _ in range(MEGABYTES):
            self.wfile.write(BLOCK)

    def answer(self, status: int, body: bytes | None, **headers: str) -> None:
        length = MEGABYTES << 20 if body is None else len(body)
        self.send_response(status)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


def blobs(url: str):
    """New objects of the server at `url`."""
    os.environ["STORAGE_EMULATOR_HOST"] = url
    bucket = storage.Client().bucket("bench")
    return (bucket.blob(f"file-{number}") for number in itertools.count())


def rate(work, *arguments) -> float:
    start = time.perf_counter()
    work(*arguments)
    return (MEGABYTES << 20) / 1e6 / (time.perf_counter() - start)


@contextmanager
def servers(scratch):
    """Addresses of local_gcp, with an empty bucket, and of the bare server."""
    bare = subprocess.Popen(BARE, stdout=subprocess.PIPE, text=True)
    try:
        with emulator.started(scratch / "home") as buckets:
            (buckets / "bench").mkdir()
            yield os.environ["STORAGE_EMULATOR_HOST"], bare.stdout.readline().strip()
    finally:
        bare.kill()


@contextmanager
def up(scratch):
    file = scratch / "file"
    file.write_bytes(BLOCK * MEGABYTES)
    with servers(scratch) as (ours, bare):
        ours_blobs, dropped = blobs(ours), blobs(bare)

        def upload() -> float:
            blob = next(ours_blobs)
            figure = rate(blob.upload_from_filename, file)
            blob.delete()
            return figure

        yield {
            "ours": upload,
            "limit": lambda: rate(next(dropped).upload_from_filename, file),
        }


@contextmanager
def down(scratch):
    file, copy = scratch / "file", scratch / "copy"
    file.write_bytes(BLOCK * MEGABYTES)
    with servers(scratch) as (ours, bare):
        stored, sent = next(blobs(ours)), next(blobs(bare))
        stored.upload_from_filename(file)

        def download(blob: Blob) -> float:
            return rate(blob.download_to_filename, copy)

        yield {"ours": lambda: download(stored), "limit": lambda: download(sent)}


if __name__ == "__main__":
    Bare.checksum = crc32c()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bare)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
