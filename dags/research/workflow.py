"""The whole chain on one page: one experiment becomes one DAG."""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable

from research import cost
from research.alerts import on_failure
from research.checks import MANUAL
from research.experiment import Experiment
from research.page import page
from research.params import run_params
from research.platform import Platform
from research.stages import choose, compare, export, plan, result, train, tune

# A schedule needs a first day. `catchup` is off, so an old one makes no run but the latest.
_FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)


def build(experiment: Experiment, platform: Platform) -> DAG:
    """plan -> export -> tune -> choose -> train (each chosen trial) -> compare -> result."""
    with DAG(
        dag_id=experiment.name,
        description=experiment.about.partition("\n")[0],
        doc_md=page(experiment, platform, cost.at_most(experiment, platform)),
        schedule=_schedule(experiment.schedule),
        start_date=_FIRST_DAY,
        catchup=False,
        # A schedule that is faster than its runs waits, instead of paying for two at once.
        max_active_runs=1,
        params=run_params(experiment),
        tags=["research", experiment.model, experiment.task],
        # So that a template can hand on a whole job, not its text.
        render_template_as_native_obj=True,
        default_args={"owner": experiment.owner, **_retries(platform)},
    ) as dag:
        planned = plan.task(experiment, platform)
        exported = export.task(experiment, platform)
        tuned = tune.task(experiment, platform)
        chosen = choose.task(experiment, platform, tuned.output)
        trained = train.task(experiment, platform, chosen)
        compared = compare.task(experiment, platform)

        planned >> exported >> tuned >> chosen >> trained >> compared
        compared >> result.task(experiment, platform)
    return dag


def _schedule(schedule: str) -> CronDataIntervalTimetable | None:
    """Runs that cover an interval: the run of a week starts when that week is over."""
    return None if schedule == MANUAL else CronDataIntervalTimetable(schedule, timezone="UTC")


def _retries(platform: Platform) -> dict:
    """How often, and how soon, a task is tried again.

    A retry costs little: it adopts the job that the attempt before it started. What no retry can
    mend is raised as AirflowFailException, and not tried again.
    """
    return {
        "retries": 3,
        "retry_delay": timedelta(seconds=platform.retry_seconds),
        "retry_exponential_backoff": 2,
        "max_retry_delay": timedelta(minutes=10),
        "on_failure_callback": on_failure,
    }
