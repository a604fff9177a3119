"""audit: a job of its own reads the leaderboard once more, and writes audit.json.

audit.json, schema 1:
    {"schema": 1, "contenders": how many it has found}
"""

from datetime import timedelta
from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machines
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages, vertex_job
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.stage import Fleet, Stage, Usd

_MACHINES = Machines(type="n1-standard-8")
_FLEET = Fleet("audit", [(_MACHINES, 1)])
_TIMEOUT = timedelta(minutes=10)


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    from trellis.vertex.operators import CustomJobOperator

    return CustomJobOperator(
        task_id="audit",
        custom_job=planned(experiment, platform, job),
        **vertex_job.arguments(experiment, platform, 1),
    )


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The CustomJob that reads the leaderboard."""
    arguments = [f"--run={plan.run.uri}"]
    return {
        "display_name": f"{plan.experiment.name} audit",
        "labels": job_messages.labels(plan.experiment, platform),
        "job_spec": {
            "worker_pool_specs": [
                job_messages.pool(plan.experiment, platform, "compare", arguments, _MACHINES)
            ],
            "scheduling": job_messages.scheduling(_TIMEOUT, _MACHINES),
            **job_messages.identity(platform),
        },
        **job_messages.encryption(platform),
    }


def _per_hour(platform: Platform) -> float:
    return cost.per_hour(_FLEET.machines, platform.region)


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    return {"audit": _per_hour(platform) * cost.hours(_TIMEOUT)}


STAGE = Stage(
    name="audit",
    where="Vertex AI",
    writes=["audit.json"],
    tasks=lambda dag: task(dag.experiment, dag.platform),
    page=lambda *_: [("audit", "reads the leaderboard once more: `audit.json` (Vertex AI)")],
    dry_run=lambda *_: [("audit", "the leaderboard once more")],
    at_most=_at_most,
    spent=lambda jobs: {"audit": jobs.custom_hours("audit") * _per_hour(jobs.platform)},
    fleet=lambda *_: _FLEET,
    jobs=lambda plan: {"custom": 1},
    advice={"audit": "The leaderboard is safe. Clear this task to audit it again."},
)
