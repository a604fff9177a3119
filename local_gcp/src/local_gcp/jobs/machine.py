"""The machine's cores: which runs may start, threads per replica, and free ports.

A replica takes one core slot from its start to the end of its run, also across restarts. Runs start
in the order of their submission, each when all its replicas fit; one that is larger than the
machine runs alone. So processes wait instead of slowing each other down.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import socket
from collections.abc import Collection, Mapping, Sequence

from local_gcp.home import LOOPBACK


def available_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Machine:
    """The options of `local-gcp up` about the machine."""

    cores: int
    """Slots for replicas; each replica's share of the machine is one slot's."""
    preemption_rate: float = 0.0
    """Preemptions of each spot replica per minute."""
    preemption_seed: int = 0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Machine:
        """Read LOCAL_GCP_CORES, LOCAL_GCP_PREEMPTION_RATE and LOCAL_GCP_PREEMPTION_SEED."""
        cores = int(environment.get("LOCAL_GCP_CORES") or available_cores())
        rate = float(environment.get("LOCAL_GCP_PREEMPTION_RATE") or 0)
        seed = int(environment.get("LOCAL_GCP_PREEMPTION_SEED") or 0)
        if cores < 1:
            raise ValueError(f"LOCAL_GCP_CORES (up --cores) is {cores}; 1 is the least.")
        if not 0 <= rate <= 600:
            raise ValueError(
                f"LOCAL_GCP_PREEMPTION_RATE (up --preemption-rate) is {rate}, not 0 to 600."
            )
        return cls(cores, rate, seed)

    def thread_environment(self) -> dict[str, str]:
        """A replica's share of the cores, as numerical libraries read it.

        TensorFlow's collectives can wait for one another inside its inter-op pool, so that has
        never less than two threads.
        """
        share = max(1, available_cores() // self.cores)
        return {
            "OMP_NUM_THREADS": str(share),
            "OPENBLAS_NUM_THREADS": str(share),
            "MKL_NUM_THREADS": str(share),
            "TF_NUM_INTRAOP_THREADS": str(share),
            "TF_NUM_INTEROP_THREADS": str(max(2, share)),
        }


def admit(waiting: Sequence[tuple[str, int]], used: int, total: int) -> list[str]:
    """Return which of the waiting (id, cores) may start now, when `used` of `total` cores are
    taken.

    Strictly first come, first served: a small run does not pass a large one that waits, which
    would otherwise wait forever.
    """
    admitted = []
    for name, cores in waiting:
        if used and used + cores > total:
            break
        admitted.append(name)
        used += cores
    return admitted


def free_addresses(count: int, taken: Collection[str]) -> list[str]:
    """`count` host:port on loopback that a server can have now, other than `taken`.

    Below the range of outgoing connections (from 32768 on Linux), so that no client of another
    program occupies the port when the replica starts to listen, seconds later. Without
    SO_REUSEADDR, so that a port whose last server has just ended is refused, too: not every server
    sets it.
    """
    addresses: list[str] = []
    for port in random.sample(range(10000, 20000), k=10000):
        if len(addresses) == count:
            break
        address = f"{LOOPBACK}:{port}"
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((LOOPBACK, port))
            if address not in taken:
                addresses.append(address)
    return addresses
