"""Translates the end of a Vertex AI job for the Airflow task that waits for it.

=============  ====================================================  ===========================
job            why                                                   task
=============  ====================================================  ===========================
SUCCEEDED                                                            succeeds
FAILED         its own program (non-zero exit, out of memory,        fails for good: the same
               bad configuration)                                    program on the same data
                                                                     fails again, for money
FAILED         Google's side (internal error, no capacity, quota)    is retried, with a new job
EXPIRED        never got its machines                                is retried, with a new job
CANCELLED      someone cancelled it in the console                   fails for good: a retry
                                                                     would undo what they did
CANCELLED      an earlier round's job, cancelled because a person    is retried, with a new job
               cleared this task while it ran
PARTIALLY_     only batch predictions end so: some instances have    fails for good, unless the
SUCCEEDED      no prediction                                         task takes them so
other          PAUSED, QUEUED, ...                                   goes on waiting
=============  ====================================================  ===========================
"""

from typing import Any

from google.cloud.aiplatform_v1.types import JobState
from google.rpc import code_pb2

from trellis import console
from trellis.identity import ROUND_LABEL
from trellis.verdict import Verdict, conclude
from trellis.vertex.jobs import JobKind, state_of

FINISHED = {
    JobState.JOB_STATE_SUCCEEDED,
    JobState.JOB_STATE_FAILED,
    JobState.JOB_STATE_CANCELLED,
    JobState.JOB_STATE_EXPIRED,
    JobState.JOB_STATE_PARTIALLY_SUCCEEDED,
}

PASSING = {
    code_pb2.RESOURCE_EXHAUSTED,
    code_pb2.ABORTED,
    code_pb2.INTERNAL,
    code_pb2.UNAVAILABLE,
}
"""google.rpc.Code of errors that may be transient."""
# Vertex's phrases for a failed replica, whatever the error code (an out-of-memory kill is
# RESOURCE_EXHAUSTED).
_OWN_FAULT = ("exited with a non-zero status", "ran out-of-memory")


def verdict(job: Any, round_: str, partly: bool = False) -> Verdict:
    """Judge the job's state for an attempt of the given round (`identity.job_labels`).

    partly: whether a job that did only some of its work counts as succeeded.
    """
    state = state_of(job)
    if state == JobState.JOB_STATE_SUCCEEDED:
        return Verdict.SUCCESS
    if partly and state == JobState.JOB_STATE_PARTIALLY_SUCCEEDED:
        return Verdict.SUCCESS
    if state not in FINISHED:
        return Verdict.WAIT
    if state == JobState.JOB_STATE_CANCELLED:
        same_round = job.labels.get(ROUND_LABEL, round_) == round_
        return Verdict.GIVE_UP if same_round else Verdict.RETRY
    if state == JobState.JOB_STATE_EXPIRED:
        return Verdict.RETRY
    own_fault = any(words in job.error.message for words in _OWN_FAULT)
    return Verdict.RETRY if job.error.code in PASSING and not own_fault else Verdict.GIVE_UP


def raise_unless_succeeded(job: Any, kind: JobKind, round_: str) -> None:
    """Raise JobFailed or JobFailedForGood for a finished job that did not succeed."""
    conclude(verdict(job, round_, kind.partly), lambda: describe(job, kind))


def describe(job: Any, kind: JobKind) -> str:
    """State, Vertex's error (which quotes the program's last lines) and the console's link."""
    state = state_of(job).name.removeprefix("JOB_STATE_").lower()
    lines = [f"Vertex AI {kind.title} '{job.display_name}' {state}."]
    if job.error.message:
        code = code_pb2.Code.Name(job.error.code) if job.error.code else "no code"
        lines.append(f"Vertex says ({code}): {job.error.message}")
    lines.append(f"Job: {job.name}")
    lines.append(f"Console: {console.vertex(job.name)}")
    return "\n".join(lines)
