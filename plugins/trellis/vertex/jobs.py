"""The calls of Vertex AI's JobService and PipelineService, the same for every kind of job.

Custom jobs, tuning jobs, training pipelines and batch predictions share their life cycle (states,
labels, errors, cancellation) but not the names of their methods; this module hides the difference.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from google.cloud.aiplatform_v1.types import (
    AcceleratorType,
    BatchPredictionJob,
    CustomJob,
    HyperparameterTuningJob,
    JobState,
    MachineSpec,
    TrainingPipeline,
)
from google.protobuf import json_format

from trellis.vertex.calls import CALL_TIMEOUT_SECONDS, REPEATABLE


@dataclass(frozen=True)
class JobKind:
    """A kind of job.

    title: for people. message: the protobuf class. collection: the part of the resource name.
    field: the name of the message in a create request, and of its methods. service: job or
    pipeline, whose methods these are. spec: the field with its CustomJobSpec, if it has one.
    partly: whether a job that did only part of its work counts as succeeded.
    """

    title: str
    message: Any
    collection: str
    field: str
    service: str
    spec: str = ""
    partly: bool = False


CUSTOM = JobKind("custom job", CustomJob, "customJobs", "custom_job", "job", "job_spec")
TUNING = JobKind(
    "tuning job",
    HyperparameterTuningJob,
    "hyperparameterTuningJobs",
    "hyperparameter_tuning_job",
    "job",
    "trial_job_spec",
)
PIPELINE = JobKind(
    "training pipeline",
    TrainingPipeline,
    "trainingPipelines",
    "training_pipeline",
    "pipeline",
)
BATCH = JobKind(
    "batch prediction",
    BatchPredictionJob,
    "batchPredictionJobs",
    "batch_prediction_job",
    "job",
)
KINDS = {kind.field: kind for kind in (CUSTOM, TUNING, PIPELINE, BATCH)}


class Jobs:
    """The jobs of one kind in one project and region. Raises google.api_core.exceptions."""

    def __init__(self, client: Any, kind: JobKind, project_id: str, region: str):
        self.kind = kind
        self._client = client
        self._parent = f"projects/{project_id}/locations/{region}"

    def create(self, message: Any) -> Any:
        """Submit the job. Not idempotent: see `submission.find_or_create`."""
        request = {"parent": self._parent, self.kind.field: message}
        return self._method("create")(request=request, timeout=CALL_TIMEOUT_SECONDS)

    def with_label(self, key: str, value: str) -> list[Any]:
        """All jobs that carry the label, newest first."""
        request = {"parent": self._parent, "filter": f"labels.{key}={value}"}
        found = getattr(self._client, f"list_{self.kind.field}s")(request=request, **REPEATABLE)
        return sorted(found, key=lambda job: job.create_time, reverse=True)

    def get(self, name: str) -> Any:
        return self._method("get")(request={"name": name}, **REPEATABLE)

    def cancel(self, name: str) -> None:
        """Request cancellation. Vertex does it asynchronously: see state CANCELLING."""
        self._method("cancel")(request={"name": name}, **REPEATABLE)

    def _method(self, verb: str) -> Any:
        return getattr(self._client, f"{verb}_{self.kind.field}")


def message_of(kind: JobKind, job: Any, labels: Mapping[str, str]) -> Any:
    """The job as a message with `labels` added.

    `job` is a message or a dict in protobuf's JSON form; numbers may be text, as Jinja templates
    render them. Raises ValueError, with the field, for a dict that is no such job.
    """
    message = parse_message(kind.message, job, kind.title)
    message.labels.update(labels)
    return message


def parse_message(kind: Any, sent: Any, title: str) -> Any:
    """A copy of `sent`, a message or a dict as in `message_of`, as one of class `kind`."""
    if isinstance(sent, kind):
        return kind(sent)
    message = kind()
    try:
        json_format.ParseDict(sent, kind.pb(message))
    except json_format.ParseError as error:
        raise ValueError(f"This is no {title}: {error}") from error
    return message


def state_of(job: Any) -> JobState:
    """The job's state; a pipeline's have the numbers of a job's, under names of their own."""
    return JobState(int(job.state))


def overstayed(
    job: Any, now: datetime, wait: float | None, limit: float | None
) -> Literal["wait", "limit"] | None:
    """Which of its limits a job has passed, if any.

    wait: seconds from its creation until it has its machines; of a search, also from the end of a
    trial until another one has some. limit: from then until it, or a trial, ends.
    """
    if hasattr(job, "trials"):
        # A search may be RUNNING, and so have a start, before a trial has machines. A trial's start
        # is set when its machines are there: minutes after the trial before, in recorded searches.
        begun = [trial for trial in job.trials if trial.start_time]
        running = [trial.start_time for trial in begun if not trial.end_time]
        waits_since = max([job.create_time, *(trial.end_time for trial in begun if trial.end_time)])
    else:
        running = [job.start_time] if job.start_time else []
        waits_since = job.create_time
    passed: Literal["wait", "limit"] = "limit" if running else "wait"
    since = min(running, default=waits_since)
    seconds = limit if running else wait
    return passed if seconds is not None and (now - since).total_seconds() > seconds else None


def machines_of(kind: JobKind, job: Any) -> list[tuple[Any, int]]:
    """The MachineSpec of each pool of a job, and how many there are; none if Google chooses."""
    if kind.spec:
        pools = getattr(job, kind.spec).worker_pool_specs
        return [(pool.machine_spec, pool.replica_count) for pool in pools]
    resources = getattr(job, "dedicated_resources", None)
    if not resources or not resources.machine_spec.machine_type:
        return []
    return [(resources.machine_spec, resources.starting_replica_count)]


def machines_text(kind: JobKind, job: Any) -> str:
    """Machines of a job in words, as in `1 n1-standard-8 with 2 NVIDIA_TESLA_V100`."""
    pools = [f"{count} {machine_text(machine)}" for machine, count in machines_of(kind, job)]
    return ", ".join(pools) or machine_text(MachineSpec())


def machine_text(machine: Any) -> str:
    """A MachineSpec in words: `n1-standard-8 with 2 NVIDIA_TESLA_V100`."""
    text = machine.machine_type or "machines of its own choice"
    if machine.accelerator_count:
        kind = AcceleratorType(machine.accelerator_type).name
        text += f" with {machine.accelerator_count} {kind}"
    return text


def job_id(name: str) -> str:
    """`projects/P/locations/R/customJobs/123` -> `123`."""
    return name.rsplit("/", 1)[-1]
