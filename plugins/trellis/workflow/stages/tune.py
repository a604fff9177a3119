"""tune: a Vertex AI tuning job runs many short trainings with different hyperparameters."""

from typing import Any

from trellis.vertex.operators import HyperparameterTuningJobOperator
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.trainer_schema import Hyperparameter, flag
from trellis.workflow.spec.tuning import Range, Span
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.pools import slots
from trellis.workflow.stages.reuse import ReusingOperator, label, wanted
from trellis.workflow.validation.file import known_to

_ALGORITHMS = {
    # Vertex's default is Bayesian optimization.
    "bayesian": "ALGORITHM_UNSPECIFIED",
    "random": "RANDOM_SEARCH",
    "grid": "GRID_SEARCH",
}
_SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE"}


class TuneOperator(ReusingOperator, HyperparameterTuningJobOperator):
    """Runs the tuning job, or reuses an equal one.

    :param reuse: whether it reuses (templated).
    """

    template_fields = (*HyperparameterTuningJobOperator.template_fields, "reuse")

    def __init__(self, *, reuse: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self.reuse = reuse


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns {"name", "console", "trials"}."""
    return TuneOperator(
        task_id="tune",
        reuse=planned(experiment, platform, wanted),
        project_id=platform.project,
        region=platform.region,
        gcp_conn_id=platform.connection,
        hyperparameter_tuning_job=planned(experiment, platform, job),
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        # The export is skipped if its dataset exists.
        trigger_rule="none_failed",
        **slots(platform.pools.vertex, experiment.tuning.parallel),
    )


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The HyperparameterTuningJob. Trial N writes below tuning/N/."""
    tune = plan.experiment.tuning
    arguments = job_messages.training_arguments(plan, tune.epochs, "metrics", {})
    pool = job_messages.pool(platform, "train", arguments, tune.machines)
    search = {
        "max_trial_count": tune.trials,
        "parallel_trial_count": tune.parallel,
        # A run with fewer trials than that fails when all of them failed.
        "max_failed_trial_count": min(tune.max_failed, tune.trials),
        "study_spec": study(plan.experiment),
    }
    step = label(plan, {"pools": [pool], **search}, pool["container_spec"]["image_uri"])
    return {
        "display_name": f"{plan.experiment.name} tuning",
        "labels": {**job_messages.labels(plan.experiment, platform), **step},
        **search,
        "trial_job_spec": {
            "worker_pool_specs": [pool],
            "base_output_directory": {"output_uri_prefix": plan.run.tuning},
            "scheduling": job_messages.scheduling(tune.timeout, tune.machines),
            **job_messages.identity(platform),
        },
        **job_messages.encryption(platform),
    }


def study(experiment: Experiment) -> dict[str, Any]:
    """The StudySpec: parameters, metric and algorithm."""
    tune = experiment.tuning
    known = known_to(experiment)
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
    if isinstance(range_, Span):
        kind = "integer_value_spec" if known.type == "integer" else "double_value_spec"
        spec[kind] = {"min_value": range_.from_, "max_value": range_.to}
        spec["scale_type"] = _SCALES[range_.scale]
    elif known.type in ("integer", "number"):
        # Vertex requires ascending order.
        spec["discrete_value_spec"] = {"values": sorted(range_.choose)}
    else:
        spec["categorical_value_spec"] = {"values": [flag(value) for value in range_.choose]}
    return spec
