"""Runs tuning jobs: proposes trials, watches their metrics, stops and ends them.

A thread polls every unfinished job. Its decisions depend only on stored records (the job, its
trials, their runs), and each is stored before it is carried out. A trial and its run are created in
one transaction, under an id derived from the trial's. So after a kill at any moment the next server
continues where this one stopped: no trial is lost, none runs twice.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Sequence

import grpc
from google.cloud import aiplatform_v1 as api

from local_gcp.jobs.run import Run, Spec
from local_gcp.jobs.runner import INTERNAL, Runner
from local_gcp.state import State as Database
from local_gcp.vertex.resources import CANCELED, PENDING, QUEUED
from local_gcp.vertex.tuning import lifecycle
from local_gcp.vertex.tuning.lifecycle import Progress
from local_gcp.vertex.tuning.metrics import missing_metric, read_measurements
from local_gcp.vertex.tuning.problems import Problems
from local_gcp.vertex.tuning.spec import Study, read_study
from local_gcp.vertex.tuning.store import Store, timestamp
from local_gcp.vertex.tuning.suggest import suggest
from local_gcp.vertex.tuning.trials import State, Trial
from local_gcp.wire import RpcError, status_of

log = logging.getLogger(__name__)

TICK = 0.2
"""Interval in seconds at which metric files of running trials are read."""

_FINAL = {
    api.JobState.JOB_STATE_SUCCEEDED,
    api.JobState.JOB_STATE_FAILED,
    api.JobState.JOB_STATE_CANCELLED,
}

MakeSpec = Callable[[api.HyperparameterTuningJob, Trial], Spec]


class Controller:
    """See the module. `make_spec(job, trial)`: what the runner runs for a trial."""

    def __init__(self, database: Database, runner: Runner, make_spec: MakeSpec):
        self.store = Store(database)
        self._database, self._runner, self._make_spec = database, runner, make_spec
        self._studies: dict[str, Study] = {}
        """Unfinished jobs by name."""
        self._wake = threading.Event()
        self.lock = threading.RLock()
        """Taken before the database's lock, if both are needed."""
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name="tuning", daemon=True)

    def start(self) -> None:
        """Run unfinished and new jobs. The runner must be running."""
        for job in self.store.list():
            if job.state not in _FINAL:
                self._studies[job.name] = _study(job)
        self._runner.listen(lambda _run_id: self._wake.set())
        self._wake.set()
        self._thread.start()

    def stop(self) -> None:
        """Propose no more trials. The runner stops their runs."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def submit(self, job: api.HyperparameterTuningJob) -> None:
        """Submit a new job, which `read_study` has checked. Durable on return."""
        with self.lock:
            self.store.put(job)
            self._studies[job.name] = _study(job)
        self._wake.set()

    def cancel(self, name: str) -> None:
        """Start to end a job; does nothing if it is finished."""
        with self.lock, self._database.transaction():
            job = self.store.get(name)
            if job is None or job.state in _FINAL:
                return
            progress = dataclasses.replace(self.store.progress(name), cancelled=True)
            self.store.put_progress(name, progress)
            self._set_state(job, api.JobState.JOB_STATE_CANCELLING)
        self._wake.set()

    def preempt(self, name: str) -> bool:
        """Preempt the first running spot trial of a job. False: there is none."""
        running = (trial for trial in self.store.trials(name) if not trial.done)
        return any(self._runner.preempt(run_id(name, trial.id)) for trial in running)

    def fail(self, name: str) -> bool:
        """Start to end a job by an error of Google's own. False: it is not running."""
        with self.lock:
            job = self.store.get(name)
            if job is None or job.state != api.JobState.JOB_STATE_RUNNING:
                return False
            self._fail(name, RpcError(grpc.StatusCode.INTERNAL, INTERNAL))
        self._wake.set()
        return True

    def _loop(self) -> None:
        while not self._stopping:
            self._wake.clear()
            for name in list(self._studies):
                with self.lock:
                    try:
                        self._advance(name, time.time())
                    except Exception as error:
                        log.exception("tuning job %s", name)
                        self._fail(name, error)
            self._wake.wait(TICK if self._studies else None)

    def _fail(self, name: str, error: Exception) -> None:
        progress = self.store.progress(name)
        if not progress.failure:
            status = status_of(error)
            progress.failure, progress.failure_code = status.message, status.code
            self.store.put_progress(name, progress)

    def _advance(self, name: str, now: float) -> None:
        job, study = self.store.get(name), self._studies[name]
        if job is None:
            raise KeyError(name)
        trials = [self._observe(study, trial) for trial in self.store.trials(name)]
        known = self.store.progress(name)
        progress = lifecycle.decide(
            study,
            trials,
            known,
            max_failed=job.max_failed_trial_count,
            created=job.create_time.timestamp(),
            now=now,
        )
        trials = self._stop_early(study, trials, progress)
        if progress.ending:
            self._cancel_runs(study, [t for t in trials if not t.done], "the tuning job ends")
        progress = self._propose(job, study, trials, progress)
        if progress != known:
            log.info("tuning job %s: %s", name, progress)
            self.store.put_progress(name, progress)
        self._follow(job, study, trials, progress)

    def _observe(self, study: Study, trial: Trial) -> Trial:
        if trial.done:
            return trial
        # In this order: after the run is final, the file does not change.
        run = self._run(study, trial)
        path = self._runner.metrics_file(run.id)
        reported = read_measurements(path, study.metric, run.started) if run.started else []
        reason = missing_metric(path, study.metric) if run.final else ""
        seen = lifecycle.observe(study, trial, run, reported, reason)
        if seen != trial:
            self.store.put_trial(study.name, seen)
        return seen

    def _run(self, study: Study, trial: Trial) -> Run:
        run = self._runner.get(run_id(study.name, trial.id))
        if run is None:
            raise KeyError(f"trial {trial.id} of {study.name} has no run")
        return run

    def _stop_early(self, study: Study, trials: list[Trial], progress: Progress) -> list[Trial]:
        to_stop = {trial.id for trial in lifecycle.to_stop(study, trials, progress)}
        stopped = []
        for trial in trials:
            if trial.id in to_stop:
                trial = dataclasses.replace(trial, state=State.STOPPING, stopped_early=True)
                self.store.put_trial(study.name, trial)
            stopped.append(trial)
        stopping = [trial for trial in stopped if trial.state is State.STOPPING]
        self._cancel_runs(study, stopping, "the trial is stopped early")
        return stopped

    def _cancel_runs(self, study: Study, trials: Sequence[Trial], why: str) -> None:
        for trial in trials:
            run = self._run(study, trial)
            if not run.final and not (run.ending and run.ending.then == "cancelled"):
                self._runner.cancel(run.id, why)

    def _propose(
        self,
        job: api.HyperparameterTuningJob,
        study: Study,
        trials: list[Trial],
        progress: Progress,
    ) -> Progress:
        """Start trials up to the limits; appends them to `trials`."""
        for _ in range(lifecycle.vacancies(study, trials, progress, job.parallel_trial_count)):
            values = suggest(study, trials)
            if values is None:
                return dataclasses.replace(progress, closed="the grid has been searched")
            trial = Trial(str(len(trials) + 1), values)
            with self._database.transaction():
                self.store.put_trial(study.name, trial)
                self._runner.submit(run_id(study.name, trial.id), self._make_spec(job, trial))
            log.info("tuning job %s: trial %s: %s", study.name, trial.id, values)
            trials.append(trial)
        return progress

    def _follow(
        self,
        job: api.HyperparameterTuningJob,
        study: Study,
        trials: Sequence[Trial],
        progress: Progress,
    ) -> None:
        """Update the job's state from its trials."""
        starts = [trial.start for trial in trials if trial.start is not None]
        unstarted = job.state in (PENDING, QUEUED)
        if starts and not job.start_time:
            job.start_time = timestamp(min(starts))
            if unstarted:
                self._set_state(job, api.JobState.JOB_STATE_RUNNING)
        elif unstarted and trials:
            waits = self._run(study, trials[0]).waits
            state = QUEUED if waits else PENDING
            if state != job.state:
                self._set_state(job, state)
        if not lifecycle.finished(study, trials, progress):
            return
        if progress.failure:
            job.error = {"code": progress.failure_code, "message": progress.failure}
            self._set_state(job, api.JobState.JOB_STATE_FAILED)
        elif progress.cancelled:
            job.error = CANCELED
            self._set_state(job, api.JobState.JOB_STATE_CANCELLED)
        else:
            self._set_state(job, api.JobState.JOB_STATE_SUCCEEDED)
        del self._studies[study.name]

    def _set_state(self, job: api.HyperparameterTuningJob, state: api.JobState) -> None:
        job.state = state
        job.update_time = timestamp(time.time())
        if state in _FINAL:
            job.end_time = job.update_time
        self.store.put(job)
        log.info("tuning job %s: %s", job.name, state.name)


def run_id(name: str, trial_id: str) -> str:
    """The runner's id of a trial: HOME/jobs/JOB/TRIAL is its folder."""
    return f"{name.rpartition('/')[2]}/{trial_id}"


def _study(job: api.HyperparameterTuningJob) -> Study:
    return read_study(job.name, job, Problems())
