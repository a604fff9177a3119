"""ask_served: a served model of a service predicts the test split, so that it is compared too.

Such a model has no files that the comparison could load. BigQuery ML answers a query; AutoML a
batch prediction, which costs what that of a baseline does. Nothing is asked if another model is
served, or if the model was trained on the run's own dataset: then its predictions are in the
bucket. If it fails, the leaderboard shows the served model as failed, and nothing is promoted.
"""

import functools
from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost, queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import automl_tables, bqml, job_messages, vertex_job
from trellis.workflow.stages.planned import planned, returned
from trellis.workflow.stages.stage import Building, Stage, Tasks, Usd
from trellis_contracts.layout import RunFolder
from trellis_contracts.plan import PlanFile
from trellis_contracts.served import Served

GROUP = "ask_served"


def _asked(plan: Plan, platform: Platform, service: str) -> Served | None:
    """What is served, if it is a model of the service that must be asked."""
    from trellis.workflow.lookups import documents, left

    found = documents.find_file(platform, Served, plan.run.served)
    if found is None or found.service != service:
        return None
    if found.origin is not None:
        folder = found.origin.rstrip("/").rsplit("/", 2)[0]
        then = documents.find_file(platform, PlanFile, RunFolder(f"{folder}/").plan)
        if then is not None and then.dataset.fingerprint == plan.dataset.fingerprint:
            return None
    left.snapshot(plan, platform)
    return found


def query(plan: Plan, platform: Platform) -> dict[str, Any] | None:
    """The query of a served BigQuery ML model; None if none is to be asked."""
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import versions

    found = _asked(plan, platform, "bqml")
    if found is None:
        return None
    try:
        model = versions.bigquery_model(platform, str(found.model), found.origin)
    except versions.VersionError as error:
        raise AirflowFailException(
            f"{error}, which is served: put that file back, or serve another version."
        ) from None
    statement = bqml.prediction(plan, platform, model, plan.run.contender("served"))
    limit = queries.limit(plan.query_bytes, queries.BASELINE)
    return job_messages.query(plan.experiment, platform, statement, **limit)


def rows(plan: Plan, platform: Platform) -> dict[str, Any] | None:
    """The query of the test rows for a served AutoML model; None if none is to be asked."""
    found = _asked(plan, platform, "automl")
    return None if found is None else automl_tables.test_rows(plan, platform)


def _asks_automl(plan: Plan, platform: Platform) -> bool:
    return _asked(plan, platform, "automl") is not None


def prediction(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The BatchPredictionJob of the served AutoML model."""
    from trellis.workflow.lookups import documents
    from trellis.workflow.stages import automl_images

    model = str(documents.read_file(platform, Served, plan.run.served).model)
    if plan.experiment.source.automl == "image":
        return automl_images.prediction(plan, platform, model, plan.run.contender("served"))
    return automl_tables.prediction(plan, platform, model)


def export(plan: Plan, platform: Platform, predicted: str) -> dict[str, Any]:
    """The query job that exports the AutoML model's predictions."""
    return automl_tables.export(plan, platform, predicted, plan.run.contender("served"))


def _tasks(dag: Building) -> Tasks:
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import TaskGroup

    from trellis.bigquery.operators import BigQueryJobOperator
    from trellis.vertex.operators import BatchPredictionJobOperator
    from trellis.workflow.stages import automl_images

    experiment, platform = dag.experiment, dag.platform
    in_bigquery: dict[str, Any] = {
        "project_id": platform.project,
        "gcp_conn_id": platform.connection,
        "generation": experiment.generation,
        "poll_interval": platform.poll_seconds,
        "location": platform.location,
    }
    field = functools.partial(planned, experiment, platform)
    first: list[Any] = []
    with TaskGroup(GROUP) as group:
        if "bqml" in experiment.deployment.services:
            asked = BigQueryJobOperator(task_id="bqml", configuration=field(query), **in_bigquery)
            first.append(asked)
        if experiment.may_deploy_automl:
            of_images = experiment.source.automl == "image"
            ready = (
                automl_images.served(experiment, platform, _asks_automl)
                if of_images
                else BigQueryJobOperator(task_id="rows", configuration=field(rows), **in_bigquery)
            )
            predict = BatchPredictionJobOperator(
                task_id="predict",
                batch_prediction_job=field(prediction),
                limit=cost.AUTOML_PREDICTION_LIMIT.total_seconds(),
                usd_per_hour=cost.automl_prediction(experiment, 1, platform.region),
                **vertex_job.arguments(experiment, platform, 1),
            )
            ready >> predict
            if not of_images:
                predict >> BigQueryJobOperator(
                    task_id="export",
                    configuration=field(export, returned(f"{GROUP}.predict", "output")),
                    **in_bigquery,
                )
            first.append(ready)
    # Whatever came of it, the comparison goes on.
    ended = EmptyOperator(task_id="asked", trigger_rule="all_done")
    group >> ended
    return Tasks(first, ended)


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    usd = queries.BASELINE * cost.scan(source_bytes, platform.region)
    if experiment.may_deploy_automl:
        longest = cost.hours(cost.AUTOML_PREDICTION_LIMIT)
        usd += cost.automl_prediction(experiment, longest, platform.region)
    return {GROUP: usd}


STAGE = Stage(
    name=GROUP,
    where="BigQuery",
    writes=["served/"],
    when=lambda experiment: experiment.deploy is not None and bool(experiment.deploy.services),
    tasks=_tasks,
    page=lambda *_: [
        ("ask_served", "if a service's model is served, it predicts the test split (BigQuery)")
    ],
    at_most=_at_most,
    advice={
        f"{GROUP}.": "The run goes on: its leaderboard shows the served model as failed, and "
        "promotes nothing. Clear this task once the cause is fixed; the comparison follows.",
        "asked": "It only waits for what the served model predicts: clear it.",
    },
)
