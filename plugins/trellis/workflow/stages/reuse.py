"""Takes the results of an equal job of an earlier run, instead of running it again.

Every tuning job and training has a label, a digest of what decides its result: the commands and
machines, which name the dataset by its fingerprint and an own model by its content; the search; and
the content of the image. With `reuse`, a job that succeeded with the same label is not repeated:
its files are copied within Cloud Storage into this run's folder, so that everything after it finds
them where it always does.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.google.cloud.hooks.gcs import GCSHook
from google.cloud.aiplatform_v1.types import JobState

from trellis.identity import KEY_LABEL, job_labels
from trellis.vertex.jobs import state_of
from trellis.workflow.contracts.documents import check
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.platform import Platform

LABEL = "trellis-step"

MARK = "metrics.json"
"""What a trial and a training write last."""

FILE = "reused.json"
"""Beside the copy: whose it is a copy of."""

# What only the training itself goes on from; and its repeats with other seeds, jobs of their own.
_LEFT_OUT = ("checkpoints", "seeds")

if TYPE_CHECKING:  # mixed into operators, it uses their methods
    from trellis.vertex.operators import _OneJobPerTask as _Operator
else:
    _Operator = object


def label(plan: Plan, decisive: Mapping[str, Any], image: str) -> dict[str, str]:
    """The label of a job; none if the content of its image is not known.

    decisive: the fields of its message that decide its result. image: its address.
    """
    content = plan.images.get(image)
    if content is None:
        return {}
    text = json.dumps({"image": content, **decisive}, sort_keys=True)
    return {LABEL: hashlib.sha256(text.encode()).hexdigest()[:32]}


def wanted(plan: Plan, platform: Platform) -> bool:
    """Whether the run reuses equal jobs."""
    return plan.experiment.reuse


class ReusingOperator(_Operator):
    """An operator of a job that does not run if the run reuses an equal one.

    Its result then has "reused", the folder of that job's files. A task that has a job of its own
    already keeps it, whatever became of that.

    reuse: whether equal jobs are reused; a templated parameter of the operators.
    """

    reuse: Any

    def execute(self, context: Any) -> Any:
        """See _OneJobPerTask."""
        if self.reuse:
            message = self._job()
            if LABEL not in message["labels"]:
                self.log.warning("Nothing is reused: the content of the job's image is not known")
            elif not self._own(context):
                for job in self._equal(message["labels"][LABEL]):
                    if self._take(job, message):
                        return {**self._result(job), "reused": _folder(job)}
                self.log.info("No earlier run has an equal job whose files are there")
        return super().execute(context)

    def _own(self, context: Any) -> list[Any]:
        labels = job_labels(context["ti"], self.generation)
        return self._jobs.with_label(KEY_LABEL, labels[KEY_LABEL])

    def _equal(self, step: str) -> Iterator[Any]:
        for job in self._jobs.with_label(LABEL, step):
            if state_of(job) == JobState.JOB_STATE_SUCCEEDED:
                yield job

    def _take(self, job: Any, message: Mapping[str, Any]) -> bool:
        """Copy a job's files; False if they are gone."""
        source, target = _folder(job), _folder_of(message)
        client = GCSHook(gcp_conn_id=self.gcp_conn_id).get_conn()
        content = {"schema": 1, "from": source, "job": job.name}
        check("reused", content, f"{target}{FILE}")
        copied = copy(client, source, target)
        if not copied:
            return False
        text = json.dumps(content, indent=1) + "\n"
        _blob(client, f"{target}{FILE}").upload_from_string(text, content_type="application/json")
        self.log.info("Reused: %s, %s files of %s", job.name, copied, source)
        return True


def copy(client: Any, source: str, target: str) -> int:
    """Copy the files of a job within Cloud Storage, without checkpoints; how many they are.

    0, and nothing is copied, if no MARK is among them. The marks come last: a copy that was
    interrupted has none, and is repeated. Addresses end with a slash. client:
    google.cloud.storage.Client.
    """
    bucket, _, prefix = source.removeprefix("gs://").partition("/")
    found = [
        blob
        for blob in client.list_blobs(bucket, prefix=prefix)
        if not set(blob.name.removeprefix(prefix).split("/")[:-1]) & set(_LEFT_OUT)
    ]
    if not any(_is_mark(blob.name) for blob in found):
        return 0
    for blob in sorted(found, key=lambda blob: _is_mark(blob.name)):
        new = _blob(client, target + blob.name.removeprefix(prefix))
        token, _, _ = new.rewrite(blob)
        while token is not None:
            token, _, _ = new.rewrite(blob, token=token)
    return len(found)


def _is_mark(name: str) -> bool:
    return name.rpartition("/")[2] == MARK


def _blob(client: Any, uri: str) -> Any:
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return client.bucket(bucket).blob(name)


def _folder(job: Any) -> str:
    """Where a job of Vertex AI's writes."""
    spec = job.trial_job_spec if hasattr(job, "trial_job_spec") else job.job_spec
    return str(spec.base_output_directory.output_uri_prefix)


def _folder_of(message: Mapping[str, Any]) -> str:
    spec = message.get("trial_job_spec") or message["job_spec"]
    return str(spec["base_output_directory"]["output_uri_prefix"])
