"""One attempt of one replica: a folder, a lock, and a process started by a shim.

An attempt runs exactly as long as its lock is held. The server takes the lock before it starts the
shim and shares it (an flock belongs to the open file), so an attempt never runs unlocked; if both
die, the kernel releases it. So any server, even one just started after a kill, knows the state from
the folder: locked: it runs; `exit.json`: it ended like that; neither: it was lost, and nothing of
it can start any more.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from local_gcp.home import write_atomically
from local_gcp.jobs import preloading

MARK = "LOCAL_GCP_ATTEMPT"
"""Environment variable of every process of an attempt: finds those that a killed shim left."""

_SHIM = Path(__file__).with_name("shim.py")
_children: dict[Path, subprocess.Popen] = {}
"""Shims that this process started, to be reaped; adopted ones are init's."""


@dataclasses.dataclass(frozen=True)
class Exit:
    """The end of an attempt."""

    code: int | None
    """Exit code, negative for the signal that ended it, None when it was lost."""
    ended: float | None = None
    """Unix time; None when it was lost."""
    stopped: float | None = None
    """Unix time when it was asked to stop, if it was."""

    @property
    def lost(self) -> bool:
        """The shim itself was killed, or it never came to start the program."""
        return self.code is None

    @property
    def signal(self) -> signal.Signals | None:
        """The signal that ended the program, seen directly or reported by a shell as 128 + n."""
        if self.code is None:
            return None
        number = -self.code if self.code < 0 else self.code - 128
        # Only 1 to 31: a plain exit code 255 is not a real-time signal 127.
        return signal.Signals(number) if 1 <= number <= 31 else None

    def __str__(self) -> str:
        if self.lost:
            return "vanished without an exit record"
        if self.signal:
            return f"was ended by {self.signal.name}"
        return f"exited with code {self.code}"


class Attempt:
    """The attempt in `folder`. Creating the object does not access the disk."""

    def __init__(self, folder: Path):
        self.folder = folder

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        log: Path,
        grace: float,
        gcs_root: Path | None = None,
    ) -> None:
        """Start the program, unless this attempt was started before (by whomever).

        Both outputs are appended to `log`. When it is asked to stop it has `grace` seconds.
        `gcs_root`: show this folder to the program at /gcs as well, where the kernel allows it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        variables = {**env, MARK: str(self.folder)}
        record = {
            "argv": list(argv),
            "env": variables,
            "cwd": cwd,
            "log": str(log),
            "grace": grace,
            "mount": [str(gcs_root), "/gcs"] if gcs_root else None,
        }
        with self._lock() as lock:
            if lock is None or self.was_started:
                return
            write_atomically(self._path("attempt.json"), json.dumps(record))
            with log.open("ab") as output:
                if preloading.start(argv, variables, self.folder, lock, output.fileno()):
                    return
                # Not the server's own output: a shim that outlives it would keep that open.
                _children[self.folder] = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_SHIM), str(self.folder), str(lock)],
                    pass_fds=[lock],
                    start_new_session=True,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd="/",
                )

    def poll(self) -> Exit | None:
        """Return how the attempt ended, then no process of it is left; None while it runs."""
        with self._lock() as lock:
            if lock is None:
                return None
            if child := _children.pop(self.folder, None):
                child.wait()
            record = self._read("exit.json")
            if record is None:
                self._sweep()
                return Exit(None)
        return Exit(record["code"], record["ended"], record.get("stopped"))

    def stop(self) -> None:
        """Ask it to end: SIGTERM now, SIGKILL after its grace. Does not wait."""
        self._signal_shim(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it at once with its shim; `poll` then returns lost."""
        self._signal_shim(signal.SIGKILL)
        self._sweep()

    @property
    def was_started(self) -> bool:
        """True if `start` was called, by this or an earlier server."""
        return self._path("attempt.json").exists()

    @property
    def pid(self) -> int | None:
        """Process id of the program, None when it was never started."""
        record = self._read("process.json")
        return record and record["pid"]

    def _signal_shim(self, number: int) -> None:
        with self._lock() as lock:
            # Locked by someone else: the shim lives, so its id is still its own.
            record = self._read("process.json") if lock is None else None
            child = _children.get(self.folder)
            pid = record["shim"] if record else child.pid if child else None
            if pid is not None and lock is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def _sweep(self) -> None:
        """Kill every process that carries this attempt's mark or writes to its log, and wait until
        they are dead.
        """
        deadline = time.monotonic() + 5
        while self._kill_marked() and time.monotonic() < deadline:
            time.sleep(0.01)

    def _kill_marked(self) -> int:
        record, found = self._read("attempt.json"), 0
        for process in psutil.process_iter():
            # A dead process that init has not reaped yet has no environment any more.
            with contextlib.suppress(psutil.Error, OSError):
                # A fork of a fork server has that server's environment, but its own output.
                if process.environ().get(MARK) == str(self.folder) or (
                    record and os.readlink(f"/proc/{process.pid}/fd/1") == record["log"]
                ):
                    process.kill()
                    found += 1
        return found

    def _path(self, name: str) -> Path:
        return self.folder / name

    def _read(self, name: str) -> dict | None:
        try:
            return json.loads(self._path(name).read_text())
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def _lock(self) -> Iterator[int | None]:
        """The descriptor of the lock, held; None when it is held by a running attempt."""
        try:
            lock = os.open(self._path("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # no folder: never started
            yield -1
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            yield None
            return
        try:
            yield lock
        finally:
            # Closing our copy leaves the lock with a shim that was started meanwhile.
            os.close(lock)
