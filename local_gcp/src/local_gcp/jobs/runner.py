"""Runs jobs: starts, watches, restarts and ends their processes.

CustomJobs, trials of tuning jobs and Dataflow jobs are all runs:

    runner = Runner(home, state, environment)
    runner.start()                                   # adopt what a killed server left running
    runner.submit("4711", Spec([Pool(Program(["python", "-m", "trainer.task"], env, cwd))]))
    runner.get("4711").state                         # queued, pending, running, succeeded, ...
    runner.listen(lambda run_id: ...)                # after every change, from the runner's thread
    runner.cancel("4711"); runner.preempt("4711"); runner.fail("4711"); runner.stop()

- `submit` is durable when it returns, also inside a `state.transaction()` of the caller, which
  makes "my record and its run" one write. Submitting an id again returns the run that is there, so
  a caller may safely submit again: nothing runs twice.
- A run waits in state "queued" until its replicas fit on the machine (machine.py), is "running"
  when its processes are, and is final when none of them is left.
- recovery.py decides what follows when a process ends; attempts.py keeps track of processes across
  a kill of the server. Each decision is stored before it is carried out, and carrying it out is
  idempotent, which is all that recovery after a kill needs.
- `stop` (local_gcp down) ends all processes and puts their runs back into the queue: they start
  again, as after maintenance of their machine, at the next `start`; none of their retries is used.
- The folder of a replica is HOME/jobs/RUN/workerpoolP-I: `log` (all attempts), `attempt-N/`, and
  `hypertune.metrics`, where cloudml-hypertune of this replica writes (CLOUD_ML_HP_METRIC_FILE).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from google.rpc import code_pb2

from local_gcp.home import Home
from local_gcp.jobs import preloading
from local_gcp.jobs.attempts import Attempt
from local_gcp.jobs.logs import last_lines
from local_gcp.jobs.machine import Machine, admit, available_cores
from local_gcp.jobs.run import FINAL, TYPES, Replica, Run, Spec
from local_gcp.jobs.supervisor import METRICS_FILE, Supervisor
from local_gcp.state import State

log = logging.getLogger(__name__)

TICK = 0.1
"""Interval in seconds at which running processes are polled."""

INTERNAL = "Internal error occurred for the current attempt."
"""As in logs of Vertex AI: github.com/GoogleCloudPlatform/t5x-on-vertex-ai/issues/2."""


class Runner:
    """See the module. All methods may be called from any thread.

    `environment` goes to every process; the options are those of `machine.Machine`.
    """

    def __init__(
        self,
        home: Home,
        state: State,
        environment: Mapping[str, str],
        cores: int | None = None,
        preemption_rate: float = 0.0,
        preemption_seed: int = 0,
    ):
        self.home, self.state = home, state
        self.machine = Machine(cores or available_cores(), preemption_rate, preemption_seed)
        self._table = state.table("runs", dict)
        self._counters = state.table("counters", dict)
        self._active: dict[str, Run] = {}
        self._submitted: list[str] = []
        self._changed: set[str] = set()
        self._listeners: list[Callable[[str], None]] = []
        # The state's own lock: a caller may hold it (a transaction) when it calls the runner, which
        # writes while it holds its own; two locks would be taken in both orders.
        self._wake = threading.Condition(state.lock)
        self._supervisor = Supervisor(home, environment, self.machine, self._active, self._save)
        self._thread: threading.Thread | None = None
        self._woken = True
        """Something changed since the loop's last round, so it must not sleep."""
        self._stopping = False

    def start(self) -> None:
        """Find all unfinished runs again and watch over them from now on."""
        self._submitted += [name for name, run in self._table.list() if run["state"] not in FINAL]
        self._thread = threading.Thread(target=self._loop, name="runner", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End all processes; unfinished runs wait in the queue for the next `start`."""
        with self._wake:
            self._stopping = True
            for run in self._active.values():
                if run.replicas:
                    self._supervisor.end(run, "requeued", "local_gcp is stopped")
            self._wake_up()
        if self._thread:
            self._thread.join()
        preloading.stop()

    def submit(self, run_id: str, spec: Spec) -> Run:
        """Queue a run. `run_id` also names its folder; see the module about calling it twice."""
        with self.state.transaction(), self._wake:
            run = self.get(run_id)
            if run is None:
                count = self._counters.get("runs") or {"value": 0}
                count["value"] += 1
                self._counters.put("runs", count)
                now = time.time()
                run = Run(run_id, count["value"], spec, created=now, updated=now)
                self._save(run, now)
            # The loop reads it from the table, which lacks it if the transaction is rolled back.
            self._submitted.append(run_id)
            self._wake_up()
            return run

    def get(self, run_id: str) -> Run | None:
        """A copy of the run as it is stored."""
        record = self._table.get(run_id)
        return Run.from_json(record) if record else None

    def cancel(self, run_id: str, why: str = "cancelled by a request") -> None:
        """Start to end it. Does nothing if the run is final; raises KeyError if unknown."""
        with self._wake:
            self._take_submitted()
            if run := self._active.get(run_id):
                self._supervisor.end(run, "cancelled", why)
                self._wake_up()
            elif self._table.get(run_id) is None:
                raise KeyError(run_id)

    def preempt(self, run_id: str) -> bool:
        """Take a machine of a spot run away; False if it is not a spot run, or not running."""
        with self._wake:
            run = self._active.get(run_id)
            if not run or not run.spec.spot or run.state != "running" or run.ending:
                return False
            self._supervisor.preempt(run, run.replicas[-1])
            self._wake_up()
            return True

    def fail(self, run_id: str) -> bool:
        """End a run by an error of Google's own; False if it is not running."""
        with self._wake:
            run = self._active.get(run_id)
            if not run or run.state != "running" or run.ending:
                return False
            self._supervisor.fail(run, code_pb2.INTERNAL, INTERNAL)
            self._wake_up()
            return True

    def forget(self, run_id: str) -> None:
        """Delete the record of a final run. Its folder, with the logs, stays."""
        with self._wake:
            if run_id in self._active:
                raise ValueError(f"Run {run_id} is not final.")
            self._table.delete(run_id)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener(run_id)` after each stored change, from the runner's thread."""
        self._listeners.append(listener)

    def metrics_file(self, run_id: str) -> Path:
        """The file that cloudml-hypertune in the primary replica of the run writes."""
        return self.home.jobs / run_id / Replica(0, 0).name / METRICS_FILE

    def replicas(self, run: Run) -> list[dict[str, Any]]:
        """The run's `replicas` in the JSON of `local-gcp status`."""
        return [self._describe(run, replica) for replica in run.replicas]

    def _describe(self, run: Run, replica: Replica) -> dict[str, Any]:
        folder = self._supervisor.folder(run, replica)
        attempt = Attempt(folder / f"attempt-{replica.attempt}")
        return {
            "pool": replica.pool,
            "index": replica.index,
            "type": TYPES[replica.pool],
            "attempt": replica.attempt,
            "restarts": replica.restarts,
            "state": replica.state,
            "pid": attempt.pid if replica.running else None,
            "log": str(folder / "log"),
            "last_line": "".join(last_lines(folder / "log", 1)),
        }

    def _loop(self) -> None:
        while True:
            with self._wake:
                self._woken = False
                self._take_submitted()
                for run in list(self._active.values()):
                    self._step(run)
                if self._stopping and not any(r.replicas for r in self._active.values()):
                    return
                if not self._stopping:
                    self._admit()
                changed, self._changed = self._changed, set()
            for name in sorted(changed):
                for listener in self._listeners:
                    try:
                        listener(name)
                    except Exception:
                        log.exception("a listener of run %s failed", name)
            with self._wake:
                if not self._woken:
                    self._wake.wait(TICK if self._active else None)

    def _wake_up(self) -> None:
        """Make the loop start its next round now. The caller holds the lock."""
        self._woken = True
        self._wake.notify_all()

    def _take_submitted(self) -> None:
        for name in self._submitted:
            run = self.get(name)
            if run and not run.final:
                self._active.setdefault(name, run)
        self._submitted.clear()

    def _step(self, run: Run, admitted: bool = False) -> None:
        try:
            if admitted:
                self._supervisor.begin(run)
                self._supervisor.step(run)
            elif run.state == "queued" and not run.ending:
                self._expire(run)
            else:
                self._supervisor.step(run)
        except Exception as error:  # ends this run, not the runner
            log.exception("run %s", run.id)
            self._supervisor.abandon(run, error)
        if run.final:
            del self._active[run.id]

    def _expire(self, run: Run) -> None:
        if run.spec.max_wait and time.time() - run.created > run.spec.max_wait:
            message = f"No cores were free for this job within {run.spec.max_wait:g} s."
            run.error = {"code": code_pb2.RESOURCE_EXHAUSTED, "message": message}
            self._supervisor.finish(run, "failed")

    def _admit(self) -> None:
        in_order = sorted(self._active.values(), key=lambda run: run.number)
        waiting = [(run.id, run.spec.cores) for run in in_order if run.state == "queued"]
        used = sum(run.spec.cores for run in in_order if run.state != "queued")
        admitted = admit(waiting, used, self.machine.cores)
        for name in admitted:
            self._step(self._active[name], admitted=True)
        for name, _cores in waiting[len(admitted) :]:
            if not self._active[name].waits:
                self._active[name].waits = True
                self._save(self._active[name])

    def _save(self, run: Run, now: float | None = None) -> None:
        run.updated = time.time() if now is None else now
        self._table.put(run.id, run.to_json())
        self._changed.add(run.id)
