"""Measures where the time of a training goes. trellis_contracts.speed explains the parts.

Within a step, time is read in the graph, in a sample of the calls: TensorFlow runs many steps in
one, and reads the next batch while it computes. A step has waited from the end of the step before
until its batch was there.
"""

import contextlib
import os
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from trainer.training import direct_reads
from trainer.training.distribution import Distribution
from trellis_contracts.speed import Device, Speed

# NVML's own figures are means of up to a second.
_DEVICE_SECONDS = 1.0
_CALL_SECONDS = 5.0


def readable(distribution: Distribution) -> bool:
    """Return whether steps can read the time: XLA, which compiles a TPU's whole, cannot."""
    return distribution.kind != "tpu"


def moment(timed: tf.Tensor | None, after: Any) -> tf.Tensor:
    """Time, float64 seconds, when (nested) tensors are there; 0 unless `timed`, bool.

    TensorFlow's own operation for the time refuses to run where operations are deterministic.
    """
    if timed is None:
        return tf.constant(0.0, tf.float64)
    values = tf.nest.flatten(after, expand_composites=True)

    def now() -> tf.Tensor:
        # A GPU computes later what it was given: its value in main memory has been computed.
        arrived = [tf.reshape(value, [-1])[:1] for value in values[:1]]
        return tf.numpy_function(lambda *_: time.monotonic(), arrived, tf.float64)

    with tf.control_dependencies(values), tf.device("CPU:0"):
        return tf.ensure_shape(tf.cond(timed, now, lambda: tf.constant(0.0, tf.float64)), [])


class Samples:
    """Chooses the calls whose steps read the time: the second, since the first builds the steps,
    and one every few seconds. A call of 16 steps takes 10 to 30 ms longer then.
    """

    def __init__(self) -> None:
        self._next: float | None = None

    def due(self) -> bool:
        """Return whether the next call reads the time."""
        now = time.monotonic()
        due = self._next is not None and now >= self._next
        if self._next is None or due:
            self._next = now + _CALL_SECONDS if due else now
        return due


class Meter:
    """Measures the epochs of one process."""

    def __init__(self) -> None:
        self._devices = Devices()
        self._saving = 0.0
        self._begin()

    def _begin(self) -> None:
        self._begun, self._cpu, self._read = time.monotonic(), time.process_time(), _bytes_read()

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Count what runs within as time for checkpoints of the epoch that ends next, and none of
        the bytes that it reads.
        """
        begun, read = time.monotonic(), _bytes_read()
        yield
        self._saving += time.monotonic() - begun
        if self._read is not None and read is not None:
            self._read += (_bytes_read() or read) - read

    def end_epoch(
        self,
        epoch: int,
        examples: int,
        steps: float,
        evaluation: float,
        parts: tuple[float, float] | None,
    ) -> Speed:
        """The row of an epoch that ends.

        examples: of the training split in it, over all processes. steps, evaluation: seconds.
        parts: of the steps' seconds those of input and communication; None: not measured.
        """
        wall = time.monotonic() - self._begun
        cores = len(os.sched_getaffinity(0))
        read = _bytes_read()
        seconds = steps + evaluation + self._saving
        row = Speed(
            epoch=epoch,
            seconds=round(seconds, 3),
            examples=round(examples / seconds, 1),
            input=round(parts[0], 3) if parts else None,
            communication=round(parts[1], 3) if parts else None,
            evaluation=round(evaluation, 3),
            checkpoints=round(self._saving, 3),
            cpu=round((time.process_time() - self._cpu) / wall / cores, 3),
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            # A window of kept examples may be read but not yet counted at either end.
            read=None if read is None or self._read is None else max(0, read - self._read),
            devices=self._devices.take(),
        )
        self._saving = 0.0
        self._begin()
        return row

    def close(self) -> None:
        """End measuring."""
        self._devices.close()


class Devices:
    """The use of this machine's GPUs, by NVML."""

    def __init__(self) -> None:
        self._samples: list[list[tuple[float, int]]] = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._handles, self._nvml = _handles()
        if self._handles:
            threading.Thread(target=self._watch, name="gpu-use", daemon=True).start()

    def take(self) -> tuple[Device, ...] | None:
        """Summary since the last call; None without a GPU that NVML shows."""
        if not self._handles:
            return None
        self._sample()
        with self._lock:
            samples, self._samples = self._samples, []
        return tuple(
            Device(
                use=round(sum(use for use, _ in own) / len(own), 3),
                memory=max(memory for _, memory in own),
            )
            for own in zip(*samples, strict=True)
        )

    def close(self) -> None:
        """End the thread."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(_DEVICE_SECONDS):
            self._sample()

    def _sample(self) -> None:
        found = [
            (
                self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
                int(self._nvml.nvmlDeviceGetMemoryInfo(handle).used),
            )
            for handle in self._handles
        ]
        with self._lock:
            self._samples.append(found)


def _handles() -> tuple[list, Any]:
    """NVML's handles of the GPUs, and its module; none without driver or package."""
    if not tf.config.list_physical_devices("GPU"):
        return [], None
    try:
        import pynvml
    except ImportError:
        return [], None
    try:
        pynvml.nvmlInit()
        return [
            pynvml.nvmlDeviceGetHandleByIndex(number)
            for number in range(pynvml.nvmlDeviceGetCount())
        ], pynvml
    except pynvml.NVMLError:
        return [], None


def _bytes_read() -> int | None:
    """Bytes that this process has read from files and connections, but for examples that it keeps
    on disk itself; None where Linux hides it.
    """
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return None
    return int(dict(line.split(": ") for line in lines)["rchar"]) - direct_reads.COUNT.bytes
