"""Run a Dataflow flex template whose result is a folder in Cloud Storage with a commit mark."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from airflow.providers.google.cloud.hooks.gcs import GCSHook
from airflow.providers.google.cloud.links.dataflow import DataflowJobLink
from airflow.providers.google.cloud.operators.dataflow import DataflowStartFlexTemplateOperator
from airflow.sdk.exceptions import AirflowSkipException
from google.cloud.dataflow_v1beta3 import JobState
from googleapiclient.errors import HttpError

from trellis import attempts, console
from trellis.dataflow import jobs
from trellis.dataflow.triggers import FINISHED, FlexTemplateTrigger
from trellis.identity import ROUND_LABEL, job_labels
from trellis.lineage import Traced
from trellis.verdict import JobFailedForGood, Verdict, conclude
from trellis.waiting import in_task

# Phrases of Dataflow's errors that may be transient.
_PASSING = re.compile("RESOURCE_POOL_EXHAUSTED|RESOURCE_EXHAUSTED|QUOTA|[Ii]nternal error")
_LAST_MESSAGES = 10


class FlexTemplateOperator(Traced, DataflowStartFlexTemplateOperator):
    """Launch a flex template once per task and wait for it, deferred.

    The job's name ends with the task's key. Dataflow refuses a second active job of the same name,
    so a launch whose response got lost is found again, and a later attempt adopts the job of an
    earlier one while it runs, or when it is done.

    If the commit mark exists although no job of this task wrote it, the work was done before: the
    task is skipped, and its outlets get no event.

    :param body: request of flexTemplates.launch (templated); its jobName gets a suffix.
    :param commit_mark: gs:// address of the object that the job writes last (templated).
    :param outlet_extra: Asset extra of each outlet's event (templated).
    :param at_most: US dollars that all jobs may cost together (templated); None: what one job may
        cost.
    :param per_hour: price of a job; None: its attempts are not limited together.
    :param generation: raise it to launch a new job where the task would adopt the one it has.
    """

    custom_operator_name = DataflowStartFlexTemplateOperator.__name__
    template_fields: Sequence[str] = (
        *DataflowStartFlexTemplateOperator.template_fields,
        "commit_mark",
        "outlet_extra",
        "at_most",
    )

    def __init__(
        self,
        *,
        commit_mark: str,
        outlet_extra: dict[str, Any] | str | None = None,
        at_most: float | None = None,
        per_hour: jobs.PerHour | None = None,
        generation: int = 1,
        **kwargs: Any,
    ):
        super().__init__(deferrable=True, append_job_name=False, **kwargs)
        self.at_most = at_most
        self._per_hour = per_hour
        self.commit_mark = commit_mark
        self.outlet_extra = outlet_extra
        self.generation = generation

    def execute(self, context: Any) -> Any:
        ti = context["ti"]
        launch = self.body["launchParameter"]
        launch["jobName"] = jobs.job_name(
            launch["jobName"],
            dag=ti.dag_id,
            run=ti.run_id,
            task=ti.task_id,
            copy=ti.map_index,
            generation=self.generation,
        )
        environment = launch.setdefault("environment", {})
        environment["additionalUserLabels"] = {
            **environment.get("additionalUserLabels", {}),
            **job_labels(ti, self.generation),
        }
        self.job = self._find(launch["jobName"])
        if self.job and jobs.is_done(self.job):
            return self._succeed(context, self.job)
        if not self.job and self._committed():
            raise AirflowSkipException(f"{self.commit_mark} already exists: nothing to do.")
        if not self.job:
            self._share_the_figure(launch["jobName"], environment)
            self.job = self._launch()
        DataflowJobLink.persist(
            context=context,
            project_id=self.project_id,
            region=self.location,
            job_id=self.job["id"],
        )
        # On Dataflow a job takes minutes; with local_gcp, seconds.
        job_id = self.job["id"]
        if ended := in_task(lambda: self._ended(job_id)):
            return self.execute_complete(context, ended)
        self.defer(
            trigger=FlexTemplateTrigger(
                project_id=self.project_id,
                job_id=self.job["id"],
                location=self.location,
                gcp_conn_id=self.gcp_conn_id,
                poll_sleep=self.poll_sleep,
                impersonation_chain=self.impersonation_chain,
                cancel_on_kill=self.cancel_on_kill,
            ),
            method_name="execute_complete",
        )

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        if event["state"] is None:
            raise JobFailedForGood(f"The Dataflow job {event['job_id']} no longer exists.")
        job = self.hook.get_job(
            job_id=event["job_id"], project_id=self.project_id, location=self.location
        )
        state = job["currentState"]
        if state == "JOB_STATE_DONE":
            return self._succeed(context, job)
        text = self._describe(job)
        passing = state == "JOB_STATE_FAILED" and _PASSING.search(text)
        conclude(Verdict.RETRY if passing else Verdict.GIVE_UP, lambda: text)

    def _ended(self, job_id: str) -> dict[str, Any] | None:
        """The trigger's event, if the job has ended."""
        job = self.hook.get_job(job_id=job_id, project_id=self.project_id, location=self.location)
        state = job["currentState"]
        ended = state in {JobState(end).name for end in FINISHED}
        return {"job_id": job["id"], "state": state} if ended else None

    def _find(self, name: str) -> dict[str, Any] | None:
        """The job of this name that an attempt adopts: active, or done with its result present."""
        found = jobs.named(self.hook, self.project_id, self.location, name)
        for job in found:
            if jobs.is_active(job):
                self.log.info("This task already has Dataflow job %s: adopting it", job["id"])
                return job
        for job in found:
            if jobs.is_done(job) and self._committed():
                return job
        return None

    def _share_the_figure(self, name: str, environment: dict[str, Any]) -> None:
        """Give the next job the time that is paid for after those before it, each at the price of
        its own machines. Raises JobFailedForGood if nothing is left.
        """
        given = environment.get("additionalExperiments", [])
        limits = [text for text in given if text.startswith(f"{jobs.LIMIT}=")]
        if self._per_hour is None or not limits:
            return
        place = (self.hook, self.project_id, self.location)
        labels = environment["additionalUserLabels"]
        labels |= jobs.machines(environment)
        spent = sum(
            jobs.usd(job, self.location, self._per_hour)
            for job in jobs.whole(*place, jobs.named(*place, name))
            if job.get("labels", {}).get(ROUND_LABEL) == labels[ROUND_LABEL]
        )
        longest = float(limits[0].partition("=")[2])
        second = jobs.price(labels, self.location, self._per_hour) / 3600
        allowed = longest * second if self.at_most is None else self.at_most
        least = min(attempts.LEAST_SECONDS, longest / 2) * second
        rest = attempts.left(allowed, spent, least=least, unit="USD", what="Dataflow job")
        # A plan's figures are rounded.
        seconds = min(longest, math.ceil(rest / second))
        others = [text for text in given if text not in limits]
        environment["additionalExperiments"] = [*others, f"{jobs.LIMIT}={seconds:.0f}"]

    def _launch(self) -> dict[str, Any]:
        try:
            job = self.hook.launch_job_with_flex_template(
                body=self.body, location=self.location, project_id=self.project_id
            )
        except HttpError as error:
            if error.status_code in (400, 403, 404):
                raise JobFailedForGood(f"Dataflow refuses this launch: {error.reason}") from error
            if error.status_code != 409:
                raise
            # An earlier launch of this attempt succeeded, only its response was lost.
            found = self._find(self.body["launchParameter"]["jobName"])
            if found is None:
                raise
            job = found
        self.log.info("Launched Dataflow job %s", job["id"])
        return job

    def _committed(self) -> bool:
        bucket, _, name = self.commit_mark.removeprefix("gs://").partition("/")
        hook = GCSHook(gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain)
        return hook.exists(bucket_name=bucket, object_name=name)

    def _writes(self) -> Iterable[str]:
        return (f"{self.commit_mark.rpartition('/')[0]}/",)

    def _succeed(self, context: Any, job: dict[str, Any]) -> dict[str, Any]:
        if not self._committed():
            raise JobFailedForGood(
                f"Dataflow job {job['id']} is done but did not write {self.commit_mark}. "
                "The template's program and this DAG do not match: was only one of them updated?"
            )
        for outlet in self.outlets:
            context["outlet_events"][outlet].extra = self.outlet_extra or {}
        return {"name": job["name"], "id": job["id"], "console": self._console(job["id"])}

    def _describe(self, job: dict[str, Any]) -> str:
        """State, the job's last error messages, and the console's link."""
        state = job["currentState"].removeprefix("JOB_STATE_").lower()
        return "\n".join(
            [
                f"Dataflow job '{job['name']}' {state}.",
                *self._errors(job["id"]),
                f"Console: {self._console(job['id'])}",
            ]
        )

    def _errors(self, job_id: str) -> list[str]:
        dataflow = self.hook.get_conn().projects().locations().jobs()
        request = dataflow.messages().list(
            projectId=self.project_id,
            location=self.location,
            jobId=job_id,
            minimumImportance="JOB_MESSAGE_ERROR",
        )
        try:
            answer = request.execute(num_retries=self.hook.num_retries)
        except HttpError as error:
            return [f"Its messages could not be read: {error}"]
        return [m["messageText"] for m in answer.get("jobMessages", [])][-_LAST_MESSAGES:]

    def _console(self, job_id: str) -> str:
        return console.dataflow(self.project_id, self.location, job_id)
