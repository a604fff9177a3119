"""Starts programs in a Python that has imported their libraries already.

An image's entry in images.yaml may name modules that take long to import (`preload`). The first
program of the image starts a fork server (fork_server.py) in the image's Python, which imports them
once; it and all later ones begin as forks of that. A program starts as any other if it is not
`python -m MODULE`, if the server is gone, or if it has other values of variables that interpreter
and libraries read as they start.
"""

from __future__ import annotations

import logging
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

log = logging.getLogger(__name__)

VARIABLE = "LOCAL_GCP_PRELOAD"
"""Environment variable of a program in such an image: the modules, with a space between them."""

_PROGRAM = Path(__file__).with_name("fork_server.py")
_TITLE = " " * 2000
_AT_START = re.compile(
    r"(PYTHON|LD_|MALLOC_|GLIBC_|LC_|TF_(?!CONFIG$)|XLA_|KERAS_|CUDA_|NVIDIA_|OMP_|GOMP_|KMP_|MKL_"
    r"|OPENBLAS_|NUMEXPR_|ARROW_|GRPC_|TORCH_|PYTORCH_)|(LANG|TZ|HOME|TMPDIR|PATH)$"
)
"""Variables that interpreter and libraries read as they start."""

_servers: dict[tuple[str, str], _Server] = {}
_lock = threading.Lock()


def start(
    argv: Sequence[str], variables: Mapping[str, str], folder: Path, lock: int, output: int
) -> bool:
    """Start the shim of the attempt in `folder` as a fork; False if it has to be started anew.

    lock, output: descriptors of the attempt's held lock, and of its log. Does not wait.
    """
    modules = variables.get(VARIABLE)
    if not modules or tuple(argv[:2]) != ("python", "-m") or len(argv) < 3:
        return False
    python = shutil.which("python", path=variables.get("PATH", ""))
    if not python:
        return False
    own = {name: value for name, value in variables.items() if _AT_START.match(name)}
    with _lock:
        server = _servers.get((python, modules))
        if server and (server.ended or server.packages != _packages(python)):
            server.close()
            server = None
        if not server:
            server = _servers[python, modules] = _Server(python, modules.split(), own)
        return server.variables == own and server.send(folder, lock, output)


def stop() -> None:
    """End all fork servers; a program that starts later makes another one."""
    with _lock:
        for server in _servers.values():
            server.close()
        for server in _servers.values():
            server.wait()
        _servers.clear()


class _Server:
    """A fork server. It ends with this process, or when it is closed; its forks go on."""

    def __init__(self, python: str, modules: Sequence[str], variables: Mapping[str, str]):
        self.variables, self.packages = dict(variables), _packages(python)
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setblocking(False)
        with other:
            self._process = subprocess.Popen(
                [python, str(_PROGRAM), str(other.fileno()), *modules, _TITLE],
                env=self.variables,
                cwd="/",
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        log.info("process %d imports %s for the programs of %s", self.pid, modules, python)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, folder: Path, lock: int, output: int) -> bool:
        """Ask for a fork, which is made when the modules are imported; False if it is gone."""
        try:
            socket.send_fds(self._channel, [str(folder).encode()], [lock, output])
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Let it end, once it has made the forks that it was asked for."""
        self._channel.close()

    def wait(self) -> None:
        self._process.wait()


def _packages(python: str) -> float:
    """The time of the last change of the packages that are installed for this interpreter."""
    folders = Path(python).parent.parent.glob("lib/python*/site-packages")
    return max((folder.stat().st_mtime for folder in folders), default=0.0)
