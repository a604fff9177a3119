"""Wait until every process of a cluster has started, before TensorFlow connects them.

TensorFlow would wait too, but for an hour: its wait holds Python's lock and ignores SIGTERM, and a
process that restarts while its old peers are still exiting may hang in it. Here the wait ends on a
signal, or with an error after a few minutes.

The protocol, one line each way over TCP, on the port that TensorFlow will use afterwards:

    worker -> chief     trellis NAME
    chief  -> worker    trellis go MESSAGE      to all, once all have connected

The message names what all must agree on: the checkpoint to resume from. A process of an earlier
attempt that is still exiting speaks gRPC on that port and does not count as started.

With parameter servers only the chief resumes, and a lost worker comes back alone. There the others
start TensorFlow's server at once, and who needs whom waits until its port is open.
"""

import contextlib
import socket
import time

from trainer.training import TrainingError
from trainer.training.cluster import Cluster

# A spot machine's replacement takes a few minutes to come.
WAIT_SECONDS = 300.0

_POLL_SECONDS = 0.2
# A chief that did not answer so often, at this interval, is gone.
_SILENT_LOOKS = 3
_LOOK_SECONDS = 1.0
_GREETING = "trellis "
_GO = "trellis go "


def meet(cluster: Cluster, message: str, timeout: float = WAIT_SECONDS) -> str:
    """Wait for all processes; returns the chief's message on each of them.

    Raises TrainingError, naming who is missing, after `timeout` seconds.
    """
    if len(cluster) == 1:
        return message
    print(f"{cluster.name}: waiting for all {len(cluster)} processes", flush=True)
    deadline = time.monotonic() + timeout
    if cluster.is_chief:
        _gather(cluster, message, deadline, timeout)
    else:
        message = _report(cluster, deadline, timeout)
    print(f"{cluster.name}: all {len(cluster)} processes have started", flush=True)
    return message


def await_servers(cluster: Cluster, timeout: float = WAIT_SECONDS) -> None:
    """Wait, as the chief, until all others listen.

    Raises TrainingError, naming who is missing, after `timeout` seconds.
    """
    print(f"{cluster.name}: waiting for all {len(cluster)} processes", flush=True)
    deadline = time.monotonic() + timeout
    missing = [name for name in cluster.names if name != cluster.name]
    while missing := [name for name in missing if not _listens(cluster.addresses[name])]:
        if time.monotonic() > deadline:
            raise TrainingError(f"{', '.join(missing)} did not start within {timeout:.0f} s")
        time.sleep(_POLL_SECONDS)
    print(f"{cluster.name}: all {len(cluster)} processes have started", flush=True)


def until_gone(cluster: Cluster, timeout: float = WAIT_SECONDS) -> None:
    """Wait until the chief, which may not have come yet, has ended.

    Raises TrainingError if it has not come after `timeout` seconds.
    """
    address, deadline = cluster.addresses[cluster.chief], time.monotonic() + timeout
    while not _listens(address):
        if time.monotonic() > deadline:
            raise TrainingError(f"the chief at {address} did not start within {timeout:.0f} s")
        time.sleep(_POLL_SECONDS)
    silent = 0
    while silent < _SILENT_LOOKS:
        time.sleep(_LOOK_SECONDS)
        silent = 0 if _listens(address) else silent + 1


def _listens(address: str) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(_split(address), 5):
        return True
    return False


def _gather(cluster: Cluster, message: str, deadline: float, timeout: float) -> None:
    """The chief's part."""
    host, port = _split(cluster.addresses[cluster.name])
    others = set(cluster.names) - {cluster.name}
    present: dict[str, socket.socket] = {}
    with contextlib.ExitStack() as stack, _listen(host, port) as server:
        server.settimeout(_POLL_SECONDS)
        while len(present) < len(others):
            if time.monotonic() > deadline:
                missing = ", ".join(sorted(others - set(present)))
                raise TrainingError(f"{missing} did not start within {timeout:.0f} s")
            with contextlib.suppress(OSError):
                connection = stack.enter_context(server.accept()[0])
                line = _read_line(connection, seconds=5)
                if (name := line.removeprefix(_GREETING)) in others:
                    present[name] = connection
            present = {name: c for name, c in present.items() if _is_open(c)}
        for connection in present.values():
            with contextlib.suppress(OSError):
                connection.sendall(f"{_GO}{message}\n".encode())


def _report(cluster: Cluster, deadline: float, timeout: float) -> str:
    """A worker's part."""
    address = cluster.addresses[cluster.chief]
    while (left := deadline - time.monotonic()) > 0:
        with contextlib.suppress(OSError), socket.create_connection(_split(address), 5) as chief:
            chief.sendall(f"{_GREETING}{cluster.name}\n".encode())
            line = _read_line(chief, seconds=left)
            if line.startswith(_GO):
                return line.removeprefix(_GO)
        time.sleep(_POLL_SECONDS)
    raise TrainingError(
        f"the chief at {address}, or a worker, did not start within {timeout:.0f} s"
    )


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def _listen(host: str, port: int) -> socket.socket:
    # On a cloud network the name in TF_CONFIG may be one that only others resolve.
    own = host if host in ("localhost", "127.0.0.1") else ""
    return socket.create_server((own, port))


def _read_line(connection: socket.socket, seconds: float) -> str:
    """One line of the protocol, without the line break; "" if the peer sends anything else."""
    connection.settimeout(seconds)
    expected, data = _GREETING.encode(), b""
    while not data.endswith(b"\n"):
        part = connection.recv(1024)
        data += part
        if not part or data[: len(expected)] != expected[: len(data)]:
            return ""
    return data.decode(errors="replace").rstrip("\n")


def _is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
