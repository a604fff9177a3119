"""Imports modules once, then starts programs that need them as forks. Standard library only.

    python fork_server.py CHANNEL_FD MODULE... TITLE

Runs in the Python of an image whose entry in images.yaml has `preload` (see images.py). A message
on the channel is the folder of an attempt, with two descriptors: the attempt's held lock, and its
log. For each, a fork becomes the attempt's shim (shim.py), and a fork of that the program,
`python -m MODULE ARGUMENTS`. It ends when the server's end of the channel is closed.

TITLE is spaces, whose memory holds the command line that `ps` shows of a fork.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import runpy
import signal
import socket
import sys
import traceback
import types

# From the folder of this file, which comes first while a script starts.
import shim  # type: ignore[import-not-found]

_ARG_START, _ARG_END = 47, 48  # of /proc/PID/stat, from 0 (proc(5))


class Forked(BaseException):
    """Raised in the process of a new program: it leaves everything that the server was doing.

    arguments: of `python`.
    """

    def __init__(self, arguments: "list[str]"):
        self.arguments = arguments


def serve(channel: socket.socket, modules: "list[str]") -> None:
    """Start what the messages say, until the channel is closed; raises Forked in each program."""
    _import(modules)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the shims
    while True:
        folder, descriptors, _, _ = socket.recv_fds(channel, 65536, 2)
        if not folder:
            return
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            channel.close()
            _become_shim(folder.decode(), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _become_shim(folder: str, lock: int, log: int) -> None:
    """Run the attempt, and end; raises Forked in the process of its program."""
    try:
        os.setsid()
        for descriptor in (1, 2):
            os.dup2(log, descriptor)
        os.close(log)
        _set_title([sys.executable, shim.__file__, folder])
        shim.main(folder, lock, lambda attempt, output: _fork(attempt, output, lock))
    except Exception:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _fork(attempt: dict, log: int, lock: int) -> types.SimpleNamespace:
    """Start the program as a fork, as Popen would start it anew; returns its `pid`."""
    os.stat(attempt["cwd"])  # OSError is the shim's to report
    if pid := os.fork():
        return types.SimpleNamespace(pid=pid)
    try:
        os.setsid()
        shim.in_program()
        for descriptor in (1, 2):
            os.dup2(log, descriptor)
        os.close(log)
        os.close(lock)
        os.chdir(attempt["cwd"])
        os.environ.clear()
        os.environ.update(attempt["env"])
        _set_title(attempt["argv"])
    except Exception:
        traceback.print_exc()
        os._exit(126)  # as a program that cannot be started: this process is no shim any more
    raise Forked(attempt["argv"][1:])


def _import(modules: "list[str]") -> None:
    """Import what can be imported: the program itself reports what cannot, if it needs it."""
    gc.disable()
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    # No fork looks through what is imported, which would copy its memory.
    gc.freeze()
    gc.enable()


def _set_title(argv: "list[str]") -> None:
    """Replace the command line that the system shows of this process, as far as it has room."""
    with open("/proc/self/stat") as file:
        # The program's name may have anything in it; the fields after it are counted from 2.
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[_ARG_START - 2]), int(fields[_ARG_END - 2])
    if start:  # 0: the kernel does not tell
        text = "\0".join(argv).encode()[: end - start - 1]
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


def _run(arguments: "list[str]") -> None:
    """Run a program as `python -m MODULE ARGUMENTS` does."""
    _, module, *rest = arguments
    sys.path.insert(0, os.getcwd())
    sys.argv[1:] = rest
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    del sys.path[0], sys.modules["shim"]  # the modules of this folder are not for programs
    program = None
    try:
        serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:-1])
    except Forked as forked:
        program = forked.arguments
    if program:  # outside, so that its exceptions do not mention the one above
        _run(program)
