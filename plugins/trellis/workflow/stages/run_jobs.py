"""Jobs of a run with their times and billed bytes, from which its stages count their cost.

Vertex AI's jobs are found by their labels, Dataflow's by their name, BigQuery's by their key.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from airflow.providers.google.cloud.hooks.dataflow import DataflowHook
from airflow.providers.google.cloud.hooks.vertex_ai.custom_job import CustomJobHook

from trellis.bigquery.submission import Work
from trellis.dataflow import jobs as dataflow
from trellis.identity import label_value, task_key
from trellis.vertex.jobs import CUSTOM, TUNING, JobKind, Jobs
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.pricing import dataflow as pricing
from trellis.workflow.spec.platform import Platform
from trellis_contracts.leaderboard import Leaderboard

# The names of identity.job_labels.
_DAG, _RUN, _TASK = "airflow-dag", "airflow-run", "airflow-task"


@dataclass(frozen=True)
class RunJobs:
    """Jobs of a run with their times, from which a stage counts its cost.

    ti: of any task of the run, in which this is used. board: None until there is one. Each
    method raises what Google's clients raise.
    """

    plan: Plan
    platform: Platform
    ti: Any
    board: Leaderboard | None

    def custom_hours(self, task: str) -> float:
        """Add up the hours of a task's custom jobs."""
        return sum(hours(job.start_time, job.end_time) for job in self._vertex(CUSTOM, task))

    def trials_hours(self, task: str) -> float:
        """Add up the hours of the trials of a task's tuning jobs."""
        return sum(trials_hours(job.trials) for job in self._vertex(TUNING, task))

    def dataflow_usd(self, task: str, prefix: str) -> float:
        """US dollars of a task's Dataflow jobs; 0 if their output was there. Jobs that failed or
        were cancelled count. prefix: what their names begin with.
        """
        platform, ti = self.platform, self.ti
        name = dataflow.job_name(
            prefix,
            dag=ti.dag_id,
            run=ti.run_id,
            task=task,
            copy=-1,
            generation=self.plan.experiment.generation,
        )
        hook = DataflowHook(gcp_conn_id=platform.connection)
        place = (hook, platform.project, platform.region)
        made = dataflow.whole(*place, dataflow.named(*place, name))
        return sum(dataflow.usd(job, platform.region, pricing.per_hour) for job in made)

    def billed(self, task: str, key: str | None = None) -> float:
        """US dollars of the bytes that BigQuery has billed for a task's jobs. key: of its
        operator; None: the task's own.
        """
        platform, ti = self.platform, self.ti
        hook = BigQueryHook(
            gcp_conn_id=platform.connection, use_legacy_sql=False, location=platform.location
        )
        own = task_key(ti.dag_id, ti.run_id, task, -1, self.plan.experiment.generation)
        name = f"{ti.dag_id}_{task}"
        work = Work(hook, platform.project, platform.location, name, key or own)
        return sum(
            cost.billed(job.total_bytes_billed or 0, platform.region)
            for job in work.jobs()
            # Another run may have frozen the same rows.
            if job.labels.get(_RUN) == label_value(ti.run_id)
        )

    def baselines(self, kind: str) -> dict[str, float]:
        """US dollars of the baselines of a kind, by name, as the leaderboard has them."""
        return {
            contender.name.removeprefix("baselines/"): contender.cost_usd or 0
            for contender in (self.board.contenders if self.board else ())
            if contender.kind == kind
        }

    def _vertex(self, kind: JobKind, task: str) -> list[Any]:
        """List all jobs of a task: those of its copies, earlier attempts and generations, too."""
        platform, dag = self.platform, label_value(self.ti.dag_id)
        run = label_value(self.ti.run_id)
        every = Jobs(self._client, kind, platform.project, platform.region).with_label(_RUN, run)
        return [j for j in every if (j.labels.get(_DAG), j.labels.get(_TASK)) == (dag, task)]

    @cached_property
    def _client(self) -> Any:
        hook = CustomJobHook(gcp_conn_id=self.platform.connection)
        return hook.get_job_service_client(self.platform.region)


def trials_hours(trials: Iterable[Any]) -> float:
    """Sum the hours of a tuning job's trials, including failed and stopped ones."""
    return sum(hours(trial.start_time, trial.end_time) for trial in trials)


def hours(start: datetime | None, end: datetime | None) -> float:
    """Hours between two times of a job; none if it never started, or has not ended."""
    return (end - start).total_seconds() / 3600 if start and end else 0.0
