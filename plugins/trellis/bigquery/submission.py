"""Find the job of a piece of work, or insert it: exactly one, whatever dies in between.

BigQuery lets the caller name a job, and refuses a second job of one name (409). So a job's id is a
function of the work: PREFIX_KEY_1, and PREFIX_KEY_2 when the first one failed and may be tried
again. An attempt asks for these in turn, and inserts the first that is not there. Two attempts that
race for it get one job: the loser's insert is refused, and it adopts the winner's.

BigQuery keeps a job for 180 days (https://cloud.google.com/bigquery/docs/managing-jobs); work that
is older is known by what it left, see `BigQueryJobOperator.product`.
"""

import re
from collections.abc import Callable
from typing import Any

from google.api_core import exceptions

from bigquery.outcome import Verdict, raise_unless_succeeded, verdict

# Beyond this many failed jobs of one piece of work something is wrong that no repetition mends.
MOST_JOBS = 50


class Work:
    """A piece of work, and the jobs that were inserted for it.

    hook: the provider's BigQueryHook. key: identifies the work; `prefix` is for people.
    """

    def __init__(self, hook: Any, project_id: str, location: str, prefix: str, key: str):
        self._hook = hook
        self._place = {"project_id": project_id, "location": location}
        self._name = f"{re.sub(r'[^A-Za-z0-9_-]+', '-', prefix)[:200]}_{key}"

    def jobs(self) -> list[Any]:
        """All its jobs, oldest first. Raises google.api_core.exceptions."""
        found: list[Any] = []
        while len(found) < MOST_JOBS:
            try:
                found.append(self._hook.get_job(job_id=self._id(len(found) + 1), **self._place))
            except exceptions.NotFound:
                return found
        raise RuntimeError(f"{self._name} has failed {MOST_JOBS} times")

    def insert(self, number: int, configuration: dict[str, Any]) -> Any:
        """Insert its job of this number, or get the one that is there already."""
        try:
            return self._hook.insert_job(
                configuration=configuration,
                job_id=self._id(number),
                nowait=True,
                **self._place,
            )
        except exceptions.Conflict:
            return self._hook.get_job(job_id=self._id(number), **self._place)

    def _id(self, number: int) -> str:
        return f"{self._name}_{number}"


def find_or_insert(
    work: Work,
    configuration: dict[str, Any],
    is_there: Callable[[], bool],
    is_done: Callable[[], bool],
    log: Any,
) -> Any | None:
    """The job that does the work: adopted if it is there, else inserted. None: nothing to do.

    Adopted is a job that waits or runs, or that succeeded while its product `is_there` still. One
    that failed by its own fault in this round fails this attempt at once. Otherwise the work may
    have been done by a job that BigQuery has forgotten: then `is_done` says so.
    """
    jobs = work.jobs()
    if jobs:
        last, labels = jobs[-1], configuration["labels"]
        ruling = verdict(last, labels)
        if ruling is Verdict.WAIT or (ruling is Verdict.SUCCESS and is_there()):
            log.info("This work already has BigQuery job %s: adopting it", last.job_id)
            return last
        if ruling is Verdict.GIVE_UP:
            raise_unless_succeeded(last, labels)
    if is_done():
        return None
    job = work.insert(len(jobs) + 1, configuration)
    log.info("BigQuery job %s", job.job_id)
    return job
