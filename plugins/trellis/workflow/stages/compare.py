"""compare: one program scores all contenders on the test split: leaderboard.json, report.html.

Runs when at least one training succeeded; failed trainings and baselines are on the leaderboard as
failed. If the run may deploy, the model that is served now is another contender.
"""

from typing import Any

from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine, Machines
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages, vertex_job
from trellis.workflow.stages.planned import figure, planned
from trellis.workflow.stages.stage import Fleet, Stage, Usd


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    from trellis.workflow.lookups import left
    from trellis.workflow.stages.operators import CompareOperator

    return CompareOperator(
        task_id="compare",
        custom_job=planned(experiment, platform, job, needs=left.trainings),
        at_most=planned(experiment, platform, figure("compare")),
        reads=folders,
        writes=_leaderboard(experiment, platform),
        contenders=contenders,
        # `baselines` is skipped in a run without them.
        trigger_rule="none_failed",
        **vertex_job.arguments(experiment, platform, 1),
    )


def contenders(context: Any) -> dict[str, Any]:
    """Describe the contenders of a run: other contenders are compared anew."""
    ti = context["ti"]
    served = ti.xcom_pull(task_ids="served")
    return {
        **trainings(context),
        "baselines": ti.xcom_pull(task_ids="baselines") or {},
        "served": served["model"] if served else None,
    }


def trainings(context: Any) -> dict[str, list[str]]:
    """Describe the trainings that a task finds: those of the tasks before it."""
    return {"trainings": sorted(job["name"] for job in _trainings(context))}


def _trainings(context: Any) -> list[dict[str, Any]]:
    """Collect the return values of the trainings' tasks; a task has none while it runs."""
    tasks = ["train", "repeat", "ensemble"]
    return [job for job in context["ti"].xcom_pull(task_ids=tasks) if job]


def folders(context: Any, jinja_env: Any) -> list[str]:
    """The trainings' folders, as a field of an operator."""
    return [job["output"] for job in _trainings(context)]


def _leaderboard(experiment: Experiment, platform: Platform) -> Any:
    def leaderboard(context: Any, jinja_env: Any) -> str:
        run = Run.of(experiment, platform, context["run_id"])
        return f"{run.leaderboard.rpartition('/')[0]}/"

    return leaderboard


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The CustomJob that compares. It finds the contenders in the run's folder."""
    arguments = [f"--run={plan.run.uri}", f"--metric={plan.experiment.metric}"]
    return job_of(plan, platform, "leaderboard", "compare", arguments)


def job_of(
    plan: Plan, platform: Platform, title: str, command: str, arguments: list[str]
) -> dict[str, Any]:
    """A CustomJob on the comparison's machine. title: in its name. command: the trainer's."""
    machines = Machines(type=platform.compare.machine_type)
    return job_messages.custom_job(plan.experiment, platform, title, command, arguments, machines)


def fleet(platform: Platform) -> Fleet:
    """The machine of a comparison."""
    return Fleet("platform.yaml, compare", [(Machine(type=platform.compare.machine_type), 1)])


def per_hour(platform: Platform) -> float:
    """US dollars an hour of a comparison."""
    return cost.per_hour(fleet(platform).machines, platform.region)


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    return {"compare": per_hour(platform) * cost.hours(platform.compare.timeout)}


STAGE = Stage(
    name="compare",
    where="Vertex AI",
    writes=["leaderboard/"],
    tasks=lambda dag: task(dag.experiment, dag.platform),
    page=lambda *_: [
        ("compare", "scores all on one test split: `leaderboard.json`, `report.html` (Vertex AI)")
    ],
    dry_run=lambda *_: [("compare", "all on one test split")],
    at_most=_at_most,
    spent=lambda jobs: {"compare": jobs.custom_hours("compare") * per_hour(jobs.platform)},
    fleet=lambda experiment, platform: fleet(platform),
    jobs=lambda plan: {"custom": 1},
    advice={"compare": "The trainings are safe. Clear this task to compare again."},
    linked=True,
)
