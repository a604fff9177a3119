"""Seconds to the first byte of the pages of all runs, with many runs. A minute or two.

    make demo EXPERIMENT=digits
    . .local/environment.sh && .venv/airflow/bin/python benchmarks/results.py [RUNS ...]

For each number of runs (1,000 unless given), copies of the demo's newest record are added to the
index in local_gcp, the pages are asked for from the demo's api-server, and the copies are removed.
Of 20 requests, the median and the slowest; and how long reading the index takes, for which the
first visitor in five minutes waits. Airflow's own list of DAGs is asked for, too, as a measure of
the machine.
"""

import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from google.cloud.storage import Client

from trellis.results import load_index
from trellis.web.cache import FRESH_SECONDS
from trellis.workflow.contracts.layout import Run
from trellis.workflow.spec import platform

EXPERIMENT = "digits"
PREFIX = "benchmark-"


def copies(record, count):
    """Yield so many copies of the record, six hours apart, of four datasets."""
    first = datetime(2024, 1, 1, tzinfo=UTC)
    for number in range(count):
        folder = f"{PREFIX}{number:05}"
        lower = number % 7 / 100
        scores = {name: getattr(record.result, name) - lower for name in ("value", "low", "high")}
        result = record.result.model_copy(update=scores)
        yield record.model_copy(
            update={
                "uri": f"{record.uri.rstrip('/').rpartition('/')[0]}/{folder}/",
                "run_id": folder,
                "created": (first + number * timedelta(hours=6)).isoformat(),
                "dataset": f"dataset-{number * 4 // count}",
                "result": result,
            }
        )


def add(bucket, record):
    address = Run(bucket.name, record.experiment, record.folder).record
    blob = bucket.blob(address.removeprefix(f"gs://{bucket.name}/"))
    blob.metadata = record.metadata
    blob.upload_from_string(record.text)
    return blob


def first_byte(airflow, path):
    began = time.perf_counter()
    with airflow.stream("GET", path) as answer:
        next(answer.iter_raw())
        seconds = time.perf_counter() - began
    answer.raise_for_status()
    return seconds


def sign_in():
    url = os.environ["AIRFLOW__API__BASE_URL"]
    passwords = Path(os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"])
    name, password = next(iter(json.loads(passwords.read_text()).items()))
    airflow = httpx.Client(base_url=url, trust_env=False, timeout=60)
    token = airflow.post("/auth/token", json={"username": name, "password": password})
    airflow.headers["Authorization"] = f"Bearer {token.raise_for_status().json()['access_token']}"
    return airflow


def measure(airflow):
    for path in ("/api/v2/dags", "/trellis/", f"/trellis/experiments/{EXPERIMENT}"):
        took = [first_byte(airflow, path) * 1000 for _ in range(20)]
        print(f"  {path:30} {statistics.median(took):5.0f} ms, slowest {max(took):5.0f} ms")


def main():
    group = platform.load(Path("dags"))
    client = Client(project=group.project)
    bucket = client.bucket(group.bucket)
    known = load_index(client, group.bucket, EXPERIMENT).runs
    record = next(run for run in known if run.result and not run.folder.startswith(PREFIX))
    airflow = sign_in()
    first_byte(airflow, "/trellis/")  # imports the pages
    for count in [int(word) for word in sys.argv[1:]] or [1000]:
        with ThreadPoolExecutor(8) as pool:
            blobs = list(pool.map(lambda run: add(bucket, run), copies(record, count)))
            try:
                began = time.perf_counter()
                load_index(client, group.bucket)
                took = time.perf_counter() - began
                print(f"{count + len(known)} runs; to read the index: {took * 1000:.0f} ms")
                time.sleep(FRESH_SECONDS + 1)
                first_byte(airflow, "/trellis/")  # lets it be read anew
                time.sleep(FRESH_SECONDS - 2)
                measure(airflow)
            finally:
                list(pool.map(lambda blob: blob.delete(), blobs))


if __name__ == "__main__":
    main()
