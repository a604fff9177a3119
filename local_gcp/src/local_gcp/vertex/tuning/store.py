"""Stores tuning jobs, and builds the API's message from the records.

Three tables: the requested job (with state, times, error), the decisions about it (`Progress`), and
one record for each trial, so that a new measurement rewrites only that trial.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import timestamp_pb2

from local_gcp.state import State as Database
from local_gcp.vertex.tuning.lifecycle import Progress
from local_gcp.vertex.tuning.space import Value
from local_gcp.vertex.tuning.trials import Measurement, State, Trial


class Store:
    """Tuning jobs by resource name. Every method may be called from any thread."""

    def __init__(self, database: Database):
        self._database = database
        self._jobs = database.table("hyperparameterTuningJobs", api.HyperparameterTuningJob)
        self._progress = database.table("tuningProgress", dict)
        self._trials = database.table("tuningTrials", dict)

    def put(self, job: api.HyperparameterTuningJob) -> None:
        """Create or replace the job itself; `job.trials` is not stored."""
        self._jobs.put(job.name, job)

    def get(self, name: str) -> api.HyperparameterTuningJob | None:
        """The job without its trials."""
        return self._jobs.get(name)

    def list_lagging(self, prefix: str) -> list[api.HyperparameterTuningJob]:
        """The jobs that the API's list shows: see `Table.list_lagging`."""
        return [job for _, job in self._jobs.list_lagging(prefix)]

    def list(self, prefix: str = "") -> list[api.HyperparameterTuningJob]:
        """Jobs whose name starts with `prefix`, without their trials, in order of creation."""
        return [job for _, job in self._jobs.list(prefix)]

    def complete(self, job: api.HyperparameterTuningJob) -> api.HyperparameterTuningJob:
        """The job with its trials, as the API shows it."""
        metric = job.study_spec.metrics[0].metric_id
        job.trials = [trial_message(trial, metric) for trial in self.trials(job.name)]
        return job

    def trials(self, name: str) -> Sequence[Trial]:
        """The trials, in the order in which they were suggested."""
        return [_from_record(record) for _, record in self._trials.list(prefix=f"{name}/")]

    def put_trial(self, name: str, trial: Trial) -> None:
        self._trials.put(f"{name}/{trial.id}", _to_record(trial))

    def progress(self, name: str) -> Progress:
        return Progress(**(self._progress.get(name) or {}))

    def put_progress(self, name: str, progress: Progress) -> None:
        self._progress.put(name, dataclasses.asdict(progress))


def trial_message(trial: Trial, metric: str) -> api.Trial:
    """The API's message of a trial, in which integers are doubles too.

    Of its measurements it has only the final one, as in real answers.
    """
    message = api.Trial(
        id=trial.id,
        state=int(trial.state),
        final_measurement=trial.final and _measurement(trial.final, metric),
        start_time=timestamp(trial.start),
        end_time=timestamp(trial.end),
        infeasible_reason=trial.infeasible_reason,
    )
    for name, value in trial.parameters.items():
        parameter = api.Trial.pb(message).parameters.add(parameter_id=name)
        if isinstance(value, str):
            parameter.value.string_value = value
        else:
            parameter.value.number_value = value
    return message


def timestamp(seconds: float | None) -> timestamp_pb2.Timestamp | None:
    """Seconds since the epoch as a protobuf message, to the microsecond."""
    if seconds is None:
        return None
    message = timestamp_pb2.Timestamp()
    message.FromMicroseconds(round(seconds * 1e6))
    return message


def _measurement(measurement: Measurement, metric: str) -> api.Measurement:
    """Return the API's message, without the elapsed time, as in real answers."""
    return api.Measurement(
        step_count=measurement.step, metrics=[{"metric_id": metric, "value": measurement.value}]
    )


def _to_record(trial: Trial) -> dict[str, Any]:
    return dataclasses.asdict(trial)


def _from_record(record: dict[str, Any]) -> Trial:
    parameters: dict[str, Value] = record["parameters"]
    return Trial(
        **{
            **record,
            "parameters": parameters,
            "state": State(record["state"]),
            "measurements": tuple(Measurement(**m) for m in record["measurements"]),
            "final": record["final"] and Measurement(**record["final"]),
        }
    )
