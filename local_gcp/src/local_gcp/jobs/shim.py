"""Launches one attempt of one replica and records how it ended. Standard library only.

    python -I -S shim.py ATTEMPT_FOLDER LOCK_FD

Or a fork of fork_server.py calls `main`, and starts the program as a fork, too.

The shim is what survives when local_gcp is killed: it leads its own session, so no signal meant
for the server reaches it, and it holds the lock of its attempt folder for as long as it lives, so
a server, this one or the next, knows from the lock whether the attempt runs (see attempts.py).

It reads `attempt.json` (argv, env, cwd, log, grace, mount), starts the program in a session of
its own with both outputs appended to the log, writes `process.json` and waits:
- the program ends: everything that it left behind is killed, as with a container, and
  `exit.json` is written;
- SIGTERM to the shim: SIGTERM to the program's process group, and SIGKILL `grace` seconds later;
- the shim is killed: the kernel kills the program (PR_SET_PDEATHSIG), the server sweeps the rest.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000
_libc = ctypes.CDLL(None, use_errno=True)


def main(folder: str, lock: int, start: "Callable[[dict, int], Any] | None" = None) -> None:
    """Run the attempt in `folder`; `lock` is the inherited descriptor of its held lock.

    `start(attempt, log)` starts the program, with its output to the descriptor `log`, and returns
    an object with its `pid` (default: as a new process).
    """
    os.set_inheritable(lock, False)
    with open(os.path.join(folder, "attempt.json")) as file:
        attempt = json.load(file)
    log = os.open(attempt["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    # Orphans of the program become children of the shim instead of init's, so that none is lost.
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signals = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    if attempt.get("mount"):
        _mount(*attempt["mount"], log)
    started = time.time()
    try:
        program = (start or _start)(attempt, log)
    except OSError as error:
        # 126 and 127 are what a container runtime and a shell answer too.
        code = 127 if isinstance(error, FileNotFoundError) else 126
        os.write(log, f"local_gcp: cannot start {attempt['argv'][0]}: {error}\n".encode())
        _write(folder, "exit.json", {"code": code, "started": started, "ended": time.time()})
        return
    _write(folder, "process.json", {"shim": os.getpid(), "pid": program.pid, "started": started})
    code, stopped = _wait(program.pid, signals, attempt["grace"])
    _kill_all(program.pid)
    record = {"code": code, "started": started, "ended": time.time(), "stopped": stopped}
    _write(folder, "exit.json", record)


def _start(attempt: dict, log: int) -> subprocess.Popen:
    return subprocess.Popen(
        attempt["argv"],
        env=attempt["env"],
        cwd=attempt["cwd"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=in_program,
    )


def _wait(pid: int, signals: set, grace: float) -> "tuple[int, float | None]":
    """Wait for program `pid` to end and pass on SIGTERM.

    Returns its exit code (negative: the signal that ended it) and when it was asked to stop.
    """
    stopped, deadline = None, None
    while True:
        wait = 3600 if deadline is None else max(0.0, deadline - time.monotonic())
        received = signal.sigtimedwait(signals, wait)
        if received and received.si_signo == signal.SIGTERM and stopped is None:
            stopped, deadline = time.time(), time.monotonic() + grace
            _signal_group(pid, signal.SIGTERM)
        if deadline is not None and time.monotonic() >= deadline:
            _signal_group(pid, signal.SIGKILL)
            deadline = None
        for child, status in _reap():
            if child == pid:
                return os.waitstatus_to_exitcode(status), stopped


def _reap() -> "list[tuple[int, int]]":
    """(pid, status) of the children that have ended: the program, or orphans of it."""
    ended = []
    try:
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            ended.append(child)
    except ChildProcessError:
        pass
    return ended


def in_program() -> None:
    """Prepare the new process of a program: it dies with the shim, and blocks no signal."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _kill_all(group: int) -> None:
    """Kill what the program left behind: its process group, and processes that left the group."""
    _signal_group(group, signal.SIGKILL)
    while True:
        children = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _mine(pid)]
        if not children:
            return
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def _mine(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            # After the program's name, which may have anything in it: state, parent, ...
            return int(file.read().rpartition(")")[2].split()[1]) == os.getpid()
    except OSError:
        return False


def _mount(source: str, target: str, log: int) -> None:
    """Show `source` at `target` to this attempt alone; say so in the log when that cannot be.

    The only trace outside is that `target` then exists, as an empty folder.
    """
    problem = None
    try:
        os.makedirs(target, exist_ok=True)
    except OSError as error:
        problem = str(error)
    if problem is None and (
        _libc.unshare(_CLONE_NEWNS)
        or _libc.mount(None, b"/", None, _MS_REC | _MS_SLAVE, None)
        or _libc.mount(source.encode(), target.encode(), None, _MS_BIND | _MS_REC, None)
    ):
        problem = os.strerror(ctypes.get_errno())
    if problem:
        note = f"local_gcp: no {target} here ({problem}); use $GCS_ROOT, which is {source}\n"
        os.write(log, note.encode())


def _write(folder: str, name: str, record: dict) -> None:
    path = os.path.join(folder, name)
    with open(path + ".new", "w") as file:
        json.dump(record, file)
    os.replace(path + ".new", path)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
