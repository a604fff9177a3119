"""Writes datasets as trainer.export does, and starts trainings as processes that can be killed."""

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import cv2
import google_crc32c
import numpy as np

from trainer.exporting.tfrecord import frame, serialize_examples
from trellis_contracts.dataset import SPLITS, Counts, DatasetDescription, Shard, Split, shard_name
from trellis_contracts.dataset_features import Feature, Label

ROOT = Path(__file__).resolve().parents[1]

MODULE = ("-m", "trainer.task")

# Processes of a training as forks of one that has imported what they all need.
FORKS = """
import json, os, sys, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
from trainer import task
from trainer.tensorflow_import import import_tensorflow
import_tensorflow()
from trainer.estimators import keras, run
apart, processes = json.loads(sys.argv[1])
started, codes = {}, {}
for name, log, variables in processes:
    if pid := os.fork():
        started[pid] = name
        time.sleep(apart)
        continue
    os.environ |= variables
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    sys.exit(task.main(sys.argv[2:]))
while started:
    pid, status = os.wait()
    codes[started.pop(pid)] = os.waitstatus_to_exitcode(status)
print(json.dumps(codes))
"""

# Generous: the machine may be busy.
DEADLINE = 240.0


def write_dataset(
    folder: Path,
    images: np.ndarray,
    labels: Sequence[int] | np.ndarray,
    *,
    files: Mapping[str, Sequence[int]],
    classes: Sequence[str] | None = None,
    encoding: str = "png",
) -> str:
    """Write images (n, height, width, channels) as trainer.export would; returns the address.

    labels: (n,) class indices, or masks (n, height, width) of them.
    files: examples in each file of each split; the images are dealt out in this order. The files
    that they were made of, as PNG, are in originals/.
    """
    folder.mkdir(parents=True)
    labels = np.asarray(labels)
    classes = tuple(classes or map(str, range(int(labels.max()) + 1)))
    counts, shards, first = {}, {}, 0
    for split in SPLITS:
        sizes, shards[split], begin = files[split], [], first
        for index, size in enumerate(sizes):
            rows = range(first, first + size)
            kind = encoding if split == "train" else "png"
            keys = [f"images/{row:05d}.png" for row in rows]
            stored = [cv2.imencode(f".{kind}", images[row])[1].tobytes() for row in rows]
            columns = {
                "key": [key.encode() for key in keys],
                "image": stored,
                "label": _labels(labels[rows.start : rows.stop]),
            }
            if split == "test":
                columns |= originals(folder, keys, stored)
            data = frame(serialize_examples(columns))
            name = shard_name(split, index, len(sizes))
            (folder / name).write_bytes(data)
            shards[split].append(Shard(name, size, len(data)))
            first += size
        here = labels[begin:first]
        per_class = [sum(bool((one == c).any()) for one in here) for c in range(len(classes))]
        named = dict(zip(classes, per_class, strict=True))
        counts[split] = Counts(first - begin, named)
    feature = Feature("image", "image", "uint8", encoding, images.shape[1:])
    description = DatasetDescription(
        fingerprint=folder.name,
        task="segmentation" if labels.ndim == 3 else None,
        label=Label.of_masks(feature) if labels.ndim == 3 else Label(),
        source={"manifest": "gs://b/manifest.csv"},
        split=Split("column ML_USE"),
        features=(feature,),
        classes=classes,
        counts=counts,
        files={split: tuple(shards[split]) for split in SPLITS},
        rejected=0,
    )
    (folder / "dataset.json").write_text(description.to_json())
    return str(folder)


def _labels(labels: np.ndarray) -> np.ndarray | list[bytes]:
    if labels.ndim == 1:
        return labels.astype(np.int64)
    return [cv2.imencode(".png", mask.astype(np.uint8))[1].tobytes() for mask in labels]


def originals(folder: Path, keys: Sequence[str], files: Sequence[bytes]) -> dict:
    """Write the files that images are made of; the columns of records that name them."""
    for key, data in zip(keys, files, strict=True):
        path = folder / "originals" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return {
        "uri": [str(folder / "originals" / key).encode() for key in keys],
        "crc32c": np.array([google_crc32c.value(data) for data in files], np.int64),
    }


def arguments(dataset: str, **flags: object) -> list[str]:
    """A command line of trainer.task."""
    defaults = {
        "dataset": dataset,
        "model": "dense",
        "task": "multiclass_classification",
        "epochs": 3,
    }
    return [
        f"--{name}={str(value).lower()}" if isinstance(value, bool) else f"--{name}={value}"
        for name, value in (defaults | flags).items()
    ]


def without_seconds(metrics: dict) -> dict:
    """Return the parts that must not differ between two trainings with the same settings."""
    history = [{k: v for k, v in row.items() if k != "seconds"} for row in metrics["history"]]
    replicas = {
        name: {k: v for k, v in process.items() if k != "computed"}
        for name, process in metrics.get("replicas", {}).items()
    }
    return metrics | {"history": history, "replicas": replicas, "speed": None}


class Job:
    """The processes of one training, one for each replica, as Vertex AI would start them.

    python: of another environment than this one. accelerators: of each process's machine, in whose
    place are as many devices of the CPU.
    """

    def __init__(
        self,
        folder: Path,
        names: Sequence[str],
        argv: Sequence[str],
        python: str = sys.executable,
        accelerators: int = 0,
    ):
        self.folder = folder
        self.python = python
        self.accelerators = accelerators
        self.argv = [*argv, f"--output={folder}/output"]
        ports = free_ports(len(names))
        self._addresses = {n: f"127.0.0.1:{p}" for n, p in zip(names, ports, strict=True)}
        self._processes: dict[str, subprocess.Popen] = {}

    def start(self, *names: str) -> None:
        """Start some of the processes (default: all), again if they have run before."""
        for name in names or self._addresses:
            with open(self.folder / f"{name}.log", "a") as log:
                self._processes[name] = subprocess.Popen(
                    [self.python, *self.argv],
                    cwd=ROOT,
                    env=os.environ | self._variables(name),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )

    def run(self, apart: float = 0.0) -> dict[str, int]:
        """Exit codes of all processes, which nobody disturbs: they are forks, so that TensorFlow is
        imported once. apart: seconds from the start of one to that of the next.
        """
        processes = [
            (name, str(self.folder / f"{name}.log"), self._variables(name))
            for name in self._addresses
        ]
        argv = self.argv[len(MODULE) :]
        parent = subprocess.Popen(
            [self.python, "-c", FORKS, json.dumps([apart, processes]), *argv],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            return json.loads(parent.communicate(timeout=DEADLINE)[0])
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)

    def wait_for(self, name: str, text: str, times: int = 1) -> None:
        """Until a process has printed a text, so many times in all its runs."""
        self._until(lambda: self.log(name).count(text) >= times, f"{name} to print {text!r}")

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to a process."""
        self._processes[name].send_signal(number)

    def wait(self) -> dict[str, int]:
        """Exit codes of all processes, when they have ended."""
        self._until(
            lambda: all(p.poll() is not None for p in self._processes.values()), "all to end"
        )
        return {name: process.returncode for name, process in self._processes.items()}

    def log(self, name: str) -> str:
        """Return the output of a process in all its runs, without TensorFlow's own lines."""
        text = (self.folder / f"{name}.log").read_text()
        return re.sub(r"^(WARNING: All log|[IWE]\d{4} ).*\n", "", text, flags=re.MULTILINE)

    @property
    def metrics(self) -> dict:
        """metrics.json."""
        return json.loads((self.folder / "output/metrics.json").read_text())

    def end(self) -> None:
        """Kill what is left."""
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()

    def _variables(self, name: str) -> dict[str, str]:
        threads = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2"}
        if self.accelerators:
            threads |= {"LOCAL_GCP_ACCELERATORS": str(self.accelerators)}
        if len(self._addresses) == 1:
            return threads
        cluster: dict[str, list[str]] = {}
        for other, address in self._addresses.items():
            cluster.setdefault(other.partition(":")[0], []).append(address)
        kind, _, index = name.partition(":")
        config = {"cluster": cluster, "task": {"type": kind, "index": int(index)}}
        return threads | {"TF_CONFIG": json.dumps(config)}

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not condition():
            logs = "\n".join(f"--- {name}\n{self.log(name)}" for name in self._processes)
            assert time.monotonic() < deadline, f"waited in vain for {what}:\n{logs}"
            time.sleep(0.02)


def free_ports(count: int) -> list[int]:
    """Ports on loopback where nothing listens, below those of outgoing connections."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(20000, 32000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
    return ports
