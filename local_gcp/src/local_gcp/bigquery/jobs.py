"""Runs jobs in a bounded pool of threads, each exactly once, also after a kill.

A job is stored as PENDING before its caller gets a response; then one transaction has both its
changes and its state DONE. After a kill, jobs that are not DONE have changed nothing, and run
again; but a script with a committed statement, and a job that has been restarted before, end with
an error instead.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import duckdb

from .catalog import Catalog, etag, now_ms
from .database import Database
from .errors import BigQueryError, already_exists, not_found
from .failures import as_bigquery_error
from .job_store import JobStore
from .locks import TableLocks
from .refs import DatasetRef, TableRef

log = logging.getLogger(__name__)

WORKERS = 8
"""Jobs that run concurrently; the others wait as PENDING."""

_MOST_ATTEMPTS = 2
_INTERRUPT_SECONDS = 0.05


class Job:
    """An unfinished job. `resource`: its REST resource, complete when `done` is."""

    def __init__(self, resource: dict[str, Any], attempt: int = 1, parent: Job | None = None):
        self.resource, self.attempt, self.parent = resource, attempt, parent
        self.done: Future[None] = Future()
        self.cancelled = parent.cancelled if parent else threading.Event()
        self.cursor: duckdb.DuckDBPyConnection = parent.cursor if parent else None  # type: ignore
        self.why_cancelled = "User requested cancellation"
        self._locks = contextlib.ExitStack()
        self._after: dict[bool, list[Callable[[], None]]] = {True: [], False: []}

    @property
    def id(self) -> str:
        return self.resource["jobReference"]["jobId"]

    @property
    def project(self) -> str:
        return self.resource["jobReference"]["projectId"]

    @property
    def location(self) -> str | None:
        """The job's location; None for the work of a request, which is not bound to one."""
        return self.resource["jobReference"].get("location")

    @property
    def configuration(self) -> dict[str, Any]:
        """REST JobConfiguration."""
        return self.resource["configuration"]

    @property
    def catalog(self) -> Catalog:
        """The catalog of the job's location, in its transaction."""
        return Catalog(self.cursor, self.location)

    def amend(self, **parts: dict[str, Any]) -> None:
        """Merge into `status`, `statistics` or `configuration`, atomically for readers."""
        merged = {name: {**self.resource.get(name, {}), **part} for name, part in parts.items()}
        self.resource = {**self.resource, **merged}

    def check(self) -> None:
        """Raise BigQueryError(stopped) once the job has been cancelled."""
        if self.cancelled.is_set():
            top = self.parent or self
            raise BigQueryError("stopped", f"Job execution was cancelled: {top.why_cancelled}")

    def begin(self, locks: TableLocks, targets: Iterable[TableRef | DatasetRef] = ()) -> None:
        """Lock what the job will change until it is done, and begin its transaction."""
        self._locks.enter_context(locks.hold(targets, self.check))
        self.cursor.execute("BEGIN")

    def execute(self, sql: str, values: Any = None) -> duckdb.DuckDBPyConnection:
        """Run one DuckDB statement in the job's transaction, unless the job was cancelled."""
        self.check()
        return self.cursor.execute(sql, values)

    def on_commit(self, action: Callable[[], None]) -> None:
        """Call `action` after the commit; it removes files that are no longer used."""
        self._after[True].append(action)

    def on_rollback(self, action: Callable[[], None]) -> None:
        """Call `action` after a rollback."""
        self._after[False].append(action)

    def end(self, committed: bool = False) -> None:
        """Release the locks, and call the actions for this end."""
        self._locks.close()
        for action in self._after[committed]:
            action()


Work = Callable[[Job], dict[str, Any]]
"""Runs a job: calls `job.begin`, makes its changes, and returns REST JobStatistics to merge."""


class JobRunner:
    """Runs, finds, cancels and recovers jobs. `work`: by the configuration's key."""

    def __init__(self, database: Database, work: dict[str, Work]):
        self._database, self._work = database, work
        self._guard = threading.Lock()
        self._active: dict[tuple[str, str], Job] = {}
        self._stopping = False

    def start(self) -> None:
        """Recover the jobs that a kill interrupted, and start threads."""
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="bigquery")
        with self._database.cursor() as cursor:
            unfinished = JobStore(cursor).unfinished()
        for resource, attempt in unfinished:
            self._recover(Job(resource, attempt))

    def stop(self) -> None:
        """Interrupt running jobs. Their records stay, and they run again at the next start."""
        self._stopping = True
        with self._guard:
            active = list(self._active.values())
        for job in active:
            self._interrupt(job, "local_gcp stops")
        self._pool.shutdown(cancel_futures=True)

    def submit(self, resource: dict[str, Any]) -> Job:
        """Store and start a job. Raises BigQueryError(duplicate) if its id was used before."""
        job = Job(resource)
        key = job.project, job.id
        with self._guard:
            if key in self._active:
                raise already_exists("Job", job_name(resource))
            self._active[key] = job
        try:
            with self._database.cursor() as cursor:
                store = JobStore(cursor)
                if store.find(*key) is not None:
                    raise already_exists("Job", job_name(resource))
                store.insert(resource)
        except BaseException:
            self._forget(job)
            raise
        self._pool.submit(self._run, job)
        return job

    def active(self, project: str, job: str) -> Job | None:
        """The job, unless it is done."""
        with self._guard:
            return self._active.get((project, job))

    def find(self, project: str, job: str, location: str | None = None) -> dict[str, Any]:
        """REST Job; raises BigQueryError(notFound). `location`: the job's; None is any."""
        running = self.active(project, job)
        if running:
            resource = copy.deepcopy(running.resource)
        else:
            with self._database.cursor() as cursor:
                resource = JobStore(cursor).find(project, job)
        there = location or (resource or {}).get("jobReference", {}).get("location")
        if resource is None or there.lower() != resource["jobReference"]["location"].lower():
            name = f"{project}:{location}.{job}" if location else f"{project}:{job}"
            raise not_found("Job", name)
        return resource

    def cancel(self, project: str, job: str) -> None:
        """Interrupt the job unless it is done."""
        running = self.active(project, job)
        if running:
            self._interrupt(running, "User requested cancellation")

    def run_child(self, parent: Job, resource: dict[str, Any], work: Work) -> dict[str, Any]:
        """Run one statement of a script, in the parent's thread. Returns its REST Job.

        Its record is stored with its changes. If it fails, the error is stored too, and raised.
        """
        child = Job(resource, parent=parent)
        error = self._perform(child, work, insert=True)
        if error:
            raise error
        return child.resource

    def _recover(self, job: Job) -> None:
        with self._database.cursor() as cursor:
            store = JobStore(cursor)
            begun = bool(store.list(job.project, job.id, (None, None), None, 1))
            job.attempt += 1
            store.update(job.resource, job.attempt)
        if begun or job.attempt > _MOST_ATTEMPTS:
            why = "after some of its statements were done" if begun else "twice"
            error = BigQueryError(
                "backendError",
                f"local_gcp ended {why} while this job was running. Retry it with a new job ID.",
            )
            with self._database.cursor() as cursor:
                self._fail(job, error, False, cursor)
            log.warning("Job %s was interrupted %s: reported as failed.", job.id, why)
            return
        log.info("Job %s was interrupted: it runs again.", job.id)
        self._active[job.project, job.id] = job
        self._pool.submit(self._run, job)

    def _run(self, job: Job) -> None:
        limit = job.configuration.get("jobTimeoutMs")
        reason = f"Job timed out after {limit} ms"
        timer = threading.Timer(int(limit or 0) / 1000, self._interrupt, [job, reason])
        if limit:
            timer.start()
        try:
            with self._database.cursor() as cursor:
                job.cursor = cursor
                (kind,) = set(job.configuration) & set(self._work)
                self._perform(job, self._work[kind], insert=False)
        except Exception:
            log.exception("Job %s was lost", job.id)
        finally:
            timer.cancel()
            self._forget(job)
            if not job.done.done():
                job.done.set_result(None)

    def _perform(self, job: Job, work: Work, insert: bool) -> BigQueryError | None:
        committed = False
        job.amend(status={"state": "RUNNING"}, statistics={"startTime": str(now_ms())})
        try:
            job.check()
            job.amend(statistics=work(job))
            job.check()
            finished = self._save_finished(job, {}, insert, job.cursor)
            job.cursor.execute("COMMIT")
            committed = True
            job.resource = finished
            log.info("Job %s is done.", job.id)
            return None
        except Exception as error:
            problem = as_bigquery_error(error, (job.parent or job).why_cancelled)
            with contextlib.suppress(duckdb.Error):
                job.cursor.execute("ROLLBACK")
            if not self._stopping:
                with self._database.cursor() as cursor:  # the job's cursor may be in any state
                    self._fail(job, problem, insert, cursor)
            return problem
        finally:
            job.end(committed)

    def _fail(
        self,
        job: Job,
        error: BigQueryError,
        insert: bool,
        cursor: duckdb.DuckDBPyConnection,
    ) -> None:
        log.info("Job %s failed: %s: %s", job.id, error.reason, error)
        errors = getattr(error, "errors", None) or [error.proto]
        finished = {"errorResult": error.proto, "errors": errors}
        job.resource = self._save_finished(job, finished, insert, cursor)

    def _save_finished(
        self,
        job: Job,
        errors: dict[str, Any],
        insert: bool,
        cursor: duckdb.DuckDBPyConnection,
    ) -> dict[str, Any]:
        """Store the resource in the cursor's transaction, in its state after the commit."""
        now = str(now_ms())
        statistics = {"startTime": now, **job.resource["statistics"], "endTime": now}
        status = {**job.resource["status"], **errors, "state": "DONE"}
        resource = {**job.resource, "statistics": statistics, "status": status}
        resource["etag"] = etag(resource)
        store = JobStore(cursor)
        (store.insert if insert else store.update)(resource, job.attempt)
        return resource

    def _interrupt(self, job: Job, reason: str) -> None:
        """Set the job's flag, and interrupt its statements until it ends."""
        job.why_cancelled = reason
        job.cancelled.set()

        def repeat() -> None:
            # DuckDB ignores an interrupt between two statements.
            while not job.done.done():
                if job.cursor is not None:
                    with contextlib.suppress(duckdb.Error):
                        job.cursor.interrupt()
                wait([job.done], _INTERRUPT_SECONDS)

        threading.Thread(target=repeat, daemon=True, name=f"cancel {job.id}").start()

    def _forget(self, job: Job) -> None:
        with self._guard:
            self._active.pop((job.project, job.id), None)


def job_name(resource: dict[str, Any]) -> str:
    """PROJECT:LOCATION.JOB, as BigQuery's messages name a job."""
    reference = resource["jobReference"]
    return f"{reference['projectId']}:{reference['location']}.{reference['jobId']}"
