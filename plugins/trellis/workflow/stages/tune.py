"""tune: a Vertex AI tuning job runs many short trainings with different hyperparameters."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.tuning import Range, Span
from trellis.workflow.stages import job_messages, vertex_job
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.stage import Building, Fleet, Row, Stage, Tasks, Usd
from trellis.workflow.validation.file import known_to
from trellis_contracts.catalog import Hyperparameter, flag

if TYPE_CHECKING:
    from trellis.workflow.stages.run_jobs import RunJobs

_ALGORITHMS = {
    # Vertex's default is Bayesian optimization.
    "bayesian": "ALGORITHM_UNSPECIFIED",
    "random": "RANDOM_SEARCH",
    "grid": "GRID_SEARCH",
}
_SCALES = {"linear": "UNIT_LINEAR_SCALE", "log": "UNIT_LOG_SCALE"}


def task_id(model: str | None) -> str:
    """Id of the tuning task of one model; None is the experiment's `model`."""
    return f"tune_{model}" if model else "tune"


def task(experiment: Experiment, platform: Platform, model: str | None = None) -> Any:
    """The Airflow task. Returns {"name", "console", "trials"}."""
    from trellis.workflow.lookups import left
    from trellis.workflow.stages.operators import TuneOperator

    tuning, folds = experiment.tuning, experiment.folds is not None
    operator: Any = TuneOperator.partial if folds else TuneOperator
    made = operator(
        task_id=task_id(model),
        hyperparameter_tuning_job=planned(
            experiment,
            platform,
            job,
            lambda context: (model, context["task"].part),
            needs=left.dataset,
        ),
        at_most=planned(experiment, platform, figure),
        reused=planned(experiment, platform, copied, lambda context: (model, context["task"].part)),
        # The export is skipped if its dataset exists.
        trigger_rule="none_failed",
        **vertex_job.arguments(experiment, platform, tuning.parallel, tuning.machines),
        **({"map_index_template": "{{ task.part or 'to deploy' }}"} if folds else {}),
    )
    return made.expand(part=list(experiment.parts)) if folds else made


Searched = tuple[str | None, str | None]
"""What a search is of: a model, None for the experiment's `model`; a fold, None without one."""


def job(plan: Plan, platform: Platform, of: Searched = (None, None)) -> dict[str, Any]:
    """The HyperparameterTuningJob. Trial N writes below tuning/N/, or tuning/MODEL/N/."""
    model, part = of
    plan = plan.of(model).part(part)
    tune = plan.experiment.tuning
    arguments = job_messages.training_arguments(plan, tune.epochs, "metrics", {})
    return {
        "display_name": f"{plan.experiment.name} tuning"
        + (f" {model}" if model else "")
        + (f", fold {part}" if part else ""),
        "labels": job_messages.labels(plan.experiment, platform),
        "max_trial_count": tune.trials,
        "parallel_trial_count": tune.parallel,
        # A run with fewer trials than that fails when all of them failed.
        "max_failed_trial_count": min(tune.max_failed, tune.trials),
        "study_spec": study(plan.experiment),
        "trial_job_spec": {
            "worker_pool_specs": [
                job_messages.pool(plan.experiment, platform, "train", arguments, tune.machines)
            ],
            "base_output_directory": {"output_uri_prefix": plan.run.tuning_of(model)},
            "scheduling": job_messages.scheduling(tune.timeout, tune.machines),
            **job_messages.persistent(tune.machines),
            **job_messages.identity(platform),
            **job_messages.tensorboard(platform),
        },
        **job_messages.encryption(platform),
    }


def figure(plan: Plan, platform: Platform) -> float:
    """US dollars that one search may cost, by the run's plan."""
    tune = plan.experiment.tuning
    return tune.trials * plan.rates["trial"] * cost.hours(tune.timeout)


def copied(plan: Plan, platform: Platform, of: Searched = (None, None)) -> dict[str, str] | None:
    """Return the folders to copy in place of a job, in the form of TuneOperator; None without
    reuse.
    """
    model, part = of
    plan = plan.part(part)
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


def searches(experiment: Experiment) -> bool:
    """Return whether the experiment has a search."""
    return experiment.tune is not None


def _searched(experiment: Experiment) -> list[str | None]:
    """List the models with a search; None is the experiment's `model`."""
    return [name for name, one in experiment.by_model.items() if one.tune is not None]


def _tasks(dag: Building) -> Tasks:
    """Make one search beside the other."""
    found = [task(dag.experiment, dag.platform, model) for model in _searched(dag.experiment)]
    return Tasks(found, found)


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    for model in filter(None, _searched(experiment)):
        yield task_id(model), f"the same for the model {model}"
    tune = experiment.tuning
    what = f"runs {tune.trials} trials of {tune.epochs} epochs, {tune.parallel} at a time, to "
    yield "tune", f"{what}{tune.goal} {tune.metric}"


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    tune = plan.experiment.tuning
    yield (
        "tune",
        f"{tune.trials} trials of {tune.epochs} epochs, {tune.parallel} at a time, on "
        f"{tune.machines.text}: {tune.goal} {tune.metric} over {', '.join(tune.search)}",
    )
    for model in filter(None, _searched(plan.experiment)):
        search = plan.experiment.of(model).search
        yield task_id(model), f"as many of {model}, over {', '.join(search)}"


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    tune = experiment.tuning
    trial = cost.per_hour([(tune.machines, 1)], platform.region) * cost.hours(tune.timeout)
    return {"tune": experiment.searches * tune.trials * trial}


def _spent(jobs: "RunJobs") -> Usd:
    worked = sum(jobs.trials_hours(task_id(model)) for model in jobs.plan.experiment.by_model)
    return {"tune": worked * jobs.plan.rates["trial"]}


def _fleet(experiment: Experiment, platform: Platform) -> Fleet:
    tune = experiment.tuning
    trials = experiment.searches * tune.parallel
    machines = tune.machines
    return Fleet("tune", [(machines, trials)], machines.spot, machines.queue is not None)


_ADVICE = (
    "The logs of the failed trials name the cause, most often a range in which trainings diverge. "
    "Change `tune` and trigger a new run; if the fault was Google's, clear this task."
)

STAGE = Stage(
    name="tune",
    where="Vertex AI",
    writes=["tuning/TRIAL/"],
    when=searches,
    tasks=_tasks,
    page=_page,
    dry_run=_dry_run,
    at_most=_at_most,
    spent=_spent,
    fleet=_fleet,
    jobs=lambda plan: {"tuning": plan.experiment.searches - ("tuning" in plan.reuse.steps)},
    advice={"tune": _ADVICE, "tune_": _ADVICE},
)
