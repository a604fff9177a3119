"""repeat: trains the selected training again with other seeds, since a seed changes every score.

The repeats do not compete: the training that `select` finds does, with the experiment's own seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import train
from trellis.workflow.stages.stage import Building, Row, Stage, Tasks
from trellis_contracts.layout import metrics
from trellis_contracts.training import Training

_SEEDS = 2**31


def tasks(experiment: Experiment, platform: Platform, chosen: Any) -> Any:
    """The Airflow tasks `select` and `repeat`, a repeat for each further seed.

    chosen: what `choose` returns; None: nothing is tuned.
    """
    from trellis.workflow.lookups import left, plans
    from trellis.workflow.stages.function_operator import function_task

    @function_task(task_id="select")
    def select(chosen, run_id=None):
        plan = plans.load(experiment, platform, run_id)
        if not chosen:
            raise left.NothingLeftError("choose", "chosen trials")
        best = best_of(chosen, plan, platform)
        seeds = further_seeds(plan.experiment)
        print(f"training/{best['rank']} is repeated with the seeds {', '.join(map(str, seeds))}")
        return [{**best, "seed": seed} for seed in seeds]

    selected = select(train.every_untuned(experiment, chosen))
    return selected, train.operator(experiment, platform, "repeat", selected)


def further_seeds(experiment: Experiment) -> list[int]:
    """Return the seeds after the experiment's own."""
    return [(experiment.seed + n) % _SEEDS for n in range(1, experiment.train.seeds)]


def best_of(
    chosen: Sequence[dict[str, Any]],
    plan: Plan,
    platform: Platform,
    folders: Mapping[int, str] | None = None,
) -> dict[str, Any]:
    """The entry whose training is best on the validation split, as the comparison selects it
    (trainer/comparison/selection.py).

    folders: of the trainings by rank, if they are not the run's. Raises AirflowFailException if
    none of them has ended.
    """
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import documents

    sign = -1 if plan.experiment.goal == "maximize" else 1
    ended = []
    for entry in chosen:
        rank = entry["rank"]
        folder = folders[rank] if folders else plan.run.training(rank)
        training = documents.find_file(platform, Training, metrics(folder))
        if training is not None:
            order = sign * training.best, training.validation["loss"], rank
            ended.append((order, entry))
    if not ended:
        raise AirflowFailException(
            f"There is no metrics.json below {plan.run.uri}training/, which each training writes "
            "when it ends: clear `train`."
        )
    return min(ended, key=lambda one: one[0])[1]


def repeats(experiment: Experiment) -> bool:
    """Return whether the experiment asks for further seeds."""
    return experiment.train.seeds > 1


def _tasks(dag: Building) -> Tasks:
    from trellis.workflow.stages.ended import EndedOperator

    made_by = next((name for name in ("choose", "start") if name in dag.made), None)
    before = dag.made[made_by].last if made_by else None
    selected, repeat = tasks(dag.experiment, dag.platform, before)
    # A repeat that failed is in the report.
    repeated = EndedOperator(
        task_id="repeated",
        of="repeat",
        made_by="select",
        one_succeeded=False,
        on_failure=dag.alert,
    )
    selected >> repeat >> repeated
    return Tasks(selected, repeated)


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    seeds = experiment.train.seeds - 1
    yield "select, repeat", f"trains the best one again with {seeds} other seed(s) (Vertex AI)"


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    yield "repeat", f"the selected training with {plan.experiment.train.seeds - 1} other seeds"


def _jobs(plan: Plan) -> dict[str, int]:
    reused, _ = train.reused(plan.reuse.steps)
    return {"custom": plan.experiment.train.seeds - 1 - reused}


STAGE = Stage(
    name="repeat",
    where="Vertex AI",
    writes=["training/RANK/seeds/"],
    when=repeats,
    tasks=_tasks,
    page=_page,
    dry_run=_dry_run,
    at_most=lambda experiment, platform, bytes_: {
        "repeat": (experiment.train.seeds - 1) * train.at_most(experiment, platform)
    },
    spent=lambda jobs: {"repeat": train.spent(jobs, "repeat")},
    fleet=lambda experiment, platform: train.fleet(experiment, experiment.train.seeds - 1),
    jobs=_jobs,
    advice={
        "select": "The trainings are safe. Clear this task; the repeats and the comparison follow.",
        "repeat": "Clear this task to continue the repeat from its last checkpoint; the comparison "
        "follows. The leaderboard that exists by then shows this seed as failed.",
        "repeated": "The message names the task to clear; the comparison follows.",
    },
    ends_run=["repeat"],
)
