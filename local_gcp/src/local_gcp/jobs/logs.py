"""The logs of replicas: one file for each, all its attempts in it."""

from __future__ import annotations

from pathlib import Path

from local_gcp.jobs.recovery import Fail
from local_gcp.jobs.run import Replica, Run

QUOTED_LINES = 15
_QUOTED_BYTES = 16384
_LINE = 500
"""Characters; a line of numbers or of base64 says no more in full."""


def append_line(log: Path, text: str) -> None:
    """Write a line of local_gcp's own into a replica's log."""
    with log.open("a") as file:
        file.write(f"local_gcp: {text}\n")


def last_lines(log: Path, count: int, start: int = 0) -> list[str]:
    """The last lines after byte `start`, empty ones left out."""
    try:
        with log.open("rb") as file:
            end = file.seek(0, 2)
            file.seek(max(start, end - _QUOTED_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    # A progress bar redraws its line with carriage returns: only the last one counts.
    lines = [line.rstrip().rpartition("\r")[2] for line in text.splitlines() if line.strip()]
    return [line[:_LINE] for line in lines[-count:]]


def failure_message(run: Run, failure: Fail, folder: Path) -> str:
    """Explain why the run failed: Vertex AI's message, with the end of the log."""
    paragraphs = [_exited(failure.replica, failure.why, folder)]
    paragraphs += [
        _exited(replica, "", folder)
        for replica in run.replicas
        if replica is not failure.replica and replica.exit and replica.exit.code
    ]
    return "\n".join(paragraphs)


def _exited(replica: Replica, why: str, folder: Path) -> str:
    log = folder / replica.name / "log"
    reason = ""
    if replica.exit.code is None:
        how = str(replica.exit)
    else:
        # A container reports a signal n as 128 + n.
        code = replica.exit.code if replica.exit.code >= 0 else 128 - replica.exit.code
        name = f" ({replica.exit.signal.name})" if replica.exit.signal else ""
        how = f"exited with a non-zero status of {code}{name}"
        # The space before the line break is in real messages.
        reason = " Termination reason: Error. "
    lines = last_lines(log, QUOTED_LINES, replica.log_start)
    return (
        f"The replica {replica.name} {how}{' ' + why if why else ''}.{reason}\n"
        + "".join(f"{line}\n" for line in lines)
        + f"\nTo find out more about why your job exited please check the logs: {log}"
    )
