"""Megabytes a second through local_gcp's Storage, by Google's client, beside a file's copy."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

from google.cloud import storage

MEGABYTES = 200
COMMAND = (sys.executable, "-m", "local_gcp")


@contextmanager
def candidates(scratch, download):
    home, file, copy = scratch / "home", scratch / "file", scratch / "copy"
    file.write_bytes(os.urandom(1 << 20) * MEGABYTES)
    os.environ["LOCAL_GCP_HOME"] = str(home)
    try:
        subprocess.run([*COMMAND, "up"], check=True)
        shown = subprocess.run([*COMMAND, "env", "--json"], check=True, capture_output=True)
        os.environ |= json.loads(shown.stdout)
        (home / "buckets/bench").mkdir()
        blob = storage.Client().bucket("bench").blob("file")
        blob.upload_from_filename(file)

        def rate(work):
            start = time.perf_counter()
            work()
            return (MEGABYTES << 20) / 1e6 / (time.perf_counter() - start)

        down, up = (
            (lambda: blob.download_to_filename(copy)),
            (lambda: blob.upload_from_filename(file)),
        )
        yield {
            "ours": lambda: rate(down if download else up),
            "limit": lambda: rate(lambda: shutil.copyfile(file, copy)),
        }
    finally:  # in a session of its own: a second Ctrl-C does not keep the server alive
        subprocess.run([*COMMAND, "down"], start_new_session=True)


def up(scratch):
    return candidates(scratch, False)


def down(scratch):
    return candidates(scratch, True)
