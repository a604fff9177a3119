"""compare: all contenders scored on one test split by one program: leaderboard.json, report.html.

Runs when at least one training succeeded; one that failed stands on the leaderboard as failed, and
so does a baseline. The model that is served now is one more contender, if the run is to deploy.
"""

import hashlib
import json
from typing import Any

from research import jobs
from research.experiment import Experiment, Machines
from research.plan import Plan
from research.platform import Platform
from vertex.operators import CustomJobOperator


class CompareOperator(CustomJobOperator):
    """Compares anew when there is something else to compare than there was the last time: a
    training or a baseline that was cleared, or another model that is served. Else it adopts the
    comparison that the run has.
    """

    def execute(self, context: Any) -> Any:
        ti = context["ti"]
        served = ti.xcom_pull(task_ids="served")
        compared = {
            "trainings": sorted(job["name"] for job in ti.xcom_pull(task_ids=["train"]) if job),
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
        custom_job="{{ ti.xcom_pull(task_ids='plan')['compare_job'] }}",
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        # A run without its baselines skips their record.
        trigger_rule="none_failed",
    )


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The CustomJob that compares. It finds the contenders in the run's folder."""
    machines = Machines(type=platform.compare.machine_type)
    arguments = [f"--run={plan.run.uri}", f"--metric={plan.experiment.tune.metric}"]
    return {
        "display_name": f"{plan.experiment.name} leaderboard",
        "labels": jobs.labels(plan, platform),
        "job_spec": {
            "worker_pool_specs": [jobs.pool(platform, "compare", arguments, machines)],
            "scheduling": jobs.scheduling(platform.compare.timeout, machines),
            **jobs.identity(platform),
        },
        **jobs.encryption(platform),
    }
