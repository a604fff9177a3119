"""What serving adds to the bare call of a SavedModel: latency and requests. About a minute.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/serving.py

The model is called in this process, one example at a time, as an in-process program would; then a
trainer.serve on this machine is asked over HTTP by 1 and by 16 clients, each of which sends one
example and waits for the answer; last, one client asks for explanations too. The ratio is that of
the medians in one run: on a busy machine both grow. Clients are threads of this process, so at 16
they take part of the cores.
"""

import base64
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cv2
import numpy as np
import tensorflow as tf

from tests.trainer.training.helpers import write_dataset
from tests.trainer.training.tables import write_table
from trainer import dataset_description, models
from trainer.hyperparameters import Hyperparameters
from trainer.training import saved_model

SECONDS = 5
WARM_UP = 50
FILES = {"train": [40], "validation": [5], "test": [5]}


def image_model(folder):
    """(SavedModel's folder, request) of the convolutional model on 32x32 colour PNGs."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (50, 32, 32, 3)).astype(np.uint8)
    address = write_dataset(folder / "d", images, np.arange(50) % 10, files=FILES, encoding="png")
    _, png = cv2.imencode(".png", images[0])
    instance = {"image_bytes": {"b64": base64.b64encode(png.tobytes()).decode()}}
    return _export("convolutional", address, folder), instance


def row_model(folder):
    """(SavedModel's folder, request) of the dense model on 30 numbers."""
    random = np.random.default_rng(0)
    columns = {f"x{i}": ("numeric", random.normal(size=50).tolist()) for i in range(30)}
    address = write_table(folder / "d", columns, [n % 2 for n in range(50)], files=FILES)
    return _export("dense", address, folder), {name: rows[0] for name, (_, rows) in columns.items()}


def _export(name, address, folder):
    dataset = dataset_description.load(address)
    saved_model.export(models.build(name, dataset, Hyperparameters()), dataset, folder / "model")
    return folder / "model"


def bare(folder, instance):
    """Milliseconds of single calls of the signature, with inputs that are tensors already."""
    loaded = tf.saved_model.load(str(folder))
    signature = loaded.signatures["serving_default"]
    if "image_bytes" in instance:
        data = base64.b64decode(instance["image_bytes"]["b64"])
        inputs = {"image_bytes": tf.constant([data])}
    else:
        _, specs = signature.structured_input_signature
        inputs = {name: tf.zeros([1], spec.dtype) for name, spec in specs.items()}
    times, end = [], time.perf_counter() + SECONDS
    while (start := time.perf_counter()) < end:
        signature(**inputs)
        times.append(1000 * (time.perf_counter() - start))
    return times[WARM_UP:]


class Server:
    """A trainer.serve of a model, ready."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "trainer.serve", "--model", str(folder), "--port", "0"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self):
        for line in self._process.stdout:
            if line.startswith("ready"):
                return int(line.rpartition(":")[2].partition("/")[0])
        raise SystemExit("the server did not start")

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()


def served(port, instance, clients, **parameters):
    """Milliseconds of the requests of so many clients at once."""
    body = json.dumps({"instances": [instance], "parameters": parameters})
    times, problems = [], []
    end = time.perf_counter() + SECONDS

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while (start := time.perf_counter()) < end:
            connection.request("POST", "/predict", body)
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200:
                problems.append(f"answered {response.status}: {answer[:300]}")
                return
            times.append(1000 * (time.perf_counter() - start))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:  # raised in a thread, it would end that thread alone
        raise SystemExit(problems[0])
    return times[min(WARM_UP, len(times) // 10) :]


def show(name, times, reference=None):
    """A line of the table; returns the median."""
    middle, late = np.percentile(times, [50, 99])
    rate = len(times) / SECONDS
    ratio = f"  {middle / reference:5.1f} x the bare call" if reference else ""
    print(f"  {name:22} p50 {middle:7.2f} ms   p99 {late:7.2f} ms   {rate:7,.0f}/s{ratio}")
    return middle


if __name__ == "__main__":
    print(f"one example a request, {SECONDS} s each, {len(os.sched_getaffinity(0))} cores")
    cases = (("images, 32x32 PNG", image_model), ("rows, 30 numbers", row_model))
    with tempfile.TemporaryDirectory() as scratch:
        for title, make in cases:
            model, example = make(Path(scratch, make.__name__))
            print(title)
            median = show("bare call", bare(model, example))
            with Server(model) as port_:
                show("server, 1 client", served(port_, example, 1), median)
                show("server, 16 clients", served(port_, example, 16), median)
                show("with explanation", served(port_, example, 1, explain={}), median)
