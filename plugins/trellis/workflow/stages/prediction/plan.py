"""plan: decide what a prediction does, and refuse before anything is spent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from google.cloud.exceptions import NotFound

from trellis.vertex.registry import AUTOML, BQML
from trellis.workflow import labels
from trellis.workflow.contracts import prediction_params
from trellis.workflow.contracts.aliases import CHAMPION
from trellis.workflow.contracts.errors import NoRowsError, SourceError
from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.contracts.prediction_plan import PredictionPlan, Rows
from trellis.workflow.contracts.table import Table
from trellis.workflow.lookups import documents, own_dataset, storage, versions
from trellis.workflow.lookups.versions import VersionError
from trellis.workflow.pricing import prediction
from trellis.workflow.pricing.cost import BudgetError
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis.workflow.spec.prediction import DATE, ImagePredict
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.prediction import images, rows, truth
from trellis.workflow.stages.refusal import refused
from trellis.workflow.validation import group
from trellis_contracts.plan import PlanFile

EXPIRES = timedelta(days=14)
"""The frozen rows are kept to inspect a prediction, not permanently."""


_OTHER_VERSION = (
    "Another version of Trellis trained this model: choose another version (Model in the trigger "
    "form), or let a run promote one."
)


class NoModelError(ValueError):
    """There is no model to predict with; the message says what to do."""


@dataclass(frozen=True)
class Champion:
    """The version that predicts. service: as of the plan. table: its training columns. dataset:
    folder of its dataset. configuration: of the run that trained it. bqml: as of `Rows`.
    """

    name: str
    service: str | None
    run: str
    table: Table
    dataset: str
    configuration: Mapping[str, Any]
    bqml: str | None = None


@dataclass(frozen=True)
class Found:
    """Facts about the rows or images: fields of the plan, and the bytes of the rows."""

    source: str
    partition: Mapping[str, str] | None
    rows: Rows | None
    instances: int | None
    left_out: Sequence[str] | int
    output: str
    bytes: int = 0


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the plan's address."""

    @function_task(task_id="plan")
    def plan(params=None, run_id=None, data_interval_start=None, data_interval_end=None):
        interval = (data_interval_start, data_interval_end)
        try:
            plan_ = make(experiment, platform, params, run_id, interval)
        except NoRowsError as error:
            print(f"Nothing to predict. {error}")
            raise AirflowSkipException(str(error)) from None
        except (
            FileError,
            SourceError,
            PlatformError,
            VersionError,
            NoModelError,
            BudgetError,
        ) as error:
            rows = Prediction(experiment, platform, run_id).examples_of("plan")
            raise refused(error, platform, rows) from None
        return plan_.run.plan

    return plan()


def make(
    experiment: Experiment,
    platform: Platform,
    values: Any,
    run_id: str,
    interval: tuple[Any, Any],
) -> PredictionPlan:
    """Plan one run, and write plan.json.

    Repeating it uses the same version of the model, even if the alias has moved.
    Raises FileError, SourceError, PlatformError, VersionError, NoModelError or BudgetError for what
    the user must change, NoRowsError if there is nothing to do.
    """
    experiment = prediction_params.apply(experiment, values)
    run = Prediction(experiment, platform, run_id)
    group.require(experiment, platform)
    prediction.within_budget(experiment, prediction.at_most(experiment, platform))
    storage.check_bucket(platform)
    champion = _champion(run, values["model"])
    if isinstance(experiment.prediction, ImagePredict):
        found = _images(run, champion, interval, values.get("from"))
    else:
        found = _rows(run, champion, champion.table, interval, values)
    read_later = truth.planned_bytes(experiment, platform) if experiment.prediction.truth else 0
    automl = champion.service == AUTOML
    limit = prediction.at_most(experiment, platform, found.bytes, read_later, automl=automl)
    prediction.within_budget(experiment, limit)
    start, end = (moment.isoformat() if moment else None for moment in interval)
    plan = PredictionPlan(
        run=run,
        data_interval={"start": start, "end": end},
        model=champion.name,
        service=champion.service,
        model_run=champion.run,
        dataset=champion.dataset,
        source=found.source,
        partition=found.partition,
        rows=found.rows,
        instances=found.instances,
        left_out=found.left_out,
        output=found.output,
        cost={
            "at_most_usd": round(limit.usd, 2),
            "stages": {stage: round(usd, 6) for stage, usd in limit.stages.items()},
            "assumptions": limit.assumptions,
            **({"query_bytes": found.bytes} if found.rows else {}),
        },
    )
    documents.write(platform, "prediction_plan", run.plan, plan.to_json())
    _tell(plan, limit)
    return plan


def _champion(run: Prediction, wanted: str) -> Champion:
    """The version that this run predicts with: that of its plan, if there is one already."""
    experiment, platform = run.experiment, run.platform
    planned = documents.find(platform, "prediction_plan", run.plan)
    known = versions.versions(experiment, platform)
    if not known:
        raise NoModelError(
            f"There is no model of {experiment.name} yet: a run of the DAG `{experiment.name}` "
            "must promote one first (`deploy` in its file says when that happens)."
        )
    number = planned["model"].rpartition("@")[2] if planned else wanted
    version = versions.find(known, number)
    if version is None and wanted == CHAMPION:
        raise NoModelError(
            f"No version of {experiment.name} is the champion: a run of the DAG "
            f"`{experiment.name}` must promote one first. "
            f"{versions.missing(known, CHAMPION)}"
        )
    if version is None:
        raise NoModelError(versions.missing(known, number))
    if not version.run:
        raise NoModelError(
            f"The description of {version.name} names no run, so its training data is unknown: "
            "choose another version (Model in the trigger form)."
        )
    try:
        file = documents.find_file(platform, PlanFile, f"{version.run}plan.json", _OTHER_VERSION)
    except AirflowFailException as error:
        raise NoModelError(str(error)) from None
    if file is None:
        raise NoModelError(
            f"The plan of the run that made {version.name} is gone ({version.run}plan.json): "
            "choose another version (Model in the trigger form), or restore the file."
        )
    table = Table.from_document(file.table)
    of_images = table.rejected is not None
    if of_images != isinstance(experiment.prediction, ImagePredict):
        learned = "images" if of_images else "a table"
        raise NoModelError(
            f"{version.name} learned from {learned}, and `predict` is of another kind: choose "
            "another version, or let a run promote one of today's file."
        )
    if version.service == AUTOML and not of_images and experiment.source.automl == "image":
        raise NoModelError(
            f"{version.name} is AutoML's model of images, which reads no rows of a table: choose "
            "the version of a training (Model in the trigger form)."
        )
    bqml = _in_bigquery(platform, version) if version.service == BQML else None
    return Champion(
        version.name,
        version.service,
        version.run,
        table,
        file.dataset.uri,
        file.configuration,
        bqml,
    )


def _in_bigquery(platform: Platform, version: versions.RegisteredVersion) -> str:
    """PROJECT.DATASET.MODEL of the version. Raises NoModelError if it is gone."""
    try:
        model = versions.bigquery_model(platform, version.name, version.contender)
    except VersionError as error:
        raise NoModelError(
            f"{error}: put that file back, or choose another version (Model in the trigger form)."
        ) from None
    try:
        own_dataset.client(platform).get_model(model)
    except NotFound:
        raise NoModelError(
            f"{version.name} is the model {model} of BigQuery ML, which was deleted: choose "
            "another version (Model in the trigger form), or let a run promote one."
        ) from None
    return model


def _rows(run: Prediction, champion: Champion, learned: Table, interval: Any, values: Any) -> Found:
    days = (values.get("from"), values.get("to"))
    model = champion.name.rpartition("/")[2]
    ours = champion.service is None
    found = rows.inspect(run.experiment, run.platform, model, learned, interval, days, not ours)
    return Found(
        source=found.name,
        partition=found.partition.to_json() if found.partition else None,
        rows=Rows(
            found.statement,
            datetime.now(UTC) + EXPIRES,
            labels.of(run.experiment.task).answer,
            len(learned.images),
            # The configuration is that of the run's trainings.
            abstained=ours and champion.configuration.get("abstain") is not None,
            conformal=_conformal(champion) if ours else None,
            bqml=champion.bqml,
        ),
        instances=found.rows,
        left_out=found.left_out,
        output=run.output_table,
        bytes=found.bytes,
    )


def _conformal(champion: Champion) -> str | None:
    if champion.configuration.get("coverage") is None:
        return None
    return "interval" if champion.table.regression else "set"


def _images(run: Prediction, champion: Champion, interval: Any, day: Any) -> Found:
    given = run.experiment.image_prediction.images
    address = images.folder(run.platform, given, interval[0], day)
    daily = DATE in given
    (image,) = champion.table.features
    form = images.of_automl if champion.service == AUTOML else images.of_ours(image.name)
    written = images.write_instances(run.platform, address, run.instances, form, daily)
    count, others = written
    if run.experiment.prediction.truth:
        own_dataset.create(run.platform)
    return Found(
        source=address,
        partition=None,
        rows=None,
        instances=count,
        left_out=others,
        output=f"{run.output_folder}/",
    )


def _tell(plan: PredictionPlan, limit: prediction.Cost) -> None:
    count, part = plan.instances, plan.partition
    what = "images" if plan.rows is None else "rows"
    which = f" with {part['column']} from {part['from']} to {part['to']}" if part else ""
    print(f"Model: {plan.model}, by {plan.model_run}")
    print(f"{'all' if count is None else f'{count:,}'} {what} of {plan.source}{which}")
    if plan.left_out:
        print(f"Left out: {plan.left_out}")
    print(f"Predictions: {plan.output}; {limit}")
