"""Find the job of a unit of work, or insert it: exactly one, even if processes die in between.

BigQuery lets the caller name a job, and refuses a second job of the same id (409). So a job's id
is a function of the work: PREFIX_KEY_1, then PREFIX_KEY_2 if the first one failed and may be
retried. An attempt gets these in turn, and inserts the first that does not exist. Of two attempts
that race, one gets its insert refused and adopts the other's job.

BigQuery keeps a job for 180 days (https://cloud.google.com/bigquery/docs/managing-jobs); older
work is recognized by its product, see `BigQueryJobOperator.product`.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from google.api_core import exceptions

from trellis import attempts
from trellis.bigquery.outcome import raise_unless_succeeded, verdict
from trellis.identity import same_round
from trellis.verdict import Verdict

# After this many failed jobs of one unit of work, retrying does not help.
MOST_JOBS = 50

JOB_TIMEOUT_MS = 6 * 3600 * 1000
"""jobTimeoutMs of a job that names no other: the 6 hours after which BigQuery itself ends a query
or a load. Here they also bound its time in the queue, scripts (24 hours) and extracts, so that no
task waits for ever. https://docs.cloud.google.com/bigquery/quotas#query_jobs
"""

_TITLE = "BigQuery job"
# A query is billed for 10 MB at least: https://cloud.google.com/bigquery/pricing#on_demand_pricing
_LEAST_BYTES = 10 * 2**20


class Work:
    """A unit of work, and the jobs that were inserted for it.

    hook: the provider's BigQueryHook. key: identifies the work; `prefix` makes the id readable.
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
        """Insert its job of this number, or get the existing one."""
        try:
            return self._hook.insert_job(
                configuration=configuration,
                job_id=self._id(number),
                nowait=True,
                **self._place,
            )
        except exceptions.Conflict:
            return self._hook.get_job(job_id=self._id(number), **self._place)

    def last_id(self) -> str | None:
        """The id of its newest job; None if it has none."""
        jobs = self.jobs()
        return str(jobs[-1].job_id) if jobs else None

    def _id(self, number: int) -> str:
        return f"{self._name}_{number}"


def within_plan(jobs: Sequence[Any], configuration: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the next job, with the time and bytes that those before have left of its
    limits.

    jobs: of the same work. Those of an earlier round do not count, nor those of other runs, which
    have limits of their own. Raises JobFailedForGood if nothing is left.
    """
    same = [job for job in jobs if same_round(job.labels, configuration["labels"])]
    if "jobTimeoutMs" in configuration:
        used = sum(
            (job.ended - job.started).total_seconds() for job in same if job.started and job.ended
        )
        allowed = float(configuration["jobTimeoutMs"]) / 1000
        least = min(attempts.LEAST_SECONDS, allowed / 2)
        seconds = attempts.left(allowed, used, least=least, unit="s", what=_TITLE)
        configuration = {**configuration, "jobTimeoutMs": f"{seconds * 1000:.0f}"}
    query = configuration.get("query", {})
    if "maximumBytesBilled" in query:
        billed = sum(getattr(job, "total_bytes_billed", None) or 0 for job in same)
        limit = float(query["maximumBytesBilled"])
        rest = attempts.left(limit, billed, least=_LEAST_BYTES, unit="bytes", what=_TITLE)
        query = {**query, "maximumBytesBilled": f"{rest:.0f}"}
        configuration = {**configuration, "query": query}
    return configuration


def find_or_insert(
    work: Work,
    configuration: dict[str, Any],
    is_there: Callable[[], bool],
    is_done: Callable[[], bool],
    log: Any,
) -> Any | None:
    """The job that does the work: adopted if it exists, else inserted. None: nothing to do.

    Adopts a job that waits or runs, or that succeeded and whose product still exists (`is_there`).
    A job that failed by its own fault in this round fails this attempt at once. Otherwise a job
    that BigQuery no longer lists may have done the work: `is_done` checks that.
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
    job = work.insert(len(jobs) + 1, within_plan(jobs, configuration))
    log.info("BigQuery job %s", job.job_id)
    return job
