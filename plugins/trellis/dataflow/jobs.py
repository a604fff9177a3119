"""Dataflow jobs by name. Dataflow lists jobs by their name, not by their labels."""

from datetime import datetime
from typing import Any

from airflow.providers.google.cloud.hooks.dataflow import DataflowHook

from trellis.identity import ROUND_LABEL, label_value, task_key

LIMIT = "max_workflow_runtime_walltime_seconds"
"""Experiment of a launch, after which Dataflow itself ends a job."""

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


def seconds_used(
    hook: DataflowHook, project: str, location: str, found: list[dict[str, Any]], round_: str
) -> float:
    """Seconds that those of a task's jobs have worked that were launched in this round.

    found: as `named` gives them, which are summaries: Dataflow tells a job's labels one by one.
    """
    jobs = hook.get_conn().projects().locations().jobs()
    used = 0.0
    for job in found:
        place = {"projectId": project, "location": location, "jobId": job["id"]}
        request = jobs.get(**place, view="JOB_VIEW_DESCRIPTION")
        whole = request.execute(num_retries=hook.num_retries)
        if whole.get("labels", {}).get(ROUND_LABEL) == round_:
            used += 3600 * hours_worked(job)
    return used
