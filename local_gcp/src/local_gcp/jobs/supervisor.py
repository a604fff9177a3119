"""Starts, checks and ends the processes of each run.

A supervisor has no state between two calls except the `Run`, which it stores (`save`) before it
acts on it, so the next server continues where a killed one stopped. recovery.py decides what
follows when a process ends.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from google.rpc import code_pb2

from local_gcp.home import Home
from local_gcp.jobs import recovery
from local_gcp.jobs.attempts import Attempt
from local_gcp.jobs.cluster import cluster_environment
from local_gcp.jobs.logs import append_line, failure_message
from local_gcp.jobs.machine import Machine, free_addresses
from local_gcp.jobs.run import Ending, Replica, Run
from local_gcp.jobs.variables import environment, expand
from local_gcp.wire import status_of

log = logging.getLogger(__name__)

GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL when a replica is stopped."""
METRICS_FILE = "hypertune.metrics"


class Supervisor:
    """See the module.

    `active` are all unfinished runs; `save(run)` makes a run's record durable, with its time
    of change (default: now); the rest is explained in `runner.Runner`.
    """

    def __init__(
        self,
        home: Home,
        environment: Mapping[str, str],
        machine: Machine,
        active: Mapping[str, Run],
        save: Callable[..., None],
    ):
        self.home, self.environment, self.machine = home, dict(environment), machine
        self.active, self.save = active, save

    def folder(self, run: Run, replica: Replica) -> Path:
        """Return the folder of the replica's log, metrics and attempts."""
        return self.home.jobs / run.id / replica.name

    def begin(self, run: Run) -> None:
        """(Re)start the whole job: new addresses, new attempts; the next `step` launches them."""
        why = run.ending.why if run.ending else ""
        if not run.replicas:
            run.state, run.waits, run.admitted = "pending", False, time.time()
            run.replicas = [Replica(pool, index) for pool, index in run.spec.seats()]
        taken = {address for other in self.active.values() for address in other.addresses}
        run.addresses = free_addresses(len(run.replicas), taken)
        run.ending = run.incident = run.suspect = None
        for replica in run.replicas:
            self._next_attempt(run, replica, why)
        self.save(run)

    def step(self, run: Run) -> None:
        """Poll the processes of a started run, and act on their state."""
        now = time.time()
        exits = 0
        for replica in run.replicas:
            if replica.running:
                self._launch(run, replica)
                replica.exit = self._attempt(run, replica).poll()
                exits += replica.exit is not None
        if exits:
            self.save(run)
        if run.ending:
            self._continue_ending(run, now)
            return
        if run.state == "pending":
            run.state, run.started = "running", run.started or now
            self.save(run, now)
        if run.spec.timeout and now - run.admitted > run.spec.timeout:
            why = f"ran longer than its timeout of {run.spec.timeout:g} s"
            run.error = {"code": code_pb2.DEADLINE_EXCEEDED, "message": f"The job {why}."}
            self.end(run, "cancelled", why)
        elif verdict := recovery.judge(run, now):
            self._carry_out(run, verdict)
        elif exits:
            self.save(run)
        elif victim := self._unlucky(run, now):
            self.preempt(run, victim)

    def end(self, run: Run, then: str, why: str) -> None:
        """Stop all processes of the run; later `step`s wait for them, and then comes `then`."""
        if run.ending and run.ending.then in ("succeeded", "failed", "cancelled"):
            return
        log.info("run %s: %s: %s", run.id, then, why)
        run.ending = Ending(then, time.time(), why)
        if then == "cancelled":
            run.state = "cancelling"
        self.save(run)
        for replica in run.replicas:
            if replica.running:
                self._attempt(run, replica).stop()

    def preempt(self, run: Run, replica: Replica) -> None:
        """Preempt the machine of `replica`: the whole job stops, and starts again elsewhere."""
        verdict = recovery.judge_preemption(run, replica)
        run.preemptions += 1
        if isinstance(verdict, recovery.RestartJob):
            self.end(run, "restarted", verdict.why)
            return
        message = f"STOCKOUT: resources are insufficient: {replica.name} was preempted"
        message = f"{message} {verdict.why}."
        self.fail(run, code_pb2.RESOURCE_EXHAUSTED, message)

    def fail(self, run: Run, code: int, message: str) -> None:
        """End the run by a fault that is not its program's. code: google.rpc.Code."""
        run.error = {"code": code, "message": message}
        self.end(run, "failed", message)

    def abandon(self, run: Run, error: Exception) -> None:
        """End a run that local_gcp itself cannot handle."""
        for replica in run.replicas:
            if replica.running:
                self._attempt(run, replica).kill()
        status = status_of(error)
        run.error = {"code": status.code, "message": status.message}
        self.finish(run, "failed")

    def finish(self, run: Run, state: str) -> None:
        """Make the run final; none of its processes is left."""
        run.state, run.ended, run.ending = state, time.time(), None
        if state == "succeeded":
            run.error = None
        self.save(run)
        log.info("run %s has %s", run.id, state)

    def _carry_out(self, run: Run, verdict: recovery.Verdict) -> None:
        match verdict:
            case recovery.Succeed():
                self.end(run, "succeeded", "the primary is done")
            case recovery.Fail():
                message = failure_message(run, verdict, self.home.jobs / run.id)
                run.error = {"code": code_pb2.INVALID_ARGUMENT, "message": message}
                self.end(run, "failed", f"{verdict.replica.name} {verdict.replica.exit}")
            case recovery.RestartJob():
                if verdict.retry:
                    run.job_restarts += 1
                    for replica in run.replicas:
                        replica.restarts = 0
                self.end(run, "restarted", verdict.why)
            case recovery.RestartReplicas():
                for replica in verdict.replicas:
                    self._next_attempt(run, replica, f"the one before {replica.exit}")
                self.save(run)
                for replica in verdict.replicas:
                    self._launch(run, replica)

    def _next_attempt(self, run: Run, replica: Replica, why: str) -> None:
        folder = self.folder(run, replica)
        folder.mkdir(parents=True, exist_ok=True)
        replica.attempt += 1
        # After the server was stopped, a run begins again without knowledge of its attempts.
        while (folder / f"attempt-{replica.attempt}").exists():
            replica.attempt += 1
        if replica.attempt > 1:
            why = why or "local_gcp was stopped"
            append_line(folder / "log", f"attempt {replica.attempt}: {why}")
        else:
            for note in run.spec.notes:
                append_line(folder / "log", note)
        replica.exit, replica.started = None, time.time()
        path = folder / "log"
        replica.log_start = path.stat().st_size if path.exists() else 0

    def _launch(self, run: Run, replica: Replica) -> None:
        """Start the latest attempt, unless it was started before."""
        attempt = self._attempt(run, replica)
        if attempt.was_started:
            return
        folder = self.folder(run, replica)
        program = run.spec.pools[replica.pool].program
        service = {
            **self.machine.thread_environment(),
            **self.environment,
            "CLOUD_ML_HP_METRIC_FILE": str(folder / METRICS_FILE),
        }
        if run.spec.cluster:
            addresses = dict(zip(run.spec.seats(), run.addresses, strict=True))
            service |= cluster_environment(addresses, replica.pool, replica.index, run.spec.trial)
        variables = environment(service, program.env)
        attempt.start(
            [expand(argument, variables) for argument in program.argv],
            variables,
            program.cwd,
            folder / "log",
            GRACE,
            self.home.buckets,
        )
        log.info("run %s: %s attempt %d", run.id, replica.name, replica.attempt)

    def _attempt(self, run: Run, replica: Replica) -> Attempt:
        return Attempt(self.folder(run, replica) / f"attempt-{replica.attempt}")

    def _continue_ending(self, run: Run, now: float) -> None:
        alive = [replica for replica in run.replicas if replica.running]
        for replica in alive:
            if now - run.ending.since > GRACE + 5:
                self._attempt(run, replica).kill()
            else:  # again: the server may have been killed between its decision and the signal
                self._attempt(run, replica).stop()
        if alive:
            return
        primary = run.replicas[0].exit if run.replicas else None
        if primary and primary.code == 0 and primary.ended < run.ending.since:
            self.finish(run, "succeeded")  # it was done before it was asked to end
        elif run.ending.then == "restarted":
            self.begin(run)
        elif run.ending.then == "requeued":
            run.state, run.ending, run.replicas, run.addresses = "queued", None, [], []
            self.save(run)
        else:
            self.finish(run, run.ending.then)

    def _unlucky(self, run: Run, now: float) -> Replica | None:
        """The replica that the preemption rate preempts now."""
        rate, seed = self.machine.preemption_rate, self.machine.preemption_seed
        if not run.spec.spot or not rate:
            return None
        for replica in run.replicas:
            age = lifetime(rate, seed, run.number, replica)
            if replica.running and now - replica.started > age:
                return replica
        return None


def lifetime(rate: float, seed: int, number: int, replica: Replica) -> float:
    """Seconds until the machine of a spot replica is preempted, `rate` times a minute on average.

    It depends on seed, run number, replica and attempt only, so preemptions can be reproduced.
    """
    dice = random.Random(f"{seed}/{number}/{replica.name}/{replica.attempt}")
    return dice.expovariate(rate / 60)
