"""The DAG EXPERIMENT-predict: the champion predicts a table's rows, or a folder's images."""

from datetime import UTC, datetime

from airflow.sdk import DAG, CronDataIntervalTimetable
from airflow.sdk.definitions.param import ParamsDict

from trellis.workflow.assembly.access import access_control
from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.default_args import arguments
from trellis.workflow.assembly.prediction_page import ADVICE, page
from trellis.workflow.contracts.prediction_params import run_params
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import ImagePredict
from trellis.workflow.spec.schedule import MANUAL
from trellis.workflow.stages.prediction import plan, predict, publish, result, snapshot
from trellis.workflow.validation.file import PREDICTIONS

# A schedule needs a first day. `catchup` is off, so an old one makes no run but the latest.
_FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)


def build(experiment: Experiment, platform: Platform) -> DAG:
    """plan -> snapshot (of a table) -> predict -> publish (of a table) -> result"""
    schedule = experiment.prediction.schedule
    with DAG(
        dag_id=platform.dag_id(experiment.name + PREDICTIONS),
        description=f"The champion of {experiment.name} predicts",
        doc_md=page(experiment, platform),
        schedule=None
        if schedule == MANUAL
        else CronDataIntervalTimetable(schedule, timezone="UTC"),
        start_date=_FIRST_DAY,
        catchup=False,
        # As in training.py.
        auto_register=False,
        # A schedule that is faster than its runs waits, instead of paying for two at once.
        max_active_runs=1,
        tags=["research", "prediction"],
        access_control=access_control(platform, [experiment.owner]),
        default_args={
            "owner": experiment.owner,
            **arguments(platform, on_failure(platform, ADVICE)),
        },
    ) as dag:
        planned = plan.task(experiment, platform)
        predicted = predict.task(experiment, platform)
        resulted = result.task(experiment, platform)
        if isinstance(experiment.prediction, ImagePredict):
            planned >> predicted >> resulted
        else:
            frozen = snapshot.task(experiment, platform)
            published = publish.task(experiment, platform)
            planned >> frozen >> predicted >> published >> resulted
    # After the tasks, as in training.py: a copy in each of them costs time.
    dag.params = ParamsDict(run_params(experiment))
    return dag
