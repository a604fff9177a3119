"""tune: many short trainings with different hyperparameters, by a Vertex AI tuning job."""

from typing import Any

from research import jobs
from research.experiment import Experiment, Range
from research.plan import Plan
from research.platform import Platform
from research.trainer_schema import Hyperparameter, flag
from research.trainer_schema import load as load_schema
from vertex.operators import HyperparameterTuningJobOperator

_ALGORITHMS = {
    # Vertex's default is Bayesian optimization.
    "bayesian": "ALGORITHM_UNSPECIFIED",
    "random": "RANDOM_SEARCH",
    "grid": "GRID_SEARCH",
}
_SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE"}


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns {"name", "console", "trials"}."""
    return HyperparameterTuningJobOperator(
        task_id="tune",
        project_id=platform.project,
        region=platform.region,
        gcp_conn_id=platform.connection,
        hyperparameter_tuning_job="{{ ti.xcom_pull(task_ids='plan')['tuning_job'] }}",
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        # An export that found its dataset there is skipped.
        trigger_rule="none_failed",
    )


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The HyperparameterTuningJob. Trial N writes below tuning/N/."""
    tune = plan.experiment.tune
    arguments = jobs.training_arguments(plan, tune.epochs, "metrics", {})
    return {
        "display_name": f"{plan.experiment.name} tuning",
        "labels": jobs.labels(plan, platform),
        "max_trial_count": tune.trials,
        "parallel_trial_count": tune.parallel,
        # A run with fewer trials than that fails when all of them have failed.
        "max_failed_trial_count": min(tune.max_failed, tune.trials),
        "study_spec": study(plan.experiment),
        "trial_job_spec": {
            "worker_pool_specs": [jobs.pool(platform, "train", arguments, tune.machines)],
            "base_output_directory": {"output_uri_prefix": plan.run.tuning},
            "scheduling": jobs.scheduling(tune.timeout, tune.machines),
            **jobs.identity(platform),
        },
        **jobs.encryption(platform),
    }


def study(experiment: Experiment) -> dict[str, Any]:
    """The StudySpec: what is varied, and what counts."""
    tune = experiment.tune
    known = load_schema().of_model(experiment.model)
    spec: dict[str, Any] = {
        "metrics": [{"metric_id": tune.metric, "goal": tune.goal.upper()}],
        "parameters": [parameter(known[name], range_) for name, range_ in tune.search.items()],
        "algorithm": _ALGORITHMS[tune.algorithm],
        "measurement_selection_type": f"{tune.measurement.upper()}_MEASUREMENT",
    }
    if tune.stop_early:
        # Compared epoch by epoch: machines differ in speed.
        spec["median_automated_stopping_spec"] = {"use_elapsed_duration": False}
    return spec


def parameter(known: Hyperparameter, range_: Range) -> dict[str, Any]:
    """The ParameterSpec of one hyperparameter."""
    spec: dict[str, Any] = {"parameter_id": known.name}
    if range_.choose is None:
        kind = "integer_value_spec" if known.type == "integer" else "double_value_spec"
        spec[kind] = {"min_value": range_.from_, "max_value": range_.to}
        spec["scale_type"] = _SCALES[range_.scale]
    elif known.type in ("integer", "number"):
        # Vertex wants them in rising order.
        spec["discrete_value_spec"] = {"values": sorted(range_.choose)}
    else:
        spec["categorical_value_spec"] = {"values": [flag(value) for value in range_.choose]}
    return spec
