"""HyperparameterTuningJobs: create, get, list, cancel, delete, as a part of JobService."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import empty_pb2

from local_gcp import names
from local_gcp.jobs.run import HAS_MACHINES, Spec
from local_gcp.jobs.runner import Runner
from local_gcp.state import State
from local_gcp.vertex import validation
from local_gcp.vertex.custom_jobs import add_disks
from local_gcp.vertex.resources import (
    JOB_FIELDS,
    PENDING,
    check_cancellable,
    listed,
    shown,
    timestamp,
)
from local_gcp.vertex.tuning.controller import Controller, run_id
from local_gcp.vertex.tuning.problems import Problems
from local_gcp.vertex.tuning.space import flags
from local_gcp.vertex.tuning.spec import read_study
from local_gcp.vertex.tuning.trials import Trial
from local_gcp.vertex.workload import run_spec
from local_gcp.wire import not_found

_COLLECTION = "hyperparameterTuningJobs"
_FIELD = "hyperparameter_tuning_job"


class TuningJobs:
    """Part of JobService. See the module."""

    def __init__(self, state: State, runner: Runner):
        self._state, self._runner = state, runner
        self._controller = Controller(state, runner, trial_spec)
        self._store = self._controller.store

    def start(self) -> None:
        """Continue unfinished jobs; the runner has been started."""
        self._controller.start()

    def stop(self) -> None:
        """Propose no more trials; the runner is stopped after this."""
        self._controller.stop()

    def create_hyperparameter_tuning_job(
        self, request: Any, _context: Any
    ) -> api.HyperparameterTuningJob:
        parent, sent = names.location(request.parent), request.hyperparameter_tuning_job
        _check(sent, names.last(parent))
        job = api.HyperparameterTuningJob(
            name=f"{parent}/{_COLLECTION}/{names.new_id()}",
            display_name=sent.display_name,
            study_spec=sent.study_spec,
            max_trial_count=sent.max_trial_count,
            parallel_trial_count=sent.parallel_trial_count,
            max_failed_trial_count=sent.max_failed_trial_count,
            trial_job_spec=sent.trial_job_spec,
            labels=sent.labels,
            state=PENDING,
            create_time=timestamp(time.time()),
        )
        job.update_time = job.create_time
        if "encryption_spec" in sent:
            job.encryption_spec = sent.encryption_spec
        add_disks(job.trial_job_spec)
        self._controller.submit(job)
        return job

    def get_hyperparameter_tuning_job(
        self, request: Any, _context: Any
    ) -> api.HyperparameterTuningJob:
        return self._store.complete(self._get(request.name))

    def list_hyperparameter_tuning_jobs(self, request: Any, _context: Any) -> dict[str, Any]:
        jobs = self._store.list_lagging(f"{names.location(request.parent)}/{_COLLECTION}/")
        field = "hyperparameter_tuning_jobs"
        return listed(request, field, jobs, JOB_FIELDS, self._store.complete)

    def cancel_hyperparameter_tuning_job(self, request: Any, _context: Any) -> empty_pb2.Empty:
        job = self._get(request.name)
        check_cancellable(job)
        self._controller.cancel(job.name)
        return empty_pb2.Empty()

    def preempt(self, job: str) -> bool:
        """Preempt a running spot trial of the job (resource name or id); False: there is none."""
        return any(self._controller.preempt(name) for name in self._names(job))

    def fail(self, job: str) -> bool:
        """Fail the job (resource name or id) by an error of Google's; False: it does not run."""
        return any(self._controller.fail(name) for name in self._names(job))

    def machines(self) -> Iterator[tuple[str, api.CustomJobSpec]]:
        """(region, spec) of each trial that has its machines."""
        for job in self._store.list():
            for trial in self._store.trials(job.name):
                run = None if trial.done else self._runner.get(run_id(job.name, trial.id))
                if run and run.state in HAS_MACHINES:
                    yield job.name.split("/")[3], job.trial_job_spec

    def status(self) -> list[dict[str, Any]]:
        """The tuning jobs in the JSON of `local-gcp status`, oldest first."""
        return [self._status(job) for job in self._store.list()]

    def _status(self, job: api.HyperparameterTuningJob) -> dict[str, Any]:
        pools = job.trial_job_spec.worker_pool_specs
        metric = job.study_spec.metrics[0].metric_id
        cores = job.parallel_trial_count * sum(pool.replica_count for pool in pools)
        return {
            **shown(job, "tuning", cores, []),
            "trials": [
                self._trial_status(job.name, trial, metric)
                for trial in self._store.trials(job.name)
            ],
        }

    def _trial_status(self, name: str, trial: Trial, metric: str) -> dict[str, Any]:
        run = self._runner.get(run_id(name, trial.id))
        return {
            "id": trial.id,
            "state": trial.state.name,
            "parameters": trial.parameters,
            "metrics": {metric: [[m.step, m.value] for m in trial.measurements]},
            "stopped_early": trial.stopped_early,
            "infeasible_reason": trial.infeasible_reason or None,
            "replicas": self._runner.replicas(run) if run else [],
        }

    def _names(self, job: str) -> list[str]:
        return [j.name for j in self._store.list() if job in (j.name, names.last(j.name))]

    def _get(self, name: str) -> api.HyperparameterTuningJob:
        name = names.resource(name, _COLLECTION)
        job = self._store.get(name)
        if job is None:
            raise not_found(name)
        return job


def _check(job: api.HyperparameterTuningJob, location: str) -> None:
    """Raise INVALID_ARGUMENT or UNIMPLEMENTED for a job that cannot run, before it starts."""
    validation.check_resource(job, _FIELD, location)
    problems = Problems(f"{_FIELD}.")
    read_study("", job, problems)
    if problems:
        raise problems.error()
    field = f"{_FIELD}.trial_job_spec"
    validation.check_job_spec(job.trial_job_spec, field)
    run_spec(job.trial_job_spec, "0", location, trial="1", field=field)


def trial_spec(job: api.HyperparameterTuningJob, trial: Trial) -> Spec:
    """The run of a trial: the job's spec, with its hyperparameters as flags.

    Every replica of every pool gets them, after the arguments of its pool.
    """
    spec = api.CustomJobSpec(job.trial_job_spec)
    for pool in spec.worker_pool_specs:
        if "container_spec" in pool:
            pool.container_spec.args.extend(flags(trial.parameters))
        elif "python_package_spec" in pool:
            pool.python_package_spec.args.extend(flags(trial.parameters))
    location = job.name.split("/")[3]
    return run_spec(spec, names.new_id(), location, trial=trial.id, field="trial_job_spec")
