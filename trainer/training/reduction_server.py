"""Reduction Server: machines of Vertex AI that sum the gradients of workers with GPUs.

Each worker sends its gradients to the reducers and gets the sum back: half of what it sends when
the workers pass sums around
(https://cloud.google.com/blog/products/ai-machine-learning/faster-distributed-training-with-google-clouds-reduction-server).
Nothing in the training differs but the library that NCCL calls: Google's, which the image must
hold. Without it NCCL sums among the workers, and says so only in its log; the reducers would
wait, and be paid for. So a training looks for it before its first step.
"""

import ctypes
import os

import tensorflow as tf

from trainer.training import TrainingError

# Library that NCCL opens, and the versions of its interface that NCCL 2.32 takes:
# https://github.com/NVIDIA/nccl, src/plugin/plugin_open.cc and src/plugin/net.cc
_LIBRARY = "libnccl-net.so"
_SYMBOLS = tuple(f"ncclNetPlugin_v{version}" for version in range(6, 13))
_REMEDY = (
    "put Google's package google-reduction-server into the image (docker/packages/README.md), or "
    "leave train.machines.reduction_servers out"
)


def check() -> None:
    """Raise TrainingError if this process could not use reducers. Before TensorFlow's first use."""
    check_library(_LIBRARY)
    if not tf.config.list_physical_devices("GPU"):
        raise TrainingError(
            "--strategy reduction_server sums gradients of GPUs, and this machine shows none"
        )
    # The log then says whether NCCL has taken the library.
    os.environ.setdefault("NCCL_DEBUG", "INFO")


def check_library(name: str) -> None:
    """Raise TrainingError unless NCCL could load this library."""
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise TrainingError(
            f"the reduction servers would do nothing: NCCL finds no library for them ({error}): "
            + _REMEDY
        ) from error
    if not any(hasattr(library, symbol) for symbol in _SYMBOLS):
        raise TrainingError(
            f"the reduction servers would do nothing: {name} has none of {_SYMBOLS[0]} to "
            f"{_SYMBOLS[-1]}, so NCCL does not take it: {_REMEDY}"
        )


class Workers(tf.distribute.cluster_resolver.TFConfigClusterResolver):
    """The processes of TF_CONFIG that train. Reducers are not TensorFlow's, and are left out."""

    def cluster_spec(self) -> tf.train.ClusterSpec:
        """See TFConfigClusterResolver."""
        jobs = super().cluster_spec().as_dict()
        return tf.train.ClusterSpec({job: jobs[job] for job in jobs if job != "ps"})
