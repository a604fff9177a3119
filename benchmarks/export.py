"""Speed of trainer.export's parts and of a whole export, on this machine. About half a minute.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/export.py

CPU seconds of one thread, median of five rounds. The inputs are synthetic, but as large and as hard
to compress as photographs. Beside them: the same work with Pillow, and with tf.train.Example.
"""

import io
import statistics
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageOps

from trainer import export
from trainer.dataset_description import Feature
from trainer.exporting.images import convert
from trainer.exporting.tfrecord import frame, serialize_examples

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
    cv2.setNumThreads(1)
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
    print(f"{'images a second and core':32}{'here':>10}{'Pillow':>10}")
    for name, data, shape, encoding, count in cases:
        feature = Feature("image", "image", "uint8", encoding, shape)
        rates = [
            rate(lambda f=function, d=data, s=feature, n=count: [f(d, s) for _ in range(n)], count)
            for function in (convert, convert_with_pillow)
        ]
        print(f"  {name:30}{rates[0]:10,.0f}{rates[1]:10,.0f}")


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
        here = rate(lambda c=columns: path.write_bytes(frame(serialize_examples(c))), count)
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


def main():
    images()
    with tempfile.TemporaryDirectory() as directory:
        records(directory)
        whole_export(directory)


if __name__ == "__main__":
    main()
