"""`local-gcp run`: runs a command against a server, which it starts and stops if needed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from local_gcp import daemon
from local_gcp.home import Home

NOT_FOUND = 127
"""A shell's exit code for a command that it cannot start; 128 + N for one that signal N ended."""


@contextlib.contextmanager
def temporary_home() -> Iterator[Home]:
    """An empty home, deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="local-gcp-", ignore_cleanup_errors=True) as folder:
        yield Home(folder)


@contextlib.contextmanager
def server(home: Home) -> Iterator[None]:
    """A server for `home`, which is stopped at the end unless it was up before."""
    started = daemon.start(home)
    try:
        yield
    finally:
        if started:
            daemon.stop(home)


class Command:
    """A command that SIGTERM is passed on to. In a `with` block this process outlives SIGTERM and
    Ctrl-C, so that the server is stopped in order after the command.

    SIGTERM before the command's start keeps it from starting. Ctrl-C reaches it from the terminal.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._process: subprocess.Popen | None = None
        self._terminated = False

    def __enter__(self) -> Command:
        # Functions, not SIG_IGN: a child would inherit that.
        self._before = {
            signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: self._terminate()),
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(self, variables: Mapping[str, str]) -> int:
        """Run it to its end with further environment variables; returns its exit code."""
        if self._terminated:
            return 128 + signal.SIGTERM
        try:
            self._process = subprocess.Popen(self._words, env={**os.environ, **variables})
        except OSError as error:
            raise CommandError(f"cannot run {self._words[0]}: {error.strerror}.") from None
        if self._terminated:  # while it was started
            self._process.terminate()
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def _terminate(self) -> None:
        self._terminated = True
        if self._process:
            self._process.terminate()


class CommandError(daemon.DaemonError):
    """The command cannot be started."""

    exit_code = NOT_FOUND
