"""Run a Vertex AI job from a DAG: exactly one per task, without holding a worker while it runs.

The provider's operators create a new job at every attempt, a killed deferred task leaves its job
running, a failed poll counts as the job's failure, and the one for tuning cannot ask for spot
machines or a stopping rule, nor template what it runs. The two here take the whole job as Vertex's
API has it, in protobuf's JSON form, every field of it templated.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from airflow.providers.google.cloud.hooks.vertex_ai.custom_job import CustomJobHook
from airflow.providers.google.cloud.links.vertex_ai import (
    VertexAICustomJobLink,
    VertexAITrainingLink,
)
from airflow.providers.google.cloud.operators.cloud_base import GoogleCloudBaseOperator
from airflow.providers.google.cloud.operators.vertex_ai.custom_job import CreateCustomJobOperator

from vertex.identity import KEY_LABEL, ROUND_LABEL, job_labels
from vertex.jobs import CUSTOM, TUNING, JobKind, Jobs, console_url, job_id, message_of
from vertex.outcome import FINISHED, VertexJobFailedForGood, raise_unless_succeeded
from vertex.submission import find, find_or_create
from vertex.trials import trial_summaries
from vertex.triggers import VertexJobTrigger


class _OneJobPerTask:
    """Find or create, defer, judge: what both operators do with their job."""

    kind: ClassVar[JobKind]

    region: str
    project_id: str
    gcp_conn_id: str
    impersonation_chain: str | Sequence[str] | None
    poll_interval: float
    generation: int
    _labels: dict[str, str] | None = None

    def execute(self, context: Any) -> Any:
        self._labels = job_labels(context["ti"], self.generation)
        message = message_of(self.kind, self._job(), self._labels)
        job = find_or_create(self._jobs, message, self.log)
        self.log.info("Console: %s", console_url(job.name))
        self._link(context, job_id(job.name))
        if job.state in FINISHED:
            return self._result(job)
        self.defer(
            trigger=VertexJobTrigger(
                kind=self.kind.field,
                name=job.name,
                region=self.region,
                poll_interval=self.poll_interval,
                gcp_conn_id=self.gcp_conn_id,
                impersonation_chain=self.impersonation_chain,
            ),
            method_name="execute_complete",
        )

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        if event["state"] is None:
            raise VertexJobFailedForGood(
                f"The {self.kind.title} {event['name']} is gone: someone deleted it while this "
                "task waited for it. Clear this task to run a new one."
            )
        job = self._jobs.get(event["name"])
        raise_unless_succeeded(job, self.kind, str(context["ti"].max_tries))
        return self._result(job)

    def on_kill(self) -> None:
        """Cancel the job, also one whose creation was under way when the kill came."""
        if self._labels is None:
            return
        job = find(self._jobs, self._labels[KEY_LABEL], self._labels[ROUND_LABEL])
        if job is not None and job.state not in FINISHED:
            self.log.info("The task was killed: cancelling its %s %s", self.kind.title, job.name)
            self._jobs.cancel(job.name)

    @property
    def extra_links_params(self) -> dict[str, Any]:
        return {"region": self.region, "project_id": self.project_id}

    @cached_property
    def _jobs(self) -> Jobs:
        hook = CustomJobHook(
            gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain
        )
        client = hook.get_job_service_client(self.region)
        return Jobs(client, self.kind, self.project_id, self.region)

    def _job(self) -> Any:
        """The job as the DAG describes it, templates rendered."""
        raise NotImplementedError

    def _link(self, context: Any, identifier: str) -> None:
        """Remember the job for the operator's link to Google's console."""
        raise NotImplementedError

    def _result(self, job: Any) -> Any:
        """What the task returns for a job that succeeded."""
        return {"name": job.name, "console": console_url(job.name)}


class CustomJobOperator(_OneJobPerTask, CreateCustomJobOperator):
    """Run one CustomJob and wait for it, deferred. Returns {"name", "console"}.

    :param custom_job: the CustomJob (templated): a message, or a dict in protobuf's JSON form.
    :param generation: raise it to run a new job where the task would adopt the one it has.
    :param poll_interval: seconds between two looks at the job.

    Raises VertexJobFailed (retried) or VertexJobFailedForGood (not): see `vertex.outcome`.
    """

    kind = CUSTOM

    def __init__(self, *, generation: int = 1, **kwargs: Any):
        super().__init__(deferrable=True, **kwargs)
        self.generation = generation

    def _job(self) -> Any:
        return self.custom_job

    def _link(self, context: Any, identifier: str) -> None:
        VertexAICustomJobLink.persist(context=context, custom_job_id=identifier)


class HyperparameterTuningJobOperator(_OneJobPerTask, GoogleCloudBaseOperator):
    """Run one HyperparameterTuningJob and wait for it, deferred.

    Returns {"name", "console", "trials"}, the trials as `vertex.trials.trial_summaries` gives them.

    :param hyperparameter_tuning_job: the HyperparameterTuningJob (templated): a message, or a dict
        in protobuf's JSON form, so that spot machines, several pools and stopping rules are there.
    :param generation: raise it to run a new job where the task would adopt the one it has.
    :param poll_interval: seconds between two looks at the job.

    Raises VertexJobFailed (retried) or VertexJobFailedForGood (not): see `vertex.outcome`.
    """

    kind = TUNING
    template_fields: Sequence[str] = (
        "region",
        "project_id",
        "hyperparameter_tuning_job",
        "impersonation_chain",
        "gcp_conn_id",
    )
    operator_extra_links = (VertexAITrainingLink(),)

    def __init__(
        self,
        *,
        project_id: str,
        region: str,
        hyperparameter_tuning_job: Any,
        generation: int = 1,
        gcp_conn_id: str = "google_cloud_default",
        impersonation_chain: str | Sequence[str] | None = None,
        poll_interval: float = 10,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.project_id = project_id
        self.region = region
        self.hyperparameter_tuning_job = hyperparameter_tuning_job
        self.generation = generation
        self.gcp_conn_id = gcp_conn_id
        self.impersonation_chain = impersonation_chain
        self.poll_interval = poll_interval

    def _job(self) -> Any:
        return self.hyperparameter_tuning_job

    def _link(self, context: Any, identifier: str) -> None:
        VertexAITrainingLink.persist(context=context, training_id=identifier)

    def _result(self, job: Any) -> dict[str, Any]:
        return {**super()._result(job), "trials": trial_summaries(job)}
