"""train: trains the chosen trials in full, each in a Vertex AI custom job on all its workers.

Without a search there is one training, with the experiment's fixed hyperparameters.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine, TrainingMachines
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages, vertex_job
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.stage import Building, Fleet, Row, Stage, Tasks
from trellis.workflow.stages.unread import unread

if TYPE_CHECKING:
    from trellis.workflow.stages.run_jobs import RunJobs

UNTUNED: dict[str, Any] = {"rank": 1, "trial": None, "parameters": {}}
"""In place of a chosen trial, if the experiment tunes nothing."""


def untuned(model: str | None, rank: int) -> dict[str, Any]:
    """Return the chosen entry of one model that is not tuned; None is the experiment's `model`."""
    return {**UNTUNED, "rank": rank, **({"model": model} if model else {})}


def task(experiment: Experiment, platform: Platform, chosen: Any) -> Any:
    """The Airflow task, one instance for each of the `chosen` trials; None: nothing is tuned."""
    return operator(experiment, platform, "train", every_untuned(experiment, chosen))


def every_untuned(experiment: Experiment, chosen: Any) -> Any:
    """`chosen`; of None, an entry of each model: nothing is tuned."""
    if chosen is not None:
        return chosen
    every = [untuned(model, rank) for rank, model in enumerate(experiment.by_model, start=1)]
    return [entry for part in experiment.parts for entry in in_part(every, part)]


def in_part(chosen: list[dict[str, Any]], part: str | None) -> list[dict[str, Any]]:
    """The entries as those of a fold; of None, as they are."""
    return chosen if part is None else [{**entry, "part": part} for entry in chosen]


def operator(experiment: Experiment, platform: Platform, task_id: str, chosen: Any) -> Any:
    """A task with one instance for each entry of `chosen`."""
    from trellis.workflow.lookups import left
    from trellis.workflow.stages.operators import TrainOperator

    def chosen_of(context: Any) -> Any:
        return context["task"].chosen

    machines = experiment.train.machines
    return TrainOperator.partial(
        task_id=task_id,
        # Airflow stores the source of a mapped task's functions.
        custom_job=unread(
            planned(experiment, platform, job, chosen_of, needs=left.dataset),
        ),
        at_most=unread(planned(experiment, platform, figure)),
        reused=unread(planned(experiment, platform, copied, chosen_of)),
        map_index_template="{{ task.custom_job['display_name'].partition(' ')[2] }}",
        **vertex_job.arguments(experiment, platform, machines.replicas, machines),
    ).expand(chosen=chosen)


def job(plan: Plan, platform: Platform, chosen: dict[str, Any]) -> dict[str, Any]:
    """The CustomJob that trains one chosen trial. chosen: as TrainOperator's."""
    model, part = chosen.get("model"), chosen.get("part")
    plan = plan.of(model).part(part)
    train = plan.experiment.train
    others = {name: chosen[name] for name in ("seed", "start") if name in chosen}
    values = {**chosen["parameters"], **others}
    arguments = job_messages.training_arguments(plan, train.epochs, "all", values)
    arguments += job_messages.held_out_arguments(plan.experiment)
    if train.machines.reduction_servers is not None:
        arguments.append("--strategy=reduction_server")
    if train.profile and chosen["rank"] == 1 and part is None and "seed" not in chosen:
        arguments.append("--profile={}-{}".format(*train.profile))
    pools = [
        job_messages.pool(plan.experiment, platform, "train", arguments, machine, count)
        for machine, count in train.machines.pools
    ]
    if train.machines.reduction_servers is not None:
        pools[-1]["container_spec"] = job_messages.reducer(platform)
    trial, folder = chosen["trial"], _folder(plan, chosen)
    origin = "" if trial is None else f" (trial {trial})"
    origin = f" {model}{origin}" if model else origin
    origin += f", fold {part}" if part else ""
    origin += ", from the champion" if "start" in chosen else ""
    origin += ", reused" if plan.reused(folder) else ""
    name = folder.removeprefix(plan.run.uri).rstrip("/")
    return {
        "display_name": f"{plan.experiment.name} {name}{origin}",
        "labels": job_messages.labels(plan.experiment, platform),
        "job_spec": {
            "worker_pool_specs": pools,
            "base_output_directory": {"output_uri_prefix": folder},
            "scheduling": job_messages.scheduling(
                train.timeout, train.machines, lockstep=train.machines.lockstep
            ),
            **job_messages.persistent(train.machines),
            **job_messages.identity(platform),
            **job_messages.tensorboard(platform),
        },
        **job_messages.encryption(platform),
    }


def figure(plan: Plan, platform: Platform) -> float:
    """US dollars that one training may cost, by the run's plan."""
    return plan.rates["training"] * cost.hours(plan.experiment.train.timeout)


def copied(plan: Plan, platform: Platform, chosen: dict[str, Any]) -> dict[str, str] | None:
    """Return the folders to copy in place of a job, in the form of TrainOperator; None without
    reuse.
    """
    plan = plan.part(chosen.get("part"))
    folder = _folder(plan, chosen)
    source = plan.reused(folder)
    return {"source": source, "target": folder} if source else None


def _folder(plan: Plan, chosen: dict[str, Any]) -> str:
    rank = chosen["rank"]
    return plan.run.repeat(rank, chosen["seed"]) if "seed" in chosen else plan.run.training(rank)


def reused(steps: Iterable[str]) -> tuple[int, int]:
    """Count the repeats and the trainings among the steps that a run reuses."""
    of_training = [step for step in steps if step.startswith("training/")]
    repeats = sum("/seeds/" in step for step in of_training)
    return repeats, len(of_training) - repeats


def _tasks(dag: Building) -> Tasks:
    from trellis.workflow.stages.ended import EndedOperator

    made_by = next((name for name in ("choose", "start") if name in dag.made), None)
    before = dag.made[made_by].last if made_by else None
    trainings = task(dag.experiment, dag.platform, before)
    # At least one training has succeeded, and all have ended.
    trained = EndedOperator(
        task_id="trained",
        of="train",
        made_by=made_by,
        one_succeeded=True,
        on_failure=dag.alert,
    )
    trainings >> trained
    return Tasks(trainings, trained)


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    trained = "each of them"
    if experiment.tune is None:
        best = f"to {experiment.goal} {experiment.metric}"
        trained = f"one model with the file's hyperparameters, {best},"
    train, machines = experiment.train, experiment.train.machines
    beside = ""
    if servers := machines.parameter_servers:
        beside = f" and {servers.count} parameter server(s)"
    elif reducers := machines.reduction_servers:
        beside = f" and {reducers.count} reduction server(s)"
    workers = f"{machines.workers} worker(s){beside}"
    yield "train", f"trains {trained} for up to {train.epochs} epochs on {workers} (Vertex AI)"
    if experiment.reuse:
        what = "without a job if a finished run has done the same: copied from there"
        yield "tune, train, repeat", what


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    experiment, train = plan.experiment, plan.experiment.train
    trained = f"one model, to {experiment.goal} {experiment.metric}"
    if experiment.tune is not None:
        trained = f"the best {train.top}{' of each model' if experiment.other_models else ''}"
    machines = " + ".join(f"{count} x {one.text}" for one, count in _alike(train.machines))
    yield "train", f"{trained} for up to {train.epochs} epochs, each on {machines}"


def _alike(machines: TrainingMachines) -> list[tuple[Machine, int]]:
    """The machines of a training, without the difference between its chief and its workers."""
    training, servers = machines.pools[:2], machines.pools[2:]
    return [(machines, sum(count for _, count in training)), *servers]


def at_most(experiment: Experiment, platform: Platform) -> float:
    """US dollars that one training may cost."""
    train = experiment.train
    return cost.per_hour(train.machines.pools, platform.region) * cost.hours(train.timeout)


def fleet(experiment: Experiment, trainings: int) -> Fleet:
    """The machines of this number of trainings at a time."""
    machines = experiment.train.machines
    pools = [(machine, trainings * count) for machine, count in machines.pools]
    return Fleet("train", pools, machines.spot, machines.queue is not None)


def spent(jobs: "RunJobs", task: str) -> float:
    """US dollars of the trainings of a task."""
    return jobs.custom_hours(task) * jobs.plan.rates["training"]


def _jobs(plan: Plan) -> dict[str, int]:
    _, trainings = reused(plan.reuse.steps)
    return {"custom": plan.experiment.trainings - trainings}


STAGE = Stage(
    name="train",
    where="Vertex AI",
    writes=["training/RANK/"],
    tasks=_tasks,
    page=_page,
    dry_run=_dry_run,
    at_most=lambda experiment, platform, bytes_: {
        "train": experiment.trainings * at_most(experiment, platform)
    },
    spent=lambda jobs: {"train": spent(jobs, "train")},
    fleet=lambda experiment, platform: fleet(experiment, experiment.trainings),
    jobs=_jobs,
    advice={
        "train": "Clear this task to continue the training from its last checkpoint. The other "
        "trainings, and their leaderboard, do not wait for it.",
        "trained": "The message names the task to clear; the comparison follows.",
    },
    ends_run=["train"],
)
