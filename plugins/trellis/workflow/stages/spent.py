"""Cost of a run so far, by stage: its jobs' own times and billed bytes, at list prices.

An estimate. Spot machines count at on-demand prices (their savings are computed beside it, by
`pricing.cost.spot_savings`), Dataflow as if all workers that it may have
had worked all the time. Jobs that failed or were retried count; storage, network, the deployed
model and what Google gives a group for less do not. Vertex AI's jobs are found by their labels,
Dataflow's by their name.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from airflow.providers.google.cloud.hooks.dataflow import DataflowHook
from airflow.providers.google.cloud.hooks.vertex_ai.custom_job import CustomJobHook

from trellis.bigquery.submission import Work
from trellis.dataflow import jobs
from trellis.identity import label_value, task_key
from trellis.vertex.jobs import CUSTOM, TUNING, JobKind, Jobs
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import export, snapshot, tune

# As identity.job_labels names them.
_DAG, _RUN, _TASK = "airflow-dag", "airflow-run", "airflow-task"


def by_stage(plan: Plan, platform: Platform, ti: Any, board: Mapping[str, Any]) -> dict[str, float]:
    """US dollars by the names that the plan's cost has. ti: of any task of the run, called in it.

    Raises what Google's clients raise.
    """
    return {
        **_bigquery(plan, platform, ti),
        **_export(plan, platform, ti),
        **_vertex(plan, platform, ti),
        **{
            contender["name"].removeprefix("baselines/"): contender["cost_usd"] or 0
            for contender in board["contenders"]
            if contender["kind"] in ("bqml", "automl")
        },
    }


def trials_hours(trials: Iterable[Any]) -> float:
    """Sum the hours of a tuning job's trials, including failed and stopped ones."""
    return sum(hours(trial.start_time, trial.end_time) for trial in trials)


def hours(start: datetime | None, end: datetime | None) -> float:
    """Hours between two times of a job; none if it never started, or has not ended."""
    return (end - start).total_seconds() / 3600 if start and end else 0.0


def _vertex(plan: Plan, platform: Platform, ti: Any) -> dict[str, float]:
    client = CustomJobHook(gcp_conn_id=platform.connection).get_job_service_client(platform.region)
    dag, run = label_value(ti.dag_id), label_value(ti.run_id)

    def made_by(kind: JobKind, task: str) -> list[Any]:
        """All of a task, those of its copies and of earlier attempts and generations, too."""
        every = Jobs(client, kind, platform.project, platform.region).with_label(_RUN, run)
        return [j for j in every if (j.labels.get(_DAG), j.labels.get(_TASK)) == (dag, task)]

    def worked(task: str) -> float:
        return sum(hours(job.start_time, job.end_time) for job in made_by(CUSTOM, task))

    usd = {
        "train": worked("train") * plan.rates["training"],
        "compare": worked("compare") * cost.comparison(platform),
    }
    if plan.experiment.train.seeds > 1:
        usd["repeat"] = worked("repeat") * plan.rates["training"]
    if not plan.experiment.searches:
        return usd
    searches = [tune.task_id(model) for model in plan.experiment.by_model]
    trials = [trial for task in searches for job in made_by(TUNING, task) for trial in job.trials]
    return {"tune": trials_hours(trials) * plan.rates["trial"], **usd}


def _export(plan: Plan, platform: Platform, ti: Any) -> dict[str, float]:
    """Cost of the exports; nothing if the dataset was there. Exports that failed or were cancelled
    count.
    """
    name = jobs.job_name(
        export.job_prefix(plan.experiment),
        dag=ti.dag_id,
        run=ti.run_id,
        task="export",
        copy=-1,
        generation=plan.experiment.generation,
    )
    hook = DataflowHook(gcp_conn_id=platform.connection)
    exports = jobs.named(hook, platform.project, platform.region, name)
    return {"export": sum(map(jobs.hours_worked, exports)) * cost.export(platform)}


def _bigquery(plan: Plan, platform: Platform, ti: Any) -> dict[str, float]:
    if plan.table is None:
        return {}
    hook = BigQueryHook(
        gcp_conn_id=platform.connection, use_legacy_sql=False, location=platform.location
    )
    checks = task_key(ti.dag_id, ti.run_id, "check", -1, plan.experiment.generation)
    keys = {"snapshot": snapshot.key(plan, platform), "check": checks}
    queries = [
        job
        for task, key in keys.items()
        for job in Work(
            hook, platform.project, platform.location, f"{ti.dag_id}_{task}", key
        ).jobs()
        # Another run may have frozen the same rows.
        if job.labels.get(_RUN) == label_value(ti.run_id)
    ]
    return {"snapshot": sum(cost.billed(job.total_bytes_billed or 0) for job in queries)}
