"""Run a BigQuery job from a DAG: exactly one per unit of work, deferred while it runs.

The provider's BigQueryInsertJobOperator names a job by DAG, task and date, and then either reruns
it at every attempt (`force_rerun`) or fails if the job it finds is DONE: a task whose worker died
after the job succeeded, or that is cleared, cannot continue. Its task state store (`durable`)
serves tasks that do not defer. Here the task adopts the job; the rest is the provider's: links,
lineage, cancellation.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from airflow.exceptions import AirflowProviderDeprecationWarning
from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from airflow.providers.google.cloud.hooks.gcs import GCSHook
from airflow.providers.google.cloud.operators.bigquery import BigQueryInsertJobOperator
from airflow.sdk.exceptions import AirflowSkipException
from google.api_core import exceptions

from trellis import console
from trellis.bigquery.outcome import may_pass, raise_unless_succeeded
from trellis.bigquery.submission import JOB_TIMEOUT_MS, Work, find_or_insert
from trellis.bigquery.triggers import BigQueryJobTrigger
from trellis.identity import KEY_LABEL, job_labels
from trellis.verdict import JobFailed, JobFailedForGood
from trellis.waiting import in_task


class BigQueryJobOperator(BigQueryInsertJobOperator):
    """Run one BigQuery job and wait for it, deferred. Returns {"job", "console"}.

    Parameters beyond the provider's:

    :param configuration: as the provider's (templated); None skips the task. Without a
        jobTimeoutMs it gets JOB_TIMEOUT_MS.
    :param key: identifies the work, letters, digits, - and _ (templated). Tasks of the same key
        share one job, so runs with the same work do it once. Default: the task's own key.
    :param product: what the job writes: `project.dataset.table` or gs://bucket/object (templated).
        If it is gone, a job that succeeded is run again. Default: a job's success is enough.
    :param unless: a table or object as `product` (templated): the task is skipped if it exists
        although no job of this key wrote it.
    :param generation: raise it to run a new job where the task would adopt the one it has.

    Raises JobFailed (retried) or JobFailedForGood (not): see `bigquery.outcome`.
    """

    custom_operator_name = BigQueryInsertJobOperator.__name__
    template_fields: Sequence[str] = (
        *BigQueryInsertJobOperator.template_fields,
        "key",
        "product",
        "unless",
    )
    # An address that ends in .json is no template's.
    template_ext: Sequence[str] = ()

    def __init__(
        self,
        *,
        key: str | None = None,
        product: str | None = None,
        unless: str | None = None,
        generation: int = 1,
        poll_interval: float = 10,
        **kwargs: Any,
    ):
        super().__init__(deferrable=True, poll_interval=poll_interval, **kwargs)
        self.key = key
        self.product = product
        self.unless = unless
        self.generation = generation

    def execute(self, context: Any) -> Any:
        if self.configuration is None:
            raise AirflowSkipException("This run does not need it.")
        self._labels = job_labels(context["ti"], self.generation)
        super().execute(context)
        return self._result(context, self._job)

    def submit_job(self, context: Any) -> str:
        """Find the work's job or insert it, and give it some seconds to end: the job's id."""
        self.hook = self._new_hook()
        labels = {**self.configuration.get("labels", {}), **self._labels}
        timeout = {"jobTimeoutMs": str(JOB_TIMEOUT_MS)}
        self.configuration = {**timeout, **self.configuration, "labels": labels}
        try:
            job = find_or_insert(
                self._work(),
                self.configuration,
                lambda: self.product is None or self._exists(self.product),
                lambda: self.unless is not None and self._exists(self.unless),
                self.log,
            )
        except exceptions.GoogleAPICallError as error:
            if may_pass(error):
                raise JobFailed(f"BigQuery accepted no job: {error}") from error
            raise JobFailedForGood(f"BigQuery refuses this job: {error}") from error
        if job is None:
            raise AirflowSkipException(f"{self.unless} already exists: nothing to do.")
        self.log.info("Console: %s", console.bigquery(job.project, job.location, job.job_id))
        with (
            warnings.catch_warnings()
        ):  # of an XCom that the provider pushes, and will not for long
            warnings.simplefilter("ignore", AirflowProviderDeprecationWarning)
            self._persist_job_links(job, context)
        self._job = job if job.state == "DONE" else in_task(self._ended) or job
        return str(job.job_id)

    def defer(self, *, trigger: Any, **arguments: Any) -> NoReturn:
        """Wait as `BigQueryJobTrigger` does, for what the provider's trigger would wait for."""
        super().defer(trigger=BigQueryJobTrigger(**trigger.serialize()[1]), **arguments)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        if not event["found"]:
            raise JobFailedForGood(
                f"The BigQuery job {event['job_id']} is gone: someone deleted it while this task "
                "waited for it. Clear this task to run a new one."
            )
        self._labels = job_labels(context["ti"], self.generation)
        self.job_id = event["job_id"]
        self.hook = self._new_hook()
        job = self._get_job()
        self._handle_job_error(job)
        return self._result(context, job)

    def on_kill(self) -> None:
        """Cancel the job, even if the task was killed while inserting it."""
        if self.hook is not None and self.job_id is None:
            self.job_id = self._work().last_id()
        super().on_kill()

    def _result(self, context: Any, job: Any) -> Any:
        """Return value of the task for a job that succeeded."""
        return {
            "job": job.job_id,
            "console": console.bigquery(job.project, job.location, job.job_id),
        }

    def _work(self) -> Work:
        assert self.location is not None
        return Work(
            self.hook,
            self.project_id,
            self.location,
            prefix=f"{self.dag_id}_{self.task_id}",
            key=self.key or self._labels[KEY_LABEL],
        )

    def _ended(self) -> Any | None:
        """The job, if it has ended."""
        job = self._get_job()
        return job if job.state == "DONE" else None

    def _get_job(self) -> Any:
        assert self.hook is not None
        assert self.job_id is not None
        place = {"project_id": self.project_id, "location": self.location}
        return self.hook.get_job(job_id=self.job_id, **place)

    def _handle_job_error(self, job: Any) -> None:
        raise_unless_succeeded(job, self._labels)

    def _exists(self, address: str) -> bool:
        """Return whether the table or the object exists."""
        if address.startswith("gs://"):
            bucket, _, name = address.removeprefix("gs://").partition("/")
            hook = GCSHook(
                gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain
            )
            return hook.exists(bucket_name=bucket, object_name=name)
        assert self.hook is not None
        project, dataset, table = address.split(".")
        return self.hook.table_exists(project_id=project, dataset_id=dataset, table_id=table)

    def _new_hook(self) -> BigQueryHook:
        return BigQueryHook(
            gcp_conn_id=self.gcp_conn_id,
            impersonation_chain=self.impersonation_chain,
            use_legacy_sql=False,
            location=self.location,
        )
