"""The DAG EXPERIMENT-predict: the champion predicts a table's rows, or a folder's images."""

import functools

from airflow.sdk import DAG, CronDataIntervalTimetable
from airflow.sdk.definitions.param import ParamsDict

from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.assembly.notifications import tell
from trellis.workflow.assembly.prediction_page import ADVICE, page
from trellis.workflow.contracts.prediction_params import run_params
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import ImagePredict
from trellis.workflow.spec.schedule import MANUAL
from trellis.workflow.stages.prediction import (
    changes,
    files,
    plan,
    predict,
    publish,
    result,
    snapshot,
    truth,
)
from trellis.workflow.validation.file import PREDICTIONS


def build(experiment: Experiment, platform: Platform) -> DAG:
    """plan -> snapshot -> changes (both of a table) -> predict -> masks (of answers that are
    files) -> publish (of a table) -> result

    Of images whose labels are asked for later, `publish` comes beside `result`.

    A model of BigQuery ML's is asked by `publish`, and `predict` is skipped.

    plan -> truth -> score -> performance, beside them, if labels arrive later (`predict.truth`).
    """
    schedule = experiment.prediction.schedule
    with group_dag(
        platform,
        experiment.name + PREDICTIONS,
        on_failure(platform, ADVICE),
        description=f"The champion of {experiment.name} predicts",
        doc_md=page(experiment, platform),
        schedule=MANUAL
        if schedule == MANUAL
        else CronDataIntervalTimetable(schedule, timezone="UTC"),
        # A schedule that is faster than its runs waits, instead of paying for two at once.
        max_active_runs=1,
        tags=["prediction"],
        owners=[experiment.owner],
    ) as dag:
        planned = plan.task(experiment, platform)
        predicted = predict.task(experiment, platform)
        answered = predicted
        if writing := files.stage(experiment):
            answered = writing.task(experiment, platform)
            predicted >> answered
        resulted = result.task(experiment, platform, functools.partial(tell, platform))
        if isinstance(experiment.prediction, ImagePredict):
            planned >> predicted
            answered >> resulted
            if experiment.prediction.truth:
                answered >> publish.task(experiment, platform)
        else:
            frozen = snapshot.task(experiment, platform)
            compared = changes.task(experiment, platform)
            published = publish.task(experiment, platform)
            planned >> frozen >> compared >> predicted
            answered >> published >> resulted
            # Of a BigQuery ML model `predict` is skipped.
            compared >> published
        if experiment.prediction.truth:
            planned >> truth.tasks(experiment, platform)
    # After the tasks, as in training.py: a copy in each of them costs time.
    dag.params = ParamsDict(run_params(experiment))
    return dag
