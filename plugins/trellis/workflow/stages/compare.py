"""compare: one program scores all contenders on the test split: leaderboard.json, report.html.

Runs when at least one training succeeded; failed trainings and baselines are on the leaderboard as
failed. If the run may deploy, the model that is served now is another contender.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from trellis.vertex.operators import CustomJobOperator
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import left
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machines
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.pools import slots


class CompareOperator(CustomJobOperator):
    """Compares again if the contenders have changed since the last comparison: a training or a
    baseline was cleared, or another model is served. Else adopts the run's existing comparison.

    :param reads: the folders of the trainings (templated).
    :param writes: the folder of the leaderboard (templated).
    """

    template_fields: Sequence[str] = (*CustomJobOperator.template_fields, "reads", "writes")

    def __init__(self, *, reads: Any, writes: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self.reads = reads
        self.writes = writes

    def _reads(self) -> Iterable[str]:
        return self.reads

    def _writes(self) -> Iterable[str]:
        return (self.writes,)

    def execute(self, context: Any) -> Any:
        ti = context["ti"]
        served = ti.xcom_pull(task_ids="served")
        compared = {
            "trainings": sorted(job["name"] for job in _trainings(context)),
            "baselines": ti.xcom_pull(task_ids="baselines") or {},
            "served": served["model"] if served else None,
        }
        text = json.dumps(compared, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.generation = f"{self.generation}-{digest}"
        return super().execute(context)


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    return CompareOperator(
        task_id="compare",
        project_id=platform.project,
        region=platform.region,
        gcp_conn_id=platform.connection,
        custom_job=planned(experiment, platform, job, needs=left.trainings),
        reads=_folders,
        writes=_leaderboard(experiment, platform),
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        # `baselines` is skipped in a run without them.
        trigger_rule="none_failed",
        **slots(platform.pools.vertex, 1),
    )


def _trainings(context: Any) -> list[dict[str, Any]]:
    """Collect the return values of the trainings' tasks."""
    return [job for job in context["ti"].xcom_pull(task_ids=["train", "repeat"]) if job]


def _folders(context: Any, jinja_env: Any) -> list[str]:
    return [job["output"] for job in _trainings(context)]


def _leaderboard(experiment: Experiment, platform: Platform) -> Any:
    def leaderboard(context: Any, jinja_env: Any) -> str:
        run = Run.of(experiment, platform, context["run_id"])
        return f"{run.leaderboard.rpartition('/')[0]}/"

    return leaderboard


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The CustomJob that compares. It finds the contenders in the run's folder."""
    machines = Machines(type=platform.compare.machine_type)
    arguments = [f"--run={plan.run.uri}", f"--metric={plan.experiment.metric}"]
    return {
        "display_name": f"{plan.experiment.name} leaderboard",
        "labels": job_messages.labels(plan.experiment, platform),
        "job_spec": {
            "worker_pool_specs": [job_messages.pool(platform, "compare", arguments, machines)],
            "scheduling": job_messages.scheduling(platform.compare.timeout, machines),
            **job_messages.identity(platform),
        },
        **job_messages.encryption(platform),
    }
