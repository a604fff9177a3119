"""Dataflow jobs by name, and what they cost. They are listed by their name, not by their labels.

A job's labels have the machines that it was launched with, as Dataflow does not tell them of a job
that ended before its workers started.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from airflow.providers.google.cloud.hooks.dataflow import DataflowHook

from trellis.identity import label_value, task_key

LIMIT = "max_workflow_runtime_walltime_seconds"
"""Experiment of a launch, after which Dataflow itself ends a job."""

MACHINE_LABEL, WORKERS_LABEL = "dataflow-machine", "dataflow-workers"
"""Labels of a job: machine type of its workers, and the most that there may be."""

PerHour = Callable[[str, int, str], float]
"""Price of an hour of a job in US dollars, by machine type, number of workers and region."""

_DONE = "JOB_STATE_DONE"
_ENDED = frozenset(f"JOB_STATE_{s}" for s in ("FAILED", "CANCELLED", "DRAINED", "UPDATED"))
_ENDING = frozenset(("JOB_STATE_CANCELLING", "JOB_STATE_DRAINING"))


def job_name(prefix: str, *, dag: str, run: str, task: str, copy: int, generation: int) -> str:
    """The name of a task's jobs, one for each launch: prefix, and the task's key.

    copy: the task's map index.
    """
    key = task_key(dag, run, task, copy, generation)
    return f"{label_value(prefix).replace('_', '-')}-{key[:16]}"


def named(hook: DataflowHook, project: str, location: str, name: str) -> list[dict[str, Any]]:
    """All jobs of this name, as Dataflow's REST API describes them."""
    jobs = hook.get_conn().projects().locations().jobs()
    request = jobs.list(projectId=project, location=location, name=name, filter="ALL")
    found = []
    while request is not None:
        answer = request.execute(num_retries=hook.num_retries)
        found += [job for job in answer.get("jobs", []) if job["name"] == name]
        request = jobs.list_next(request, answer)
    return found


def is_done(job: dict[str, Any]) -> bool:
    """Return whether the job has succeeded."""
    return job["currentState"] == _DONE


def is_active(job: dict[str, Any]) -> bool:
    """Return whether the job goes on, and nobody has asked for its end."""
    return job["currentState"] not in {_DONE, *_ENDED, *_ENDING}


def hours_worked(job: dict[str, Any]) -> float:
    """Hours from the job's creation to its end; none if it has not ended."""
    if job["currentState"] not in {_DONE, *_ENDED}:
        return 0.0
    created, ended = (datetime.fromisoformat(job[n]) for n in ("createTime", "currentStateTime"))
    return (ended - created).total_seconds() / 3600


def machines(environment: dict[str, Any]) -> dict[str, str]:
    """Labels with the machines of a launch. environment: of a launch request, which names them."""
    return {
        MACHINE_LABEL: environment["machineType"],
        WORKERS_LABEL: str(environment["maxWorkers"]),
    }


def price(labels: dict[str, str], region: str, per_hour: PerHour) -> float:
    """US dollars an hour of a job with these labels and all its workers."""
    return per_hour(labels[MACHINE_LABEL], int(labels[WORKERS_LABEL]), region)


def usd(job: dict[str, Any], region: str, per_hour: PerHour) -> float:
    """US dollars of a job, as `whole` gives it, with all its workers; none if it has not ended."""
    worked = hours_worked(job)
    return worked * price(job["labels"], region, per_hour) if worked else 0.0


def whole(
    hook: DataflowHook, project: str, location: str, found: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the same jobs with their labels. found: as `named` gives them, which are summaries."""
    jobs = hook.get_conn().projects().locations().jobs()
    place = {"projectId": project, "location": location, "view": "JOB_VIEW_DESCRIPTION"}
    requests = [jobs.get(**place, jobId=job["id"]) for job in found]
    return [request.execute(num_retries=hook.num_retries) for request in requests]
