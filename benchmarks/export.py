"""Speed of trainer.export's parts and of whole exports, on this machine. About a minute.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/export.py

Of images: CPU seconds of one thread, median of five rounds. The inputs are synthetic, but as large
and as hard to compress as photographs. Beside them: the same work with Pillow, and with
tf.train.Example.

Of tables: one export each of 1 and 4 million rows of 32 float columns, in a process of its own:
seconds and rows a second from start to end (Beam's import included), and the most memory that the
process held. It must not grow with the rows: an export of 1,000 rows shows what Beam and the
libraries take. 3 GB of temporary disk.

Measured on two busy cores, of which it uses one (seconds of CPU in brackets):

        1,000 rows    4.4 s (2.4)                 250 MB
    1,000,000 rows    5.7 s (3.6)  174,000 rows/s   560 MB
    4,000,000 rows   19.2 s (8.2)  208,000 rows/s   620 MB
"""

import io
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageOps

from trainer import export
from trainer.dataset_description import SPLITS
from trainer.dataset_features import Feature
from trainer.exporting.images.convert import convert
from trainer.exporting.splits import assign, ranges
from trainer.exporting.tfrecord import tfrecords

ROUNDS = 5


def rate(work, count):
    """Items per CPU second: median over rounds of `work`, which handles `count` items."""
    work()
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return count / statistics.median(seconds)


def scene(height, width, seed=0):
    """Smooth colours with sensor noise, as uint8 BGR."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 256, (12, 16, 3), dtype=np.uint8)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.int16)
    return (smooth + random.integers(-8, 9, smooth.shape)).clip(0, 255).astype(np.uint8)


def encoded(pixels, extension):
    return cv2.imencode(extension, pixels)[1].tobytes()


def convert_with_pillow(data, feature):
    height, width, channels = feature.shape
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    image = image.convert("RGB" if channels == 3 else "L")
    image = image.resize((width, height), Image.Resampling.BOX)
    buffer = io.BytesIO()
    image.save(buffer, feature.encoding.upper(), **({"quality": 95} if channels == 3 else {}))
    return buffer.getvalue()


def images():
    cases = (
        ("8x8 grey PNG -> 8 PNG", encoded(scene(8, 8)[..., 0], ".png"), (8, 8, 1), "png", 2000),
        ("500x400 JPEG -> 224 JPEG", encoded(scene(400, 500), ".jpg"), (224, 224, 3), "jpeg", 100),
        ("500x400 PNG -> 224 PNG", encoded(scene(400, 500), ".png"), (224, 224, 3), "png", 100),
        (
            "4000x3000 JPEG -> 224 JPEG",
            encoded(scene(3000, 4000), ".jpg"),
            (224, 224, 3),
            "jpeg",
            5,
        ),
    )
    print(f"{'images a second and core':32}{'train':>10}{'test':>10}{'Pillow':>10}")
    for name, data, shape, encoding, count in cases:
        feature = Feature("image", "image", "uint8", encoding, shape)
        rates = [
            rate(lambda f=function, d=data, s=feature, n=count: [f(d, s) for _ in range(n)], count)
            for function in (train, test, convert_with_pillow)
        ]
        print(f"  {name:30}{rates[0]:10,.0f}{rates[1]:10,.0f}{rates[2]:10,.0f}")


def train(data, feature):
    return convert(data, feature, "train")


def test(data, feature):
    return convert(data, feature, "test")


def records(directory):
    import tensorflow as tf

    def with_tensorflow(columns, path):
        with tf.io.TFRecordWriter(str(path)) as writer:
            for key, image, label in zip(*columns.values(), strict=True):
                feature = {
                    "key": tf.train.Feature(bytes_list=tf.train.BytesList(value=[key])),
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())

    path = Path(directory, "records.tfrecord")
    print(f"{'records a second and core':32}{'here':>10}{'TensorFlow':>12}")
    for size, count in ((100, 20_000), (20_000, 2_000)):
        columns = {
            "key": [f"digits/images/{i:06d}.png".encode() for i in range(count)],
            "image": [np.random.default_rng(i).bytes(size) for i in range(count)],
            "label": np.arange(count) % 10,
        }
        here = rate(lambda c=columns: path.write_bytes(b"".join(tfrecords(c))), count)
        there = rate(lambda c=columns: with_tensorflow(c, path), count)
        print(f"  {f'image of {size:,} bytes':30}{here:10,.0f}{there:12,.0f}")


def whole_export(directory):
    folder = Path(directory)
    count = 1797
    lines = []
    for number in range(count):
        folder.joinpath(f"{number}.png").write_bytes(encoded(scene(8, 8, number)[..., 0], ".png"))
        lines.append(f"{number}.png,{number % 10}\n")
    folder.joinpath("manifest.csv").write_text("".join(lines))
    flags = ["--fingerprint=f", "--image_size=8", "--channels=1", "--encoding=png", "--shards=4"]
    start = time.perf_counter()
    export.main([f"--source={folder}/manifest.csv", f"--output={folder}/dataset", *flags])
    seconds = time.perf_counter() - start
    print(
        f"whole export of {count} images of 8x8 from disk, Beam's import included: {seconds:.1f} s"
    )


def vectors():
    """The encoder alone, on rows of a table."""
    count = 200_000
    random = np.random.default_rng(0)
    columns = {
        "key": pa.array([f"sample {i}".encode() for i in range(count)], pa.large_binary()),
        "numeric": random.normal(size=(count, 32)).astype(np.float32),
        "label": random.integers(0, 2, count),
    }
    here = rate(lambda: sum(map(len, tfrecords(columns))), count)
    columns["categorical"] = random.integers(0, 300, (count, 5))
    with_terms = rate(lambda: sum(map(len, tfrecords(columns))), count)
    print(f"  {'row of 32 floats':30}{here:10,.0f}")
    print(f"  {'row of 32 floats, 5 terms':30}{with_terms:10,.0f}")


def write_table(folder, rows, columns):
    """Parquet files of a million rows each, as an extract of BigQuery writes them."""
    split_ranges = ranges((80, 10, 10))
    names = [f"x{i}" for i in range(columns)]
    edges = [*range(0, rows, 1_000_000), rows]
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


def most_memory(pid):
    """The most that a process held so far, in MB; 0 at its end. (ru_maxrss counts its parent's.)"""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0.0
    return next(
        (int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")),
        0.0,
    )


def tables(directory):
    print(f"{'table of 32 float columns':32}{'seconds':>10}{'rows/s':>10}{'memory':>10}")
    for rows in (1_000, 1_000_000, 4_000_000):
        folder = Path(directory, str(rows))
        folder.mkdir()
        write_table(folder, rows, 32)
        start = time.perf_counter()
        child = subprocess.Popen(
            [
                *(sys.executable, "-m", "trainer.export", f"--source={folder}/columns.json"),
                *(f"--output={folder}/dataset", "--fingerprint=f", "--shards=4"),
            ],
            stdout=subprocess.DEVNULL,
        )
        megabytes = 0.0
        while child.poll() is None:
            megabytes = most_memory(child.pid) or megabytes
            time.sleep(0.02)
        seconds = time.perf_counter() - start
        assert child.returncode == 0
        print(f"  {f'{rows:,} rows':30}{seconds:10.1f}{rows / seconds:10,.0f}{megabytes:7,.0f} MB")


def main():
    images()
    with tempfile.TemporaryDirectory() as directory:
        records(directory)
        vectors()
        whole_export(directory)
        tables(directory)


if __name__ == "__main__":
    main()
