"""The status document as lines for a terminal, and a job's logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local_gcp.daemon import DaemonError


def status_lines(status: dict[str, Any]) -> Iterator[str]:
    """One line for the server, one for each job, trial and replica."""
    yield f"project {status['project']}  home {status['home']}"
    yield "  ".join(f"{name} {url}" for name, url in status["endpoints"].items())
    if not status["jobs"]:
        yield "no jobs"
    for job in status["jobs"]:
        yield f"{job['state']:<22} {job['kind']:<8} {job['display_name']}  {job['name']}"
        if job.get("error"):
            yield f"    {job['error']}"
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


def job_logs(status: dict[str, Any], wanted: str) -> Iterator[str]:
    """Lines of all replicas of the job `wanted`, each with its replica in front.

    DaemonError when no job, or more than one, has that name.
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
    sources = [("", jobs[0].get("replicas") or [])]
    sources += [(f"trial {t['id']} ", t.get("replicas") or []) for t in jobs[0].get("trials") or []]
    for prefix, replicas in sources:
        for replica in replicas:
            who = f"{prefix}{replica['type']}:{replica['index']}"
            path = Path(replica["log"])
            if path.exists():
                with path.open(errors="replace") as lines:
                    yield from (f"{who} | {line.rstrip()}" for line in lines)


def _replica(replica: dict[str, Any]) -> str:
    attempt = f" attempt {replica['attempt']}" if replica.get("attempt", 1) > 1 else ""
    who = f"{replica['type']}:{replica['index']}"
    return f"{who:<10} {replica['state']}{attempt}  {replica.get('last_line') or ''}"
