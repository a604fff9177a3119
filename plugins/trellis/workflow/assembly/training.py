"""The whole chain on one page: one experiment becomes one DAG."""

from datetime import UTC, datetime
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable

from trellis.schedules import CronUntilTimetable
from trellis.workflow.assembly import deployment as deploy
from trellis.workflow.assembly.access import access_control
from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.deadline import deadline
from trellis.workflow.assembly.default_args import arguments
from trellis.workflow.assembly.links import ResultsLink
from trellis.workflow.assembly.page import page
from trellis.workflow.contracts import assets
from trellis.workflow.contracts.run_params import run_params
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.schedule import MANUAL, NEW_DATA, after
from trellis.workflow.stages import (
    automl,
    baselines,
    bqml,
    changes,
    check,
    choose,
    compare,
    export,
    failed,
    plan,
    promote,
    repeat,
    result,
    served,
    snapshot,
    train,
    tune,
)
from trellis.workflow.stages.ended import EndedOperator

# A schedule needs a first day. `catchup` is off, so an old one makes no run but the latest.
_FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)


def build(experiment: Experiment, platform: Platform) -> DAG:
    """The stages and their order, by what the experiment asks for.

    plan -> export -> changes -> tune -> choose -> train (each chosen trial) -> compare
    -> promote -> deploy -> result, without tune and choose if there is no search, and with
    select -> repeat (each further seed) before compare if `train.seeds` is above 1. Each of
    `other_models` has a search beside `tune`.

    A table's rows come to the export by snapshot -> check -> extract. The baselines learn from the
    snapshot while the trials run, and from the check on, unless a change of the dataset may refuse
    the run; their record is what the comparison waits for. The comparison
    decides whether the best training is promoted; `promote` lets its deployment begin, or skips it.
    """
    alert = on_failure(platform, record=failed.recorder(experiment, platform))
    with DAG(
        dag_id=platform.dag_id(experiment.name),
        description=experiment.about.partition("\n")[0],
        doc_md=page(experiment, platform, cost.at_most(experiment, platform)),
        schedule=_schedule(experiment, platform),
        start_date=_FIRST_DAY,
        catchup=False,
        # A schedule that is faster than its runs waits, instead of paying for two at once.
        max_active_runs=1,
        # Where a DAG is built only to see whether it can be, Airflow must not take it.
        auto_register=False,
        tags=["research", experiment.model, *experiment.other_models, experiment.task],
        access_control=access_control(platform, [experiment.owner]),
        deadline=deadline(experiment, platform),
        default_args={
            "owner": experiment.owner,
            **arguments(platform, alert),
        },
    ) as dag:
        planned = plan.task(experiment, platform)
        exported = export.task(experiment, platform)
        # At least one training has succeeded, and all have ended.
        trained = EndedOperator(
            task_id="trained",
            of="train",
            made_by=None if experiment.tune is None else "choose",
            one_succeeded=True,
            on_failure=alert,
        )
        compared = compare.task(experiment, platform)

        changed = changes.task(experiment, platform).operator
        exported >> changed
        chosen = None
        if experiment.tune is not None:
            tuned = [
                tune.task(experiment, platform, model)
                for model, one in experiment.by_model.items()
                if one.tune is not None
            ]
            chosen = choose.task(experiment, platform, [each.output for each in tuned])
            changed >> tuned >> chosen
        (
            (changed if chosen is None else chosen)
            >> train.task(experiment, platform, chosen)
            >> trained
        )
        resulted = result.task(experiment, platform)
        trained >> compared >> resulted
        if experiment.train.seeds > 1:
            selected, repeat_ = repeat.tasks(experiment, platform, chosen)
            # A repeat that failed is in the report.
            repeated = EndedOperator(
                task_id="repeated",
                of="repeat",
                made_by="select",
                one_succeeded=False,
                on_failure=alert,
            )
            trained >> selected >> repeat_ >> repeated >> compared

        if experiment.source.kind == "image":
            # AutoML takes the images that the export took.
            ready = changed
            planned >> exported
        else:
            ready = check.task(experiment, platform)
            planned >> snapshot.task(experiment, platform) >> ready
            ready >> snapshot.extract_task(experiment, platform) >> exported
            if experiment.source.changes.beyond == "refuse":
                ready = changed
        _baselines(experiment, platform, ready, compared)
        if experiment.deploy is not None:
            # The deployment is over: done, given up, or skipped.
            settled = EmptyOperator(task_id="settled", trigger_rule="all_done")
            promoted = promote.task(experiment, platform)
            planned >> served.task(experiment, platform) >> compared >> promoted
            promoted >> deploy.tasks(experiment, platform) >> settled >> resulted
    # Given to the DAG after its tasks: a task would copy them, and Airflow validates each copy when
    # it serializes the DAG (apache/airflow#32434). At run time a task gets its DAG's either way.
    # Added, not assigned: Airflow would validate a scheduled DAG's defaults, which are the
    # experiment's own values, for longer than all else here takes.
    dag.params.update(run_params(experiment, platform.region))
    link = ResultsLink(dag.dag_id, experiment.generation)
    for name in ("plan", "compare", "result"):
        task = dag.get_task(name)
        task.operator_extra_links = (*task.operator_extra_links, link)
    return dag


def _baselines(experiment: Experiment, platform: Platform, ready: Any, compared: Any) -> None:
    """The baselines between the rows that are `ready` and the comparison."""
    groups = []
    if experiment.baselines.bqml:
        groups.append(bqml.tasks(experiment, platform))
    if experiment.baselines.automl:
        groups.append(automl.tasks(experiment, platform))
    if groups:
        ready >> groups >> baselines.task(experiment, platform, ready.task_id) >> compared


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
