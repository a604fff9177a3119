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


def run(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run `command` to its end with further environment variables; returns its exit code.

    SIGTERM is passed on to it. Ctrl-C reaches it from the terminal; here it is ignored, so that the
    server is stopped in order after it.
    """
    try:
        process = subprocess.Popen(command, env={**os.environ, **variables})
    except OSError as error:
        raise CommandError(f"cannot run {command[0]}: {error.strerror}.") from None
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
    }
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


class CommandError(daemon.DaemonError):
    """The command cannot be started."""

    exit_code = NOT_FOUND
