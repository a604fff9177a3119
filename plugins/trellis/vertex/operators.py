"""Run a Vertex AI job from a DAG: exactly one per task, deferred while it runs.

The provider's operators create a new job at every attempt, a killed deferred task leaves its job
running, a failed poll counts as the job's failure, those for AutoML hold their worker, and the one
for tuning supports neither spot machines nor stopping rules, nor templates in the trial's job. So
each has `OneJobPerTask` before it, which takes the whole job of Vertex's API, in protobuf's JSON
form, every field templated, in place of the parameters that describe a part of it.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.custom_job import CustomJobHook
from airflow.providers.google.cloud.operators.vertex_ai.auto_ml import (
    CreateAutoMLImageTrainingJobOperator,
    CreateAutoMLTabularTrainingJobOperator,
)
from airflow.providers.google.cloud.operators.vertex_ai.batch_prediction_job import (
    CreateBatchPredictionJobOperator,
)
from airflow.providers.google.cloud.operators.vertex_ai.custom_job import CreateCustomJobOperator
from airflow.providers.google.cloud.operators.vertex_ai.hyperparameter_tuning_job import (
    CreateHyperparameterTuningJobOperator,
)
from airflow.sdk.exceptions import AirflowSkipException
from google.cloud.aiplatform_v1.types import JobState

from trellis import console
from trellis.google_api import GoogleApi, RefusedError
from trellis.identity import KEY_LABEL, ROUND_LABEL, job_labels
from trellis.verdict import JobFailedForGood
from trellis.vertex import quotas
from trellis.vertex.base import PLACE, VertexTask, filled
from trellis.vertex.jobs import (
    BATCH,
    CUSTOM,
    PIPELINE,
    TUNING,
    JobKind,
    Jobs,
    machines_text,
    message_of,
    overstayed,
    state_of,
)
from trellis.vertex.links import ConsoleLink
from trellis.vertex.outcome import FINISHED, raise_unless_succeeded
from trellis.vertex.submission import Cap, find, find_or_create, seconds_left
from trellis.vertex.trials import trial_summaries
from trellis.vertex.triggers import VertexJobTrigger
from trellis.waiting import in_task


class OneJobPerTask(VertexTask):
    """Base of all operators with one job: find or create it, defer, evaluate its end.

    A subclass has the job as the DAG describes it in the attribute `kind.field`, which is
    templated: a message, or a dict in protobuf's JSON form; None skips the task. It raises
    JobFailed (retried) or JobFailedForGood (not): see `vertex.outcome`.

    :param limit: seconds from the time that a job has its machines, as `wait` is before it; for
        kinds without a time limit of their own. The trigger enforces both.
    :param at_most: US dollars that all attempts may cost together (templated); None: what one job
        may cost.
    :param usd_per_hour: price of an hour of a job whose message does not tell it; None: its
        attempts are not limited together.
    """

    kind: JobKind
    _labels: dict[str, str] | None = None
    _written: tuple[str, ...] = ()

    def __init__(
        self,
        *,
        limit: float | None = None,
        at_most: float | None = None,
        usd_per_hour: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.limit = limit
        self.at_most = at_most
        self.usd_per_hour = usd_per_hour

    def execute(self, context: Any) -> Any:
        described = getattr(self, self.kind.field)
        if described is None:
            raise AirflowSkipException("This run does not need it.")
        self._labels = job_labels(context["ti"], self.generation)
        message = message_of(self.kind, described, self._labels)
        job = find_or_create(self._jobs, message, self.log, self._cap())
        self.log.info("Console: %s", console.vertex(job.name))
        ConsoleLink.remember(context, job.name)
        if state_of(job) in FINISHED:
            return self._result(job)
        ended = in_task(lambda: self._ended(job.name))
        if ended is not None:
            return self.execute_complete(context, ended)
        limits = {"wait": self.wait, "limit": self._limit(job)}
        waited_for = {"kind": self.kind.field, "name": job.name, **limits}
        self._defer(VertexJobTrigger, "execute_complete", **waited_for)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        if event["state"] is None:
            raise JobFailedForGood(
                f"The {self.kind.title} {event['name']} is gone: someone deleted it while this "
                "task waited for it. Clear this task to run a new one."
            )
        self._labels = job_labels(context["ti"], self.generation)
        job = self._jobs.get(event["name"])
        self._raise_if_overstayed(job)
        raise_unless_succeeded(job, self.kind, str(context["ti"].max_tries))
        return self._result(job)

    def _ended(self, name: str) -> dict[str, Any] | None:
        """The trigger's event if the job has ended, else None."""
        state = state_of(self._jobs.get(name))
        return {"name": name, "state": state.name} if state in FINISHED else None

    def on_kill(self) -> None:
        """Cancel the job, even if the task was killed while creating it."""
        if self._labels is None:
            return
        job = find(self._jobs, self._labels[KEY_LABEL], self._labels[ROUND_LABEL])
        if job is not None and state_of(job) not in FINISHED:
            self.log.info("The task was killed: cancelling its %s %s", self.kind.title, job.name)
            self._jobs.cancel(job.name)

    def per_hour(self, job: Any) -> float | None:
        """US dollars an hour of a job of this task, of a search of one trial; None: not known."""
        return self.usd_per_hour

    def _cap(self) -> Cap | None:
        if self.per_hour(self._message()) is None:
            return None
        return Cap(self.at_most, self.per_hour, self.limit)  # type: ignore[arg-type]

    def _limit(self, job: Any) -> float | None:
        """Seconds that the job may take: what the attempts before have paid of the limit."""
        cap = self._cap()
        if self.limit is None or cap is None:
            return self.limit
        return seconds_left(self._jobs, job, cap, self.limit, job.create_time)

    def _raise_if_overstayed(self, job: Any) -> None:
        """Raise JobFailedForGood for a job that was stopped as it took too long."""
        limit = self._limit(job)
        passed = overstayed(job, job.end_time or job.update_time, self.wait, limit)
        cancelled = state_of(job) == JobState.JOB_STATE_CANCELLED
        where = f"\nConsole: {console.vertex(job.name)}"
        if passed == "wait":
            said = "" if cancelled else f" Vertex AI says: {job.error.message}"
            raise JobFailedForGood(
                f"The {self.kind.title} got no machines within {self.wait:.0f} s: "
                f"{machines_text(self.kind, job)} in {self.region}.{said} {self._quotas(job)} Let "
                "it wait longer, have the quota raised, or use other machines, then clear this "
                f"task.{where}"
            )
        if passed == "limit" and cancelled:
            raise JobFailedForGood(
                f"The {self.kind.title} was stopped after its {limit:.0f} s: give it more "
                f"time, more machines or less to do.{where}"
            )

    def _quotas(self, job: Any) -> str:
        """The limits of the quotas that a job's machines take from, and what is in use of them, as
        far as Google tells it.
        """
        all_quotas = f"All quotas: {console.quotas(self.project_id)} ."
        metrics = quotas.metrics_of(self.kind, job)
        if not metrics:
            return all_quotas
        api = GoogleApi(self._hook(CustomJobHook).get_credentials())
        place = (api, self.project_id, self.region)
        try:
            found = quotas.limits(*place)
        except RefusedError as error:
            return (
                f"Its quotas are {', '.join(metrics)}; their limits cannot be read without "
                f"{quotas.PERMISSION} ({error.message}). {all_quotas}"
            )
        used: dict[str, int] = {}
        refused = ""
        try:
            used = quotas.in_use(*place, datetime.now(UTC))
        except RefusedError as error:
            refused = (
                f" What is in use cannot be read without {quotas.USAGE_PERMISSION} "
                f"({error.message})."
            )
        texts = ", ".join(quotas.texts(found, metrics, used))
        return f"Limits of its quotas: {texts}.{refused} {all_quotas}"

    @cached_property
    def _jobs(self) -> Jobs:
        connect = getattr(self._hook(CustomJobHook), f"get_{self.kind.service}_service_client")
        return Jobs(connect(self.region), self.kind, self.project_id, self.region)

    def _message(self) -> Any:
        """The job as the DAG describes it, as a message; an empty one if the run needs none."""
        return message_of(self.kind, getattr(self, self.kind.field) or {}, {})

    def _writes(self) -> Iterable[str]:
        return self._written

    def _result(self, job: Any) -> Any:
        """Return value of the task for a job that succeeded."""
        return {"name": job.name, "console": console.vertex(job.name)}


class CustomJobOperator(OneJobPerTask, CreateCustomJobOperator):
    """Run one CustomJob and wait for it, deferred. Returns {"name", "console", "output"}, the
    folder that it writes to, "" if the message names none.

    :param custom_job: the CustomJob (templated).
    """

    kind = CUSTOM
    template_fields: Sequence[str] = (*CreateCustomJobOperator.template_fields, "at_most")

    def _writes(self) -> Iterable[str]:
        return (_output(self._message().job_spec),)

    def _result(self, job: Any) -> dict[str, Any]:
        return {**super()._result(job), "output": _output(job.job_spec)}


class HyperparameterTuningJobOperator(OneJobPerTask, CreateHyperparameterTuningJobOperator):
    """Run one HyperparameterTuningJob and wait for it, deferred.

    Returns {"name", "console", "trials"}, the trials as `vertex.trials.trial_summaries` gives them.

    :param hyperparameter_tuning_job: the HyperparameterTuningJob (templated); it has spot machines,
        several pools and stopping rules, which the provider's parameters do not have.
    """

    kind = TUNING
    template_fields: Any = (*PLACE, "hyperparameter_tuning_job", "at_most")

    def __init__(self, *, hyperparameter_tuning_job: Any, **kwargs: Any):
        described = filled(
            "display_name",
            "metric_spec",
            "parameter_spec",
            "max_trial_count",
            "parallel_trial_count",
            "worker_pool_specs",
        )
        super().__init__(**described, **kwargs)
        self.hyperparameter_tuning_job = hyperparameter_tuning_job

    def _writes(self) -> Iterable[str]:
        return (_output(self._message().trial_job_spec),)

    def _result(self, job: Any) -> dict[str, Any]:
        return {**super()._result(job), "trials": trial_summaries(job)}


class TrainingPipelineOperator(OneJobPerTask):
    """Run one TrainingPipeline and wait for it, deferred.

    Returns {"name", "console", "model"}, the model's resource name ("" if it made none).

    :param training_pipeline: the TrainingPipeline (templated); None skips the task.
    """

    kind = PIPELINE
    template_fields: Any = (*PLACE, "training_pipeline")

    def __init__(self, *, training_pipeline: Any, **kwargs: Any):
        super().__init__(**filled("display_name", "dataset_id"), **kwargs)
        self.training_pipeline = training_pipeline

    def _reads(self) -> Iterable[str]:
        if dataset := self._message().input_data_config.dataset_id:
            yield f"projects/{self.project_id}/locations/{self.region}/datasets/{dataset}"

    def _result(self, job: Any) -> dict[str, Any]:
        model = job.model_to_upload.name
        self._written = (model,) if model else ()
        return {**super()._result(job), "model": model}


class AutoMLImageOperator(TrainingPipelineOperator, CreateAutoMLImageTrainingJobOperator):
    """A TrainingPipeline of AutoML on images."""


class AutoMLTabularOperator(TrainingPipelineOperator, CreateAutoMLTabularTrainingJobOperator):
    """A TrainingPipeline of AutoML on a table."""

    def __init__(self, **kwargs: Any):
        super().__init__(**filled("target_column", "optimization_prediction_type"), **kwargs)


class BatchPredictionJobOperator(OneJobPerTask, CreateBatchPredictionJobOperator):
    """Run one BatchPredictionJob and wait for it, deferred.

    Returns {"name", "console", "output"}: gs://... of a folder, or PROJECT.DATASET.TABLE.

    :param batch_prediction_job: the BatchPredictionJob (templated); None skips the task.
    :param partly: whether a job that predicted only some of its instances counts as succeeded.
    """

    kind = BATCH
    template_fields: Sequence[str] = (*PLACE, "batch_prediction_job", "at_most")

    def __init__(
        self,
        *,
        batch_prediction_job: Any,
        partly: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**filled("job_display_name", "model_name"), **kwargs)
        self.batch_prediction_job = batch_prediction_job
        if partly:
            self.kind = dataclasses.replace(BATCH, partly=True)

    def _reads(self) -> Iterable[str]:
        message = self._message()
        source = message.input_config
        yield from (source.bigquery_source.input_uri, *source.gcs_source.uris, message.model)

    def _result(self, job: Any) -> dict[str, Any]:
        info = job.output_info
        dataset = info.bigquery_output_dataset.removeprefix("bq://")
        output = f"{dataset}.{info.bigquery_output_table}" if dataset else info.gcs_output_directory
        # A folder, whose name looks like a prefix of files.
        self._written = (output if dataset else f"{output.rstrip('/')}/",)
        return {**super()._result(job), "output": output}


def _output(spec: Any) -> str:
    """The folder that a CustomJobSpec's programs write to, "" if it names none."""
    prefix = spec.base_output_directory.output_uri_prefix
    return f"{prefix.rstrip('/')}/" if prefix else ""
