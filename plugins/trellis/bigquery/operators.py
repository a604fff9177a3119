"""Run a BigQuery job from a DAG: exactly one per unit of work, deferred while it runs.

The provider's BigQueryInsertJobOperator derives the job id from DAG, task and date, and then either
reruns the job at every attempt (`force_rerun`) or fails if the job it finds is DONE: a task whose
worker died after the job succeeded, or that is cleared, cannot continue. Here it adopts the job.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from airflow.providers.google.cloud.hooks.gcs import GCSHook
from airflow.providers.google.cloud.links.bigquery import BigQueryJobDetailLink
from airflow.providers.google.cloud.operators.cloud_base import GoogleCloudBaseOperator
from airflow.sdk.exceptions import AirflowSkipException
from google.api_core import exceptions

from trellis import console
from trellis.bigquery.outcome import (
    BigQueryJobFailed,
    BigQueryJobFailedForGood,
    may_pass,
    raise_unless_succeeded,
)
from trellis.bigquery.submission import Work, find_or_insert
from trellis.bigquery.triggers import BigQueryJobTrigger
from trellis.identity import KEY_LABEL, job_labels
from trellis.waiting import in_task


class BigQueryJobOperator(GoogleCloudBaseOperator):
    """Run one BigQuery job and wait for it, deferred. Returns {"job", "console"}.

    :param configuration: the job's configuration as in BigQuery's REST API (templated), a query,
        load, copy or extract; None skips the task.
    :param key: identifies the work, letters, digits, - and _ (templated). Tasks of the same key
        share one job, so runs with the same work do it once. Default: the task's own key.
    :param product: what the job writes: `project.dataset.table` or gs://bucket/object (templated).
        If it is gone, a job that succeeded is run again. Default: a job's success is enough.
    :param unless: a table or object as `product` (templated): the task is skipped if it exists
        although no job of this key wrote it.
    :param generation: raise it to run a new job where the task would adopt the one it has.
    :param poll_interval: longest time between two polls of the job, in seconds.

    Raises BigQueryJobFailed (retried) or BigQueryJobFailedForGood (not): see `bigquery.outcome`.
    """

    template_fields: Sequence[str] = (
        "configuration",
        "project_id",
        "location",
        "key",
        "product",
        "unless",
        "gcp_conn_id",
        "impersonation_chain",
    )
    template_fields_renderers = {"configuration": "json"}  # noqa: RUF012
    operator_extra_links = (BigQueryJobDetailLink(),)

    def __init__(
        self,
        *,
        configuration: Any,
        project_id: str,
        location: str,
        key: str | None = None,
        product: str | None = None,
        unless: str | None = None,
        generation: int = 1,
        gcp_conn_id: str = "google_cloud_default",
        impersonation_chain: str | Sequence[str] | None = None,
        poll_interval: float = 10,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.configuration = configuration
        self.project_id = project_id
        self.location = location
        self.key = key
        self.product = product
        self.unless = unless
        self.generation = generation
        self.gcp_conn_id = gcp_conn_id
        self.impersonation_chain = impersonation_chain
        self.poll_interval = poll_interval
        self._job_id: str | None = None

    def execute(self, context: Any) -> Any:
        configuration = self._configuration(context)
        if configuration is None:
            raise AirflowSkipException("This run does not need it.")
        labels = job_labels(context["ti"], self.generation)
        configuration = {
            **configuration,
            "labels": {**configuration.get("labels", {}), **labels},
        }
        work = Work(
            self._hook,
            self.project_id,
            self.location,
            prefix=f"{self.dag_id}_{self.task_id}",
            key=self.key or labels[KEY_LABEL],
        )
        try:
            job = find_or_insert(
                work,
                configuration,
                lambda: self.product is None or self._exists(self.product),
                lambda: self.unless is not None and self._exists(self.unless),
                self.log,
            )
        except exceptions.GoogleAPICallError as error:
            if may_pass(error):
                raise BigQueryJobFailed(f"BigQuery accepted no job: {error}") from error
            raise BigQueryJobFailedForGood(f"BigQuery refuses this job: {error}") from error
        if job is None:
            raise AirflowSkipException(f"{self.unless} already exists: nothing to do.")
        self._job_id = job.job_id
        self.log.info("Console: %s", console.bigquery(job.project, job.location, job.job_id))
        BigQueryJobDetailLink.persist(
            context=context,
            project_id=self.project_id,
            location=self.location,
            job_id=job.job_id,
        )
        ended = job if job.state == "DONE" else in_task(lambda: self._ended(job.job_id))
        if ended is not None:
            return self._finish(context, ended)
        self.defer(
            trigger=BigQueryJobTrigger(
                project_id=self.project_id,
                location=self.location,
                job_id=job.job_id,
                poll_interval=self.poll_interval,
                gcp_conn_id=self.gcp_conn_id,
                impersonation_chain=self.impersonation_chain,
            ),
            method_name="execute_complete",
        )

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        if not event["found"]:
            raise BigQueryJobFailedForGood(
                f"The BigQuery job {event['job_id']} is gone: someone deleted it while this task "
                "waited for it. Clear this task to run a new one."
            )
        job = self._hook.get_job(
            job_id=event["job_id"], project_id=self.project_id, location=self.location
        )
        return self._finish(context, job)

    def on_kill(self) -> None:
        """Cancel the job that this process inserted or adopted."""
        if self._job_id is not None:
            self.log.info("The task was killed: cancelling its BigQuery job %s", self._job_id)
            client = self._hook.get_client(project_id=self.project_id, location=self.location)
            client.cancel_job(self._job_id)

    def _configuration(self, context: Any) -> dict[str, Any] | None:
        """The job's configuration, templates rendered."""
        return self.configuration

    def _result(self, context: Any, job: Any) -> Any:
        """What the task returns for a job that succeeded."""
        return {
            "job": job.job_id,
            "console": console.bigquery(job.project, job.location, job.job_id),
        }

    def _ended(self, job_id: str) -> Any | None:
        """The job, if it has ended."""
        job = self._hook.get_job(job_id=job_id, project_id=self.project_id, location=self.location)
        return job if job.state == "DONE" else None

    def _finish(self, context: Any, job: Any) -> Any:
        raise_unless_succeeded(job, job_labels(context["ti"], self.generation))
        return self._result(context, job)

    def _exists(self, address: str) -> bool:
        """Whether the table or the object exists."""
        if address.startswith("gs://"):
            bucket, _, name = address.removeprefix("gs://").partition("/")
            hook = GCSHook(
                gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain
            )
            return hook.exists(bucket_name=bucket, object_name=name)
        project, dataset, table = address.split(".")
        return self._hook.table_exists(project_id=project, dataset_id=dataset, table_id=table)

    @cached_property
    def _hook(self) -> BigQueryHook:
        return BigQueryHook(
            gcp_conn_id=self.gcp_conn_id,
            impersonation_chain=self.impersonation_chain,
            use_legacy_sql=False,
            location=self.location,
        )
