"""tune: a Vertex AI tuning job runs many short trainings with different hyperparameters."""

from collections.abc import Iterable
from typing import Any

from trellis.vertex.operators import HyperparameterTuningJobOperator
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import left, reused
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.tuning import Range, Span
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.pools import slots
from trellis.workflow.validation.file import known_to
from trellis_contracts.catalog import Hyperparameter, flag

_ALGORITHMS = {
    # Vertex's default is Bayesian optimization.
    "bayesian": "ALGORITHM_UNSPECIFIED",
    "random": "RANDOM_SEARCH",
    "grid": "GRID_SEARCH",
}
_SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE"}


class TuneOperator(HyperparameterTuningJobOperator):
    """Runs the search.

    :param reused: {"source", "target"}: folder of an earlier search's trials that is copied in
        place of a job (templated); None: there is none.
    """

    template_fields: Any = (*HyperparameterTuningJobOperator.template_fields, "reused")

    def __init__(self, *, reused: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self.reused = reused

    def _reads(self) -> Iterable[str]:
        return job_messages.read_by(self._message().trial_job_spec, self.reused)

    def execute(self, context: Any) -> Any:
        if self.reused is None:
            return super().execute(context)
        self.log.info("Reused, no job: %s", self.reused["source"])
        return reused.tuning(self.gcp_conn_id, **self.reused)


def task_id(model: str | None) -> str:
    """Id of the tuning task of one model; None is the experiment's `model`."""
    return f"tune_{model}" if model else "tune"


def task(experiment: Experiment, platform: Platform, model: str | None = None) -> Any:
    """The Airflow task. Returns {"name", "console", "trials"}."""
    return TuneOperator(
        task_id=task_id(model),
        project_id=platform.project,
        region=platform.region,
        gcp_conn_id=platform.connection,
        hyperparameter_tuning_job=planned(
            experiment, platform, job, lambda context: model, needs=left.dataset
        ),
        reused=planned(experiment, platform, copied, lambda context: model),
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        # The export is skipped if its dataset exists.
        trigger_rule="none_failed",
        **slots(platform.pools.vertex, experiment.tuning.parallel),
    )


def job(plan: Plan, platform: Platform, model: str | None = None) -> dict[str, Any]:
    """The HyperparameterTuningJob. Trial N writes below tuning/N/, or tuning/MODEL/N/."""
    plan = plan.of(model)
    tune = plan.experiment.tuning
    arguments = job_messages.training_arguments(plan, tune.epochs, "metrics", {})
    return {
        "display_name": f"{plan.experiment.name} tuning" + (f" {model}" if model else ""),
        "labels": job_messages.labels(plan.experiment, platform),
        "max_trial_count": tune.trials,
        "parallel_trial_count": tune.parallel,
        # A run with fewer trials than that fails when all of them failed.
        "max_failed_trial_count": min(tune.max_failed, tune.trials),
        "study_spec": study(plan.experiment),
        "trial_job_spec": {
            "worker_pool_specs": [job_messages.pool(platform, "train", arguments, tune.machines)],
            "base_output_directory": {"output_uri_prefix": plan.run.tuning_of(model)},
            "scheduling": job_messages.scheduling(tune.timeout, tune.machines),
            **job_messages.persistent(tune.machines),
            **job_messages.identity(platform),
            **job_messages.tensorboard(platform),
        },
        **job_messages.encryption(platform),
    }


def copied(plan: Plan, platform: Platform, model: str | None = None) -> dict[str, str] | None:
    """Return the folders to copy in place of a job, in the form of TuneOperator; None without
    reuse.
    """
    target = plan.run.tuning_of(model)
    source = plan.reused(target)
    return {"source": source, "target": target} if source else None


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
