"""tf.distribute: selects and creates the strategy, and translates its failures.

TF_CONFIG is TensorFlow's own way to describe a cluster (trainer.training.cluster); Vertex AI sets
it. Every process runs the same program; the strategy sums gradients over all replicas, so all hold
the same weights after every step.
"""

import contextlib
import faulthandler
import hashlib
import logging
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from trainer.training import TrainingError, reduction_server
from trainer.training.cluster import ALONE, Cluster

# Once all processes have started, connecting takes a second.
_CONNECT_SECONDS = 120

# Errors that collectives raise, within 10 s of heartbeats, when a process of the cluster is gone.
_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)


# local_gcp's variable: the accelerators of the machine that it stands for.
_ACCELERATORS = "LOCAL_GCP_ACCELERATORS"

_MAX_POOLING = tuple(getattr(keras.layers, f"MaxPooling{n}D") for n in (1, 2, 3))


class PeerLostError(Exception):
    """Another process of the cluster is gone: all must restart to continue the training."""


@dataclass(frozen=True)
class Distribution:
    """A strategy and the cluster that it spans.

    kind: single, mirrored, tpu, multi_worker, reduction_server or parameter_server. cluster: the
    processes that run the loop, each with the same number of replicas. servers: names of those that
    serve it.
    """

    kind: str
    strategy: tf.distribute.Strategy
    cluster: Cluster
    servers: tuple[str, ...] = ()

    @property
    def replicas(self) -> int:
        """Number of replicas in all processes."""
        return self.strategy.num_replicas_in_sync

    @property
    def local_replicas(self) -> int:
        """Number of replicas of this process."""
        return self.replicas // len(self.cluster)

    @property
    def alone(self) -> "Distribution":
        """The part of the cluster that computes without the servers; itself if there are none."""
        return Distribution("single", tf.distribute.get_strategy(), ALONE) if self.servers else self

    def gather(self, row: np.ndarray) -> np.ndarray:
        """One row (n,) of int32 of every process -> (processes, n), in the order of the cluster.

        Waits until all processes have called it.
        """
        if len(self.cluster) == 1:
            return row[np.newaxis]
        rows = self.strategy.experimental_distribute_values_from_function(
            lambda _: tf.constant(row[np.newaxis], tf.int32)
        )
        return self.strategy.gather(rows, axis=0).numpy()[:: self.local_replicas]

    def barrier(self) -> None:
        """Wait until all processes have called it: afterwards, any may end.

        Two rounds: a process that ended after the first could be gone before a slower one has its
        message, which would then report it as lost. After the second, all have finished the first.
        """
        self.gather(np.zeros(1, np.int32))
        with contextlib.suppress(*_LOST):
            self.gather(np.zeros(1, np.int32))


@contextlib.contextmanager
def watching(cluster: Cluster, progress: Callable[[], str]) -> Iterator[None]:
    """Raises PeerLostError for TensorFlow's errors that mean that a process is gone.

    progress: describes this process's progress, for the message.
    """
    try:
        yield
    except _LOST as error:
        if len(cluster) == 1:
            raise
        named = re.search(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)", str(error))
        peer = f"{named[1]}:{named[2]}" if named else "another process"
        raise PeerLostError(f"{peer} is gone, {progress()}") from error


def emulate_accelerators(environment: Mapping[str, str]) -> None:
    """Divide the CPU into as many devices as the machine has GPUs that local_gcp stands for.

    Before TensorFlow's first use in the process.
    """
    count = int(environment.get(_ACCELERATORS) or 0)
    if count > 1 and not tf.config.list_physical_devices("GPU"):
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration()] * count
        tf.config.set_logical_device_configuration(cpu, parts)


def _devices() -> int:
    """Number of GPUs, or of devices that stand for them. Does not start TensorFlow's runtime."""
    if gpus := tf.config.list_physical_devices("GPU"):
        return len(gpus)
    cpu = tf.config.list_physical_devices("CPU")[0]
    return len(tf.config.get_logical_device_configuration(cpu) or [cpu])


def choose(kind: str, cluster: Cluster) -> str:
    """The kind of strategy for --strategy `kind`. Raises TrainingError if it is not available."""
    if kind == "auto":
        if cluster.has_servers:
            return "parameter_server"
        if len(cluster) > 1:
            return "multi_worker"
        return "mirrored" if _devices() > 1 else "single"
    if kind == "reduction_server":
        if len(cluster.workers) == 1:
            raise TrainingError("--strategy reduction_server: TF_CONFIG names no second worker")
        return kind
    if (kind == "parameter_server") != cluster.has_servers:
        has = "has" if cluster.has_servers else "has no"
        raise TrainingError(f"--strategy {kind}, but TF_CONFIG {has} parameter servers (ps)")
    if kind == "parameter_server":
        return kind
    if kind == "multi_worker" and len(cluster) == 1:
        raise TrainingError("--strategy multi_worker: TF_CONFIG names no second process")
    if kind != "multi_worker" and len(cluster) > 1:
        raise TrainingError(
            f"--strategy {kind}, but TF_CONFIG names {len(cluster)} processes, which would all "
            "train the same model; use --strategy auto or multi_worker"
        )
    return kind


def connect(kind: str, cluster: Cluster, seed: int, deterministic: bool = True) -> Distribution:
    """Create the strategy, as the process's first use of TensorFlow. All processes must run.

    Every later operation of the process is seeded, and, if wanted, deterministic unless workers
    race; on TPUs that is not known.
    """
    # Not 0: tf.data looks at the seeds' values then, and the input pipeline's are tensors.
    keras.utils.set_random_seed(seed + 1)
    if kind == "parameter_server":
        with _limited():
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            strategy = tf.distribute.ParameterServerStrategy(resolver)
        servers = tuple(name for name in cluster.names if name != cluster.chief)
        return Distribution(kind, strategy, ALONE, servers)
    if kind == "tpu":
        return Distribution(kind, tf.distribute.TPUStrategy(_tpus()), ALONE)
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    if kind == "single":
        return Distribution(kind, tf.distribute.get_strategy(), ALONE)
    if kind == "mirrored":
        devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return Distribution(kind, tf.distribute.MirroredStrategy(devices), ALONE)
    with _limited():
        if kind == "reduction_server":
            implementation = tf.distribute.experimental.CommunicationImplementation.NCCL
            strategy = tf.distribute.MultiWorkerMirroredStrategy(
                reduction_server.Workers(),
                tf.distribute.experimental.CommunicationOptions(implementation=implementation),
            )
        else:
            strategy = tf.distribute.MultiWorkerMirroredStrategy()
    logging.getLogger("tensorflow").addFilter(_not_of_a_gather)
    return Distribution(kind, strategy, cluster)


def _not_of_a_gather(record: logging.LogRecord) -> bool:
    """Return whether a message of TensorFlow's is not its warning of a function that it makes anew
    in each `gather` by itself: it would be the last line of a training, in place of the scores.
    """
    return "_batch_all_gather" not in record.getMessage()


def _tpus() -> tf.distribute.cluster_resolver.TPUClusterResolver:
    """The chips of this machine, which is a TPU VM. Raises TrainingError if it is none."""
    try:
        return tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu="local")
    except tf.errors.OpError as error:
        raise TrainingError(
            f"--strategy tpu, but TensorFlow {tf.__version__} finds no TPU on this machine (the "
            f"package tensorflow-tpu does, on a TPU VM): {str(error).splitlines()[0]}"
        ) from error


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Ends the process if connecting to the others takes too long.

    If one dies right then, TensorFlow's wait for it can be ended neither by a signal nor from
    Python, whose lock it holds; this timer is a thread in C.
    """
    faulthandler.dump_traceback_later(_CONNECT_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    # TensorFlow catches SIGTERM and ignores it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def synchronize_normalization(model: keras.Model) -> None:
    """Let batch normalization take its mean and variance over all replicas' examples.

    Over its own share of a batch each replica would get moving statistics of its own, and there
    would be no one model to compare and export. Before the model is called for the first time.
    """
    for layer in _layers(model):
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.synchronized = True


def not_compiled(model: keras.Model, deterministic: bool = True) -> str | None:
    """Return why XLA cannot compile a model's forward and backward pass; None if nothing is
    known.
    """
    for layer in _layers(model):
        if getattr(layer, "synchronized", False):
            return (
                f"{layer.name} takes its statistics over all replicas within a pass, and XLA "
                "compiles the pass of one"
            )
        if deterministic and isinstance(layer, _MAX_POOLING):
            # "GPU MaxPool gradient ops do not yet have a deterministic XLA implementation."
            return f"XLA has no deterministic gradient of {layer.name}, a maximum"
    return None


def check_equal_weights(model: keras.Model, distribution: Distribution, step: int) -> None:
    """Raise TrainingError, in every process, unless all hold the same weights after this step."""
    if len(distribution.cluster) == 1:
        return
    digests = [hashlib.sha256(w.tobytes()).digest() for w in model.get_weights()]
    rows = distribution.gather(np.frombuffer(b"".join(digests), np.uint8).astype(np.int32))
    rows = rows.reshape(len(rows), len(digests), -1)
    differ = (rows != rows[0]).any(axis=(0, 2))
    names = [w.path for w, different in zip(model.weights, differ, strict=True) if different]
    if names:
        distribution.barrier()
        raise TrainingError(
            f"the processes hold different weights after step {step}: {', '.join(names[:5])}"
            f"{f' and {len(names) - 5} more' if len(names) > 5 else ''}. The layer changes them on "
            "its own, from one process's examples, as batch normalization with a mask does: "
            "normalize by layer or by group, or train on one machine"
        )


def _layers(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """A layer and those within it."""
    yield layer
    wrapped = [layer.layer] if isinstance(layer, keras.layers.Wrapper) else []
    for inner in layer.layers if isinstance(layer, keras.Model) else wrapped:
        yield from _layers(inner)


def weights_digest(model: keras.Model) -> bytes:
    """SHA-256 of this process's copy of a model's weights."""
    digest = hashlib.sha256()
    for array in model.get_weights():
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()
