"""The status document as lines for a terminal, and a job's logs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from local_gcp import chaos_command as chaos
from local_gcp.daemon import DaemonError

_ENDED = {f"JOB_STATE_{state}" for state in ("SUCCEEDED", "FAILED", "CANCELLED", "DONE")}


def status_lines(status: dict[str, Any]) -> Iterator[str]:
    """One line for the server, one for each job, trial and replica."""
    yield f"project {status['project']}  home {status['home']}"
    yield "  ".join(f"{name} {url}" for name, url in status["endpoints"].items())
    if status["variants"]:
        yield f"variants  {status['variants']}"
    yield from chaos.lines(status["storm"])
    if not status["jobs"]:
        yield "no jobs"
    for job in status["jobs"]:
        yield f"{job['state']:<22} {job['kind']:<8} {job['display_name']}  {job['name']}"
        for count in ("preemptions", "job_restarts"):
            if job.get(count):
                yield f"    {count.replace('_', ' ')}: {job[count]}"
        for line in (job.get("error") or "").splitlines():
            yield f"    {line}"
        for replica in job.get("replicas") or []:
            yield "    " + _replica(replica)
        for trial in job.get("trials") or []:
            parameters = " ".join(
                f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}"
                for k, v in trial["parameters"].items()
            )
            last = " ".join(
                f"{k}={v[-1][1]:.4g} at {v[-1][0]}" for k, v in trial["metrics"].items() if v
            )
            yield f"    trial {trial['id']:>3} {trial['state']:<10} {parameters}  {last}"
            for replica in trial.get("replicas") or []:
                yield "      " + _replica(replica)


def find_job(status: dict[str, Any], wanted: str) -> dict[str, Any]:
    """The job with this resource name, id, or display name.

    Raises DaemonError if no job, or more than one, has that name.
    """
    jobs = [
        job
        for job in status["jobs"]
        if wanted in (job["name"], job["name"].rsplit("/", 1)[-1], job["display_name"])
    ]
    if len(jobs) != 1:
        names = [job["name"] for job in jobs or status["jobs"]]
        problem = "More than one job is called" if jobs else "There is no job"
        raise DaemonError(f"{problem} {wanted!r}. Jobs: {', '.join(names) or 'none'}.")
    return jobs[0]


def log_files(job: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """(replica, log file) of each replica of the job or its trials."""
    sources = [("", job.get("replicas") or [])]
    sources += [(f"trial {t['id']} ", t.get("replicas") or []) for t in job.get("trials") or []]
    for prefix, replicas in sources:
        for replica in replicas:
            yield f"{prefix}{replica['type']}:{replica['index']}", Path(replica["log"])


def job_logs(status: dict[str, Any], wanted: str) -> Iterator[str]:
    """Lines of all replicas of the job `wanted`, each prefixed with its replica."""
    for who, path in log_files(find_job(status, wanted)):
        if path.exists():
            with path.open(errors="replace") as lines:
                yield from (f"{who} | {line.rstrip()}" for line in lines)


def follow_logs(status: Callable[[], dict[str, Any]], wanted: str) -> Iterator[str]:
    """The lines, then each new line as it is written, until the job has ended.

    `status()` is asked once a second: trials and replicas appear while a job runs.
    """
    name = find_job(status(), wanted)["name"]
    read: dict[Path, int] = {}
    while True:
        job = find_job(status(), name)  # check for the end before the last lines are read
        for who, path in log_files(job):
            lines = _whole_lines(path, read.get(path, 0))
            read[path] = read.get(path, 0) + len(lines)
            for line in lines.decode(errors="replace").splitlines():
                yield f"{who} | {line.rstrip()}"
        if job["state"] in _ENDED:
            return
        time.sleep(1)


def _whole_lines(path: Path, start: int) -> bytes:
    """The file's content after byte `start`, without an unfinished line."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            text, newline, _ = file.read().rpartition(b"\n")
            return text + newline
    except FileNotFoundError:
        return b""


def _replica(replica: dict[str, Any]) -> str:
    attempt = f" attempt {replica['attempt']}" if replica.get("attempt", 1) > 1 else ""
    who = f"{replica['type']}:{replica['index']}"
    return f"{who:<10} {replica['state']}{attempt}  {replica.get('last_line') or ''}"
