"""Decides what follows when a replica ends: Vertex AI's failure semantics as a pure function.

Sources: https://cloud.google.com/vertex-ai/docs/training/understanding-training-service ("Restart
workers during the training job", "Handle training job errors") and .../training/use-spot-vms.

- The primary exits with 0: the job has succeeded, whatever the others do.
- A replica is killed (by a signal from outside, or it vanishes): it is restarted in its place,
  with the same address, up to 5 times; after that the whole job is retried, up to 3 times, then it
  has failed. With `restart_job_on_worker_restart` each such restart restarts the whole job.
- A replica crashes (SIGSEGV, SIGABRT and the like): the whole job is retried, up to 3 times.
- A replica exits with another code: the program has failed, and so has the job.
- A spot preemption restarts the whole job, up to 6 times.
- `disable_retries` switches off all restarts of the whole job.

Two rules concern distributed programs whose peer dies: the others notice it, after 10 to 20 s with
TensorFlow, and exit with an error or abort.
- Such an exit within `INCIDENT_WINDOW` of a peer's death belongs to that incident: the whole job
  starts again, with new addresses, and only the peer's own restart is counted.
- Conversely, a secondary replica that fails by itself makes the primary fail, and one that loses a
  primary which is just finishing fails too. So after its failure the job waits for
  `PRIMARY_HAS_THE_WORD` seconds: if the primary exits with 0 meanwhile, the job has succeeded.
"""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Sequence

from local_gcp.jobs.run import Replica, Run

REPLICA_RESTARTS = 5
JOB_RETRIES = 3
PREEMPTION_RESTARTS = 6
INCIDENT_WINDOW = 120.0
"""Seconds. TensorFlow notices a dead peer within 10 to 20 s; a loaded machine takes longer."""
PRIMARY_HAS_THE_WORD = 30.0
"""Seconds."""
SETTLE = 2.0
"""Seconds. In a distributed job the death of a peer may be seen just after the exit it caused."""

CRASHES = {
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGSYS,
    signal.SIGTRAP,
}


@dataclasses.dataclass(frozen=True)
class Succeed:
    """The primary is done."""


@dataclasses.dataclass(frozen=True)
class Fail:
    """The job has failed because of `replica`; `why` says how if the exit alone does not."""

    replica: Replica
    why: str = ""


@dataclasses.dataclass(frozen=True)
class RestartReplicas:
    """Start these again in their places; the others run on."""

    replicas: Sequence[Replica]


@dataclasses.dataclass(frozen=True)
class RestartJob:
    """Stop what runs and start all replicas again."""

    why: str
    retry: bool
    """Counts as one of the job's retries."""


Verdict = Succeed | Fail | RestartReplicas | RestartJob


def judge(run: Run, now: float) -> Verdict | None:
    """The consequence of the exits in `run.replicas`; None: nothing to do (yet).

    Counts in `run` (restarts of replicas, incident, suspect) are brought up to date; the caller
    carries out the verdict and counts restarts of the job.
    """
    primary = run.replicas[0]
    if primary.exit and primary.exit.code == 0:
        return Succeed()
    ended = [r for r in run.replicas if r.exit and r.exit.code != 0]
    killed = [r for r in ended if r.exit.lost or _killed_from_outside(r)]
    others = [r for r in ended if r not in killed]
    if killed:
        return _after_kill(run, killed, others, now)
    if not others:
        return None
    if run.incident is not None and now - run.incident <= INCIDENT_WINDOW:
        if run.spec.disable_retries:
            return Fail(others[0], "after a replica beside it had died, and retries are disabled")
        return RestartJob(f"{others[0].name} {others[0].exit} after a peer's death", retry=False)
    if len(run.replicas) > 1 and now - max(r.exit.ended for r in others) < SETTLE:
        return None
    return _after_failure(run, others, now)


def judge_preemption(run: Run, replica: Replica) -> Fail | RestartJob:
    """The consequence of the machine of `replica` being taken away."""
    if run.spec.disable_retries:
        return Fail(replica, "and retries are disabled")
    if run.preemptions >= PREEMPTION_RESTARTS:
        return Fail(replica, f"after {PREEMPTION_RESTARTS} preemptions before")
    return RestartJob(f"{replica.name} was preempted", retry=False)


def _killed_from_outside(replica: Replica) -> bool:
    return replica.exit.signal is not None and replica.exit.signal not in CRASHES


def _after_kill(
    run: Run, killed: Sequence[Replica], others: Sequence[Replica], now: float
) -> Verdict:
    exhausted = [r for r in killed if r.restarts >= REPLICA_RESTARTS]
    if exhausted:
        why = f"{exhausted[0].name} died again after {REPLICA_RESTARTS} restarts"
        return _retry(run, exhausted[0], why)
    for replica in killed:
        replica.restarts += 1
    if len(run.replicas) == 1:
        return RestartReplicas(killed)
    run.incident, run.suspect = now, None
    whole = run.spec.restart_job_on_worker_restart or others
    if whole and not run.spec.disable_retries:
        return RestartJob(f"{killed[0].name} {killed[0].exit}", retry=False)
    return RestartReplicas(killed)


def _after_failure(run: Run, failed: Sequence[Replica], now: float) -> Verdict | None:
    by_themselves = [r for r in failed if r.exit.signal is None]
    suspect = next((r for r in failed if r.name == run.suspect), None)
    if suspect is None and by_themselves:
        # The first to fail: its cause is usually that of the others.
        suspect = min(by_themselves, key=lambda r: r.exit.ended)
        run.suspect = suspect.name
    if suspect is None:
        return _retry(run, failed[0], f"{failed[0].name} {failed[0].exit}")
    primary_is_over = run.replicas[0].exit is not None
    if primary_is_over or now - suspect.exit.ended > PRIMARY_HAS_THE_WORD:
        return Fail(suspect)
    return None


def _retry(run: Run, replica: Replica, why: str) -> Verdict:
    if run.spec.disable_retries:
        return Fail(replica, "and retries are disabled")
    if run.job_restarts >= JOB_RETRIES:
        return Fail(replica, f"after {JOB_RETRIES} retries of the whole job")
    return RestartJob(why, retry=True)
