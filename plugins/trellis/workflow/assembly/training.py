"""One experiment becomes one DAG, of the stages in chain.py."""

import functools
from typing import Any

from airflow.sdk import DAG, Asset, CronDataIntervalTimetable

from trellis.schedules import CronUntilTimetable
from trellis.workflow.assembly import chain
from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.deadline import deadline
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.assembly.links import ResultsLink
from trellis.workflow.assembly.notifications import tell
from trellis.workflow.assembly.page import page
from trellis.workflow.contracts import assets
from trellis.workflow.contracts.run_params import run_params
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.schedule import MANUAL, NEW_DATA, after
from trellis.workflow.stages import costs, failed
from trellis.workflow.stages.stage import Building, Tasks


def build(experiment: Experiment, platform: Platform) -> DAG:
    """The DAG of an experiment: the stages that it has, in the order of the chain."""
    record = failed.recorder(experiment, platform, chain.STAGES)
    alert = on_failure(platform, chain.advice(), record, chain.ends_run())
    with group_dag(
        platform,
        experiment.name,
        alert,
        description=experiment.about.partition("\n")[0],
        doc_md=page(experiment, platform, chain.STAGES, chain.at_most(experiment, platform)),
        schedule=_schedule(experiment, platform),
        # A schedule that is faster than its runs waits, instead of paying for two at once.
        max_active_runs=1,
        tags=[experiment.model, *experiment.other_models, experiment.task],
        owners=[experiment.owner],
        deadline=deadline(experiment, platform),
    ) as dag:
        building = Building(
            experiment, platform, chain.STAGES, alert, functools.partial(tell, platform)
        )
        made = building.made
        for stage in costs.of(chain.STAGES, experiment):
            tasks = stage.tasks(building)
            made[stage.name] = tasks if isinstance(tasks, Tasks) else Tasks(tasks, tasks)
        for before, after in chain.edges(experiment):
            for task in _each(made[before].last):
                task >> made[after].first
    # Given to the DAG after its tasks: a task would copy them, and Airflow validates each copy when
    # it serializes the DAG (apache/airflow#32434). At run time a task gets its DAG's either way.
    # Added, not assigned: Airflow would validate a scheduled DAG's defaults, which are the
    # experiment's own values, for longer than all else here takes.
    dag.params.update(run_params(experiment, platform.region))
    link = ResultsLink(dag.dag_id, experiment.generation)
    for stage in costs.of(chain.STAGES, experiment):
        if stage.linked:
            task = dag.get_task(stage.name)
            task.operator_extra_links = (*task.operator_extra_links, link)
    return dag


def _each(tasks: Any) -> list[Any]:
    return tasks if isinstance(tasks, list) else [tasks]


def _schedule(
    experiment: Experiment, platform: Platform
) -> CronDataIntervalTimetable | CronUntilTimetable | list[Asset] | None:
    """Return the DAG's schedule. By time, runs cover an interval: the run of a week starts when
    that week is over. Else an event of an Asset starts a run.
    """
    schedule = experiment.schedule
    if schedule == MANUAL:
        return None
    if schedule == NEW_DATA:
        return [assets.source(experiment.name, platform)]
    if (found := after(schedule)) is not None:
        of = {"dataset": assets.dataset, "champion": assets.champion}[found.what]
        return [of(found.experiment, platform)]
    if experiment.until is not None:
        return CronUntilTimetable(schedule, experiment.until.isoformat())
    return CronDataIntervalTimetable(schedule, timezone="UTC")
