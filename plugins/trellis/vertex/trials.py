"""Reads the trials of a finished tuning job, in plain Python values.

The message cannot be passed on directly: its trials are unordered, numbers are doubles whatever the
parameter's type, and its JSON form depends on the client that read it.
"""

from typing import Any

from google.cloud.aiplatform_v1.types import HyperparameterTuningJob, Trial


def trial_summaries(job: HyperparameterTuningJob) -> list[dict[str, Any]]:
    """One dict per trial, in the order of their ids:

    {"id": "4", "state": "SUCCEEDED", "parameters": {"learning_rate": 0.01, "layers": 2.0},
     "final": {"step": 4, "metrics": {"accuracy": 0.93}} or None,
     "start": "2025-01-01T00:00:00Z" or None, "end": ..., "reason": why it is infeasible, or ""}

    Numbers are floats, as Vertex stores them; the caller casts them to the parameters' types.
    """
    return [_summary(trial) for trial in sorted(job.trials, key=lambda trial: int(trial.id))]


def _summary(trial: Trial) -> dict[str, Any]:
    final = trial.final_measurement
    metrics = {metric.metric_id: metric.value for metric in final.metrics} if final else {}
    return {
        "id": trial.id,
        "state": Trial.State(trial.state).name,
        "parameters": {p.parameter_id: p.value for p in trial.parameters},
        "final": {"step": int(final.step_count), "metrics": metrics} if metrics else None,
        "start": _timestamp(trial.start_time),
        "end": _timestamp(trial.end_time),
        "reason": trial.infeasible_reason,
    }


def _timestamp(moment: Any) -> str | None:
    return moment.rfc3339() if moment else None
