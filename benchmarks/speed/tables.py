"""Rows of a table a second: the TFRecord encoder alone, and whole exports.

The whole export runs as its command, in a process of its own, once with a million rows and once
with four: the rate is that of the rows beyond the first million, so its start does not count. Its
peer, a Beam pipeline that makes and writes a tf.train.Example per row, gets fewer rows, runs here
and has started before.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf

from trainer.exporting.splits import assign
from trainer.exporting.tfrecord import tfrecords
from trellis_contracts.dataset import SPLITS, by_hash

FEW_ROWS, ROWS, PEER_ROWS = 1_000_000, 4_000_000, 10_000
FILE_ROWS = 250_000
ENCODED_ROWS = 50_000


def example(row):
    feature = {
        "key": tf.train.Feature(bytes_list=tf.train.BytesList(value=[row["key"]])),
        "numeric": tf.train.Feature(float_list=tf.train.FloatList(value=row["numeric"])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[row["label"]])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def _columns():
    random = np.random.default_rng(0)
    return {
        "key": pa.array([f"sample {i}".encode() for i in range(ENCODED_ROWS)], pa.large_binary()),
        "numeric": random.normal(size=(ENCODED_ROWS, 32)).astype(np.float32),
        "label": random.integers(0, 2, ENCODED_ROWS),
    }


def _encoders(scratch, peer_rows, peer):
    """CPU time of one thread; files are written by both. peer: a function (columns, path)."""
    columns, path = _columns(), scratch / "records.tfrecord"

    def ours():
        with path.open("wb") as file:
            file.writelines(tfrecords(columns))

    def rate(work, rows):
        start = time.process_time()
        work()
        return rows / (time.process_time() - start)

    return {
        "ours": lambda: rate(ours, ENCODED_ROWS),
        "peer": lambda: rate(lambda: peer(columns, path), peer_rows),
    }


@contextmanager
def encoder(scratch):
    def row_by_row(columns, path):
        keys = columns["key"][:PEER_ROWS].to_pylist()
        with tf.io.TFRecordWriter(str(path)) as writer:
            for key, numbers, value in zip(
                keys, columns["numeric"], columns["label"], strict=False
            ):
                writer.write(example({"key": key, "numeric": numbers, "label": value}))

    yield _encoders(scratch, PEER_ROWS, row_by_row)


@contextmanager
def encoder_in_c(scratch):
    # Programs of .venv/peers, which other rows do without.
    from tfx_bsl.coders.example_coder import RecordBatchToExamples

    def tfx_bsl(columns, path):
        numbers = columns["numeric"]
        starts = np.arange(0, numbers.size + 1, numbers.shape[1], dtype=np.int32)
        one_each = np.arange(len(numbers) + 1, dtype=np.int32)
        lists = {
            "key": pa.ListArray.from_arrays(one_each, columns["key"].cast(pa.binary())),
            "numeric": pa.ListArray.from_arrays(starts, numbers.ravel()),
            "label": pa.ListArray.from_arrays(one_each, columns["label"]),
        }
        with tf.io.TFRecordWriter(str(path)) as writer:
            for record in RecordBatchToExamples(pa.RecordBatch.from_pydict(lists)):
                writer.write(record)

    yield _encoders(scratch, ENCODED_ROWS, tfx_bsl)


def write_table(folder, rows, columns):
    """Parquet files of FILE_ROWS rows each, as an extract of BigQuery writes them."""
    split_ranges = by_hash((80, 10, 10)).ranges
    names = [f"x{i}" for i in range(columns)]
    edges = [*range(0, rows, FILE_ROWS), rows]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        random = np.random.default_rng(number)
        keys = [f"sample {i}" for i in range(start, end)]
        table = {
            "key": keys,
            "split": np.array(SPLITS)[assign(keys, split_ranges)],
            "label": random.integers(0, 2, end - start).astype(str),
        }
        table |= {name: random.normal(size=end - start) for name in names}
        path = folder / f"rows-{number:012d}.parquet"
        pq.write_table(pa.table(table), path, row_group_size=122_880)
    features = [{"name": n, "column": n, "type": "FLOAT64", "kind": "numeric"} for n in names]
    document = {
        "schema": 1,
        "task": "binary_classification",
        "split": split_ranges,
        "key": {"name": "id"},
        "label": {"name": "y"},
        "features": features,
        "vocabulary": 1000,
        "source": {
            "table": "p.d.t",
            "query": None,
            "partition": None,
            "snapshot": "p.d.snapshot",
            "rows": rows,
        },
    }
    (folder / "columns.json").write_text(json.dumps(document))


def with_beam(source, output):
    """Rows of a Parquet file, one by one, to TFRecord files of each split."""

    def record(row):
        numbers = [row[name] for name in row if name.startswith("x")]
        return example({"key": row["key"].encode(), "numeric": numbers, "label": int(row["label"])})

    def split_of(row, _):
        return SPLITS.index(row["split"])

    with beam.Pipeline() as pipeline:
        rows = pipeline | beam.io.ReadFromParquet(str(source))
        parts = rows | beam.Partition(split_of, len(SPLITS))
        for split, part in zip(SPLITS, parts, strict=True):
            encoded = part | f"encode {split}" >> beam.Map(record)
            encoded | f"write {split}" >> beam.io.WriteToTFRecord(str(output / split), num_shards=4)


class Export:
    """The command over tables of FEW_ROWS and ROWS rows, with all cores of this process or some."""

    def __init__(self, scratch):
        self._scratch = scratch
        self.files = {}
        for rows in (FEW_ROWS, ROWS):
            folder = scratch / str(rows)
            folder.mkdir()
            write_table(folder, rows, 32)
            self.files[rows] = sorted(folder.glob("*.parquet"))

    def rate(self, cores=None):
        """Rows a second beyond the first FEW_ROWS."""
        few, many = (self._seconds(rows, cores) for rows in (FEW_ROWS, ROWS))
        return (ROWS - FEW_ROWS) / (many - few)

    def _seconds(self, rows, cores):
        output = self._scratch / "dataset"
        shutil.rmtree(output, ignore_errors=True)
        source = f"--source={self._scratch}/{rows}/columns.json"
        arguments = [f"--output={output}", "--fingerprint=f", "--shards=4"]
        on_cores = [] if cores is None else ["taskset", "-c", ",".join(map(str, cores))]
        command = [*on_cores, sys.executable, "-m", "trainer.export", source, *arguments]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        return time.perf_counter() - start


@contextmanager
def export(scratch):
    table = Export(scratch)
    source = scratch / str(PEER_ROWS)
    source.mkdir()
    write_table(source, PEER_ROWS, 32)
    (file,) = source.glob("*.parquet")

    def seconds(work):
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def peer():
        shutil.rmtree(scratch / "beam", ignore_errors=True)
        return PEER_ROWS / seconds(lambda: with_beam(file, Path(scratch, "beam")))

    def limit():
        files = table.files[FEW_ROWS]
        return FEW_ROWS / seconds(lambda: [pq.read_table(file) for file in files])

    yield {"ours": table.rate, "peer": peer, "limit": limit}


@contextmanager
def export_on_two_cores(scratch):
    table = Export(scratch)
    first, second, *_ = sorted(os.sched_getaffinity(0))
    yield {"ours": lambda: table.rate((first, second)), "peer": lambda: table.rate((first,))}
