"""Overhead of serving over the bare call of a SavedModel: median milliseconds of a request.

The model is called in this process, one example at a time, as an in-process program would; a
trainer.serve on this machine is asked over HTTP by one client, which sends one example and
waits for the answer; so is its peer, a FastAPI program that calls the SavedModel. Under many
clients the figure is requests a second, or what 99 of 100 requests take at most, and the limit is
ours without batching.
"""

import base64
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cv2
import numpy as np
import tensorflow as tf

from benchmarks.speed import flood
from testbed.tables import write_table
from testbed.trainings import write_dataset
from trainer import dataset_description, models
from trainer.training import saved_model
from trellis_contracts.hyperparameters import Hyperparameters

SECONDS = 3
WARM_UP = 50
FILES = {"train": [40], "validation": [5], "test": [5]}


def image_model(folder):
    """(SavedModel's folder, request) of the convolutional model on 32x32 colour PNGs."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (50, 32, 32, 3)).astype(np.uint8)
    address = write_dataset(folder / "d", images, np.arange(50) % 10, files=FILES, encoding="png")
    _, png = cv2.imencode(".png", images[0])
    instance = {"image": {"b64": base64.b64encode(png.tobytes()).decode()}}
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
    """A function that calls the signature, with inputs that are tensors already."""
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    if "image" in instance:
        inputs = {"image": tf.constant([base64.b64decode(instance["image"]["b64"])])}
    else:
        _, specs = signature.structured_input_signature
        inputs = {name: tf.zeros([1], spec.dtype) for name, spec in specs.items()}
    return lambda: signature(**inputs)


class Server:
    """A server, ready: a module that prints "ready" and its address."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", *arguments]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self):
        for line in self._process.stdout:
            if line.startswith("ready"):
                port = int(line.rpartition(":")[2].partition("/")[0])
                return http.client.HTTPConnection("127.0.0.1", port)
        raise SystemExit("the server did not start")

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()


def request(connection, body):
    connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != 200:
        raise SystemExit(f"answered {response.status}: {answer[:300]}")


def median(call):
    """Milliseconds of the calls in SECONDS."""
    times, end = [], time.perf_counter() + SECONDS
    while (start := time.perf_counter()) < end:
        call()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[WARM_UP:])


@contextmanager
def candidates(make, scratch):
    model, instance = make(scratch)
    call = bare(model, instance)
    body = json.dumps({"instances": [instance]})
    ours = Server("trainer.serve", "--model", str(model), "--port", "0")
    peer = Server("benchmarks.speed.fastapi_server", str(model))
    with ours as to_ours, peer as to_peer:
        yield {
            "ours": lambda: median(lambda: request(to_ours, body)),
            "peer": lambda: median(lambda: request(to_peer, body)),
            "limit": lambda: median(call),
        }


@contextmanager
def clients(make, scratch, figure):
    model, instance = make(scratch)
    body = json.dumps({"instances": [instance]}).encode()
    arguments = ("--model", str(model), "--port", "0")
    ours = Server("trainer.serve", *arguments)
    alone = Server("benchmarks.speed.unbatched", *arguments)
    peer = Server("benchmarks.speed.fastapi_server", str(model))
    with ours as to_ours, peer as to_peer, alone as to_alone:
        yield {
            "ours": lambda: flood.measured(to_ours.port, body, figure),
            "peer": lambda: flood.measured(to_peer.port, body, figure),
            "limit": lambda: flood.measured(to_alone.port, body, figure),
        }


def rows(scratch):
    return candidates(row_model, scratch)


def rows_of_clients(scratch):
    return clients(row_model, scratch, "rate")


def images_of_clients(scratch):
    return clients(image_model, scratch, "rate")


def wait_for_rows(scratch):
    return clients(row_model, scratch, "p99")


def wait_for_images(scratch):
    return clients(image_model, scratch, "p99")


def images(scratch):
    return candidates(image_model, scratch)
