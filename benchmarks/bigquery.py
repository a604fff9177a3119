"""Seconds and server memory of local_gcp's BigQuery: load, snapshot, Parquet export. Two minutes.

    .venv/local_gcp/bin/python benchmarks/bigquery.py [ROWS ...]

For each number of rows (1,000,000 and 4,000,000 unless given) of a key and 32 FLOAT64 columns, a
local_gcp of its own: Parquet files are loaded, a snapshot with a FARM_FINGERPRINT split is made of
the table, and extracted as Parquet. Memory is the server's peak PSS, looked at 20 times a second.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 32
FILE_ROWS = 250_000
PYTHON = sys.executable


def write(folder, rows):
    random = np.random.default_rng(0)
    for start in range(0, rows, FILE_ROWS):
        count = min(FILE_ROWS, rows - start)
        columns = {"key": np.arange(start, start + count).astype(str)}
        columns |= {f"f{i}": random.standard_normal(count) for i in range(COLUMNS)}
        pq.write_table(pa.table(columns), folder / f"rows-{start // FILE_ROWS:03d}.parquet")


class Peak:
    """The most PSS (MB) of a process while a block runs."""

    def __init__(self, pid):
        self.process, self.most = psutil.Process(pid), 0.0

    def __enter__(self):
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.done.wait(0.05):
            self.most = max(self.most, self.process.memory_full_info().pss / 1e6)

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def interrupted(*_):
    raise KeyboardInterrupt


def measure(rows):
    with tempfile.TemporaryDirectory() as home:
        os.environ["LOCAL_GCP_HOME"] = home
        command = [PYTHON, "-m", "local_gcp"]
        try:
            subprocess.run([*command, "up"], check=True, stdout=subprocess.DEVNULL)
            steps(rows, Path(home), command)
        finally:  # in a session of its own: a second Ctrl-C does not keep the server alive
            subprocess.run([*command, "down"], stdout=subprocess.DEVNULL, start_new_session=True)


def steps(rows, home, command):
    shown = subprocess.run([*command, "env", "--json"], check=True, capture_output=True)
    os.environ |= json.loads(shown.stdout)
    from google.cloud import bigquery

    client = bigquery.Client()
    client.create_dataset("d")
    folder = home / "buckets/bench"
    folder.mkdir()
    write(folder, rows)
    snapshot = """CREATE TABLE d.snapshot AS SELECT *,
        CASE WHEN ABS(MOD(FARM_FINGERPRINT(key), 100)) < 80 THEN 'train' ELSE 'test' END AS split
        FROM d.t"""
    load = bigquery.LoadJobConfig(source_format="PARQUET")
    extract = bigquery.ExtractJobConfig(destination_format="PARQUET", compression="SNAPPY")
    jobs = {
        "load": lambda: client.load_table_from_uri(
            "gs://bench/rows-*.parquet", "d.t", job_config=load
        ),
        "snapshot": lambda: client.query(snapshot),
        "extract": lambda: client.extract_table(
            "d.snapshot", "gs://bench/out/rows-*.parquet", job_config=extract
        ),
    }
    peak = Peak(json.loads((home / "server.pid").read_text())["pid"])
    found = []
    with peak:
        for name, begin in jobs.items():
            job = begin()
            job.result()
            seconds = (job.ended - job.started).total_seconds()
            found.append(f"{name} {seconds:5.1f} s")
    assert client.get_table("d.snapshot").num_rows == rows
    written = sum(pq.read_metadata(path).num_rows for path in folder.glob("out/*"))
    assert written == rows
    print(f"{rows:9,} rows: {', '.join(found)}; peak PSS {peak.most:5.0f} MB", flush=True)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: the server is ended
        signal.signal(number, interrupted)
    for rows in map(int, sys.argv[1:] or (1_000_000, 4_000_000)):
        measure(rows)
