"""Converts the API's StudySpec to a `Study`, or reports errors by field.

Refuses what Vertex AI refuses, and features of Vertex AI that local_gcp lacks, with the words
"local_gcp does not emulate". Field paths in messages are the API's (snake_case).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from google.cloud import aiplatform_v1 as api

from local_gcp.field_errors import REQUIRED
from local_gcp.vertex.tuning.parameter_specs import read_parameters
from local_gcp.vertex.tuning.problems import NOT_EMULATED, Problems
from local_gcp.vertex.tuning.space import Double, Parameter
from local_gcp.vertex.tuning.stopping import MedianStopping, StudyStopping, TimeConstraint


class Algorithm(enum.Enum):
    """`StudySpec.Algorithm`."""

    BAYESIAN = "ALGORITHM_UNSPECIFIED"
    GRID_SEARCH = "GRID_SEARCH"
    RANDOM_SEARCH = "RANDOM_SEARCH"


@dataclasses.dataclass(frozen=True)
class Study:
    """The search space, the algorithm, and the conditions for stopping."""

    name: str
    """Seeds the search: the same name and trials give the same next suggestion."""
    parameters: tuple[Parameter, ...]
    metric: str
    maximize: bool
    max_trials: int
    algorithm: Algorithm = Algorithm.BAYESIAN
    best_measurement: bool = False
    """A trial's best measurement is its final one; else the last."""
    trial_stopping: MedianStopping | None = None
    study_stopping: StudyStopping | None = None


def read_study(name: str, job: api.HyperparameterTuningJob, problems: Problems) -> Study:
    """The study of `job`; errors are added to `problems` (do not use the study then)."""
    spec = job.study_spec
    _check_counts(job, problems)
    metric, maximize = _metric(spec, problems)
    parameters = read_parameters(spec.parameters, problems)
    algorithm = _algorithm(spec, parameters, problems)
    if spec.observation_noise:
        problems.add(
            "study_spec.observation_noise",
            "Supported by Vertex AI Vizier only, not by HyperparameterTuningJob; leave it unset.",
        )
    best = api.StudySpec.MeasurementSelectionType.BEST_MEASUREMENT
    return Study(
        name=name,
        parameters=parameters,
        metric=metric,
        maximize=maximize,
        max_trials=job.max_trial_count,
        algorithm=algorithm,
        best_measurement=spec.measurement_selection_type == best,
        trial_stopping=_trial_stopping(spec, problems),
        study_stopping=_study_stopping(spec, problems),
    )


def _check_counts(job: api.HyperparameterTuningJob, problems: Problems) -> None:
    if job.max_trial_count < 1:
        problems.add("max_trial_count", f"{REQUIRED} It must be at least 1.")
    if job.parallel_trial_count < 1:
        problems.add("parallel_trial_count", f"{REQUIRED} It must be at least 1.")
    elif 1 <= job.max_trial_count < job.parallel_trial_count:
        problems.add(
            "parallel_trial_count",
            f"{job.parallel_trial_count} is more than max_trial_count ({job.max_trial_count}).",
        )
    if not 0 <= job.max_failed_trial_count <= max(job.max_trial_count, 0):
        problems.add(
            "max_failed_trial_count",
            f"{job.max_failed_trial_count} is not between 0 and max_trial_count "
            f"({job.max_trial_count}).",
        )


def _metric(spec: api.StudySpec, problems: Problems) -> tuple[str, bool]:
    if not spec.metrics:
        problems.add("study_spec.metrics", f"{REQUIRED} Name the metric that the trials report.")
        return "", True
    if len(spec.metrics) > 1:
        names = ", ".join(metric.metric_id for metric in spec.metrics)
        problems.add("study_spec.metrics", f"{NOT_EMULATED}: more than one metric ({names}).")
    metric = spec.metrics[0]
    problems.check_id("study_spec.metrics[0].metric_id", metric.metric_id)
    if "safety_config" in metric:
        problems.add("study_spec.metrics[0].safety_config", f"{NOT_EMULATED}: leave it unset.")
    # An unspecified goal "will default to maximize".
    return metric.metric_id, metric.goal != api.StudySpec.MetricSpec.GoalType.MINIMIZE


def _algorithm(
    spec: api.StudySpec, parameters: Sequence[Parameter], problems: Problems
) -> Algorithm:
    try:
        algorithm = Algorithm(api.StudySpec.Algorithm(spec.algorithm).name)
    except ValueError:
        problems.add("study_spec.algorithm", f"There is no algorithm number {spec.algorithm}.")
        return Algorithm.BAYESIAN
    if algorithm is Algorithm.GRID_SEARCH:
        for parameter in parameters:
            if isinstance(parameter, Double):
                problems.add(
                    "study_spec.algorithm",
                    "GRID_SEARCH needs INTEGER, CATEGORICAL or DISCRETE parameters; "
                    f"{parameter.id!r} is DOUBLE.",
                )
    return algorithm


def _trial_stopping(spec: api.StudySpec, problems: Problems) -> MedianStopping | None:
    kind = api.StudySpec.pb(spec).WhichOneof("automated_stopping_spec")
    if kind is None:
        return None
    if kind != "median_automated_stopping_spec":
        problems.add(
            f"study_spec.{kind}", f"{NOT_EMULATED}: use median_automated_stopping_spec or none."
        )
        return None
    return MedianStopping(spec.median_automated_stopping_spec.use_elapsed_duration)


def _study_stopping(spec: api.StudySpec, problems: Problems) -> StudyStopping | None:
    if "study_stopping_config" not in spec:
        return None
    config = spec.study_stopping_config
    field = "study_spec.study_stopping_config"
    for name in ("min_num_trials", "max_num_trials", "max_num_trials_no_progress"):
        if name in config and getattr(config, name) < 1:
            problems.add(f"{field}.{name}", f"{getattr(config, name)} is not at least 1.")
    longest_idle = config.max_duration_no_progress
    return StudyStopping(
        should_stop_asap=bool(config.should_stop_asap),
        minimum_runtime=_constraint(config.minimum_runtime_constraint),
        maximum_runtime=_constraint(config.maximum_runtime_constraint),
        min_trials=config.min_num_trials,
        max_trials=config.max_num_trials,
        max_trials_no_progress=config.max_num_trials_no_progress,
        max_duration_no_progress=longest_idle.total_seconds() if longest_idle else None,
    )


def _constraint(message: api.StudyTimeConstraint) -> TimeConstraint | None:
    kind = api.StudyTimeConstraint.pb(message).WhichOneof("constraint") if message else None
    if kind is None:
        return None
    if kind == "max_duration":
        return TimeConstraint(max_duration=message.max_duration.total_seconds())
    return TimeConstraint(end=message.end_time.timestamp())
