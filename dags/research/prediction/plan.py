"""plan: decide what a prediction does, and refuse before anything is spent.

plan.json, schema 1:
    {"schema": 1, "experiment", "run_id", "data_interval": {"start", "end"} or null each,
     "model": "projects/P/locations/R/models/ID@3",  the version: a retry, or an alias that moves
                                                     meanwhile, changes nothing
     "model_run": "gs://.../runs/RUN/",              the run that trained it
     "configuration": {...},                         the experiment, this run's Params applied
     "source", "partition": {"column", "from", "to"} or null,
     "instances": how many; null if only reading would tell,
     "left_out": columns that the model does not know (images: objects that are none),
     "output": where the predictions will be,
     "cost": {"at_most_usd", "stages", "assumptions"}}
"""

from dataclasses import dataclass
from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from research import jobs, source
from research.cost import BudgetError, check_budget
from research.experiment import Experiment
from research.platform import Platform, PlatformError
from research.prediction import cost, params
from research.prediction.layout import Prediction
from research.prediction.section import DATE
from research.problems import FileError
from research.registry_names import CHAMPION
from research.table import Table
from research.table import from_json as table_from_json

SCHEMA = 1

# The server reads the images of a request together, 10 MB at most (trainer.serving.limits).
_IMAGES_AT_ONCE = 8


class NoModelError(ValueError):
    """There is no model to predict with; the message says what to do."""


@dataclass(frozen=True)
class Champion:
    """The version that predicts. table: what it learned from; None for a model of images."""

    name: str
    run: str
    table: Table | None


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the messages of the jobs: {"snapshot", "prediction", ...}."""

    @airflow_task(task_id="plan")
    def plan(params, run_id, data_interval_start=None, data_interval_end=None):
        from research.registry import VersionError

        interval = (data_interval_start, data_interval_end)
        try:
            return make(experiment, platform, params, run_id, interval)
        except source.NoRowsError as error:
            print(f"Nothing to predict. {error}")
            raise AirflowSkipException(str(error)) from None
        except (
            FileError,
            source.SourceError,
            PlatformError,
            VersionError,
            NoModelError,
            BudgetError,
        ) as error:
            raise AirflowFailException(f"Refused, nothing was spent. {error}") from None

    return plan()


def make(
    experiment: Experiment,
    platform: Platform,
    values: Any,
    run_id: str,
    interval: tuple[Any, Any],
) -> dict[str, Any]:
    """Plan one run: write plan.json, return the messages of its jobs.

    Doing it again predicts by the same version of the model, whatever the alias says by then.
    Raises FileError, SourceError, PlatformError, VersionError, NoModelError or BudgetError for what
    a person has to change, NoRowsError if there is nothing to do.
    """
    from research import storage

    experiment = params.apply(experiment, values)
    run = Prediction(experiment, platform, run_id)
    _within_budget(experiment, cost.at_most(experiment))
    storage.check_bucket(platform)
    champion = _champion(run, values["model"])
    predict = experiment.predict
    if predict.kind == "image":
        found = _images(run, interval, values.get("from"))
    else:
        days = (values.get("from"), values.get("to"))
        found = _rows(run, champion, interval, days)
    read = found.pop("bytes", 0)
    statement = found.pop("statement", None)
    limit = cost.at_most(experiment, read)
    _within_budget(experiment, limit)
    content = {
        "schema": SCHEMA,
        "experiment": experiment.name,
        "run_id": run_id,
        "data_interval": {
            name: moment.isoformat() if moment else None
            for name, moment in zip(("start", "end"), interval, strict=True)
        },
        "model": champion.name,
        "model_run": champion.run,
        "configuration": experiment.configuration(),
        **found,
        "cost": {
            "at_most_usd": round(limit.usd, 2),
            "stages": {stage: round(usd, 4) for stage, usd in limit.stages.items()},
            "assumptions": limit.assumptions,
        },
    }
    storage.write_json(platform, run.plan, content)
    _tell(content, limit)
    return _messages(run, champion, statement)


def _champion(run: Prediction, wanted: str) -> Champion:
    """The version that this run predicts with: that of its plan, if it has been planned before."""
    from google.cloud.exceptions import NotFound

    from research import registry, storage

    experiment, platform = run.experiment, run.platform
    try:
        planned = storage.read_json(platform, run.plan)["model"]
    except NotFound:
        planned = None
    known = registry.versions(experiment, platform)
    if not known:
        raise NoModelError(
            f"There is no model of {experiment.name} yet: a run of the DAG `{experiment.name}` "
            "must promote one first (`deploy` in its file says when that happens)."
        )
    number = planned.rpartition("@")[2] if planned else wanted
    version = registry.find(known, number)
    if version is None and wanted == CHAMPION:
        raise NoModelError(
            f"No version of {experiment.name} is the champion: a run of the DAG "
            f"`{experiment.name}` must promote one first. "
            f"{registry.missing(known, CHAMPION)}"
        )
    if version is None:
        raise NoModelError(registry.missing(known, number))
    if not version.run:
        raise NoModelError(
            f"The description of {version.name} names no run, so that nobody knows what it learned "
            "from: choose another version (Model in the trigger form)."
        )
    try:
        content = storage.read_json(platform, f"{version.run}plan.json")
    except NotFound:
        raise NoModelError(
            f"The plan of the run that made {version.name} is gone ({version.run}plan.json): "
            "choose another version (Model in the trigger form), or put it back."
        ) from None
    table = table_from_json(content["table"]) if content["table"] else None
    if (table is None) != (experiment.predict.kind == "image"):
        learned = "images" if table is None else "a table"
        raise NoModelError(
            f"{version.name} learned from {learned}, and `predict` is of another kind: choose "
            "another version, or let a run promote one of today's file."
        )
    return Champion(version.name, version.run, table)


def _rows(run: Prediction, champion: Champion, interval: Any, days: Any) -> dict[str, Any]:
    from research.prediction import rows

    model = champion.name.rpartition("/")[2]
    found = rows.inspect(run.experiment, run.platform, model, champion.table, interval, days)
    return {
        "source": found.name,
        "partition": found.partition.to_json() if found.partition else None,
        "instances": found.rows,
        "left_out": found.left_out,
        "output": run.output_table,
        "bytes": found.bytes,
        "statement": found.statement,
    }


def _images(run: Prediction, interval: Any, day: Any) -> dict[str, Any]:
    from research.prediction import images

    given = run.experiment.predict.images
    address = images.folder(run.platform, given, interval[0], day)
    daily = DATE in given
    count, others = images.write_instances(run.platform, address, run.instances, daily)
    return {
        "source": address,
        "partition": None,
        "instances": count,
        "left_out": others,
        "output": f"{run.output_folder}/",
    }


def _messages(run: Prediction, champion: Champion, statement: str | None) -> dict[str, Any]:
    """The jobs: {"prediction"}, and of a table {"snapshot", "snapshot_table", ...} too."""
    job = prediction_job(run, champion.name)
    if champion.table is None:
        return {"prediction": job}
    from research.prediction import rows

    return {
        "snapshot": rows.snapshot_job(run, statement),
        "snapshot_table": run.snapshot,
        "prediction": job,
        "output": run.output_table,
        "publish": {
            "output": run.output_table,
            "regression": champion.table.regression,
            **rows.table_options(run, "Predictions"),
        },
    }


def prediction_job(run: Prediction, model: str) -> dict[str, Any]:
    """The BatchPredictionJob. model: models/ID@VERSION, never an alias."""
    experiment, platform = run.experiment, run.platform
    machines = experiment.predict.machines
    machine: dict[str, Any] = {"machine_type": machines.type}
    if machines.gpu:
        machine |= {"accelerator_type": machines.gpu, "accelerator_count": machines.gpus}
    if experiment.predict.kind == "image":
        io = {
            "input_config": {
                "instances_format": "jsonl",
                "gcs_source": {"uris": [run.instances]},
            },
            "instance_config": {"instance_type": "object"},
            "manual_batch_tuning_parameters": {"batch_size": _IMAGES_AT_ONCE},
            "output_config": {
                "predictions_format": "jsonl",
                "gcs_destination": {"output_uri_prefix": run.output_folder},
            },
        }
    else:
        io = {
            "input_config": {
                "instances_format": "bigquery",
                "bigquery_source": {"input_uri": f"bq://{run.snapshot}"},
            },
            # The model refuses what is no feature; the key comes back beside its prediction.
            "instance_config": {"instance_type": "object", "excluded_fields": ["key"]},
            "output_config": {
                "predictions_format": "bigquery",
                # Not a table of the run's name: a job that failed may have left one, and the next
                # would be refused. Each job makes its own; `publish` makes the run's of it.
                "bigquery_destination": {
                    "output_uri": f"bq://{platform.project}.{platform.dataset}"
                },
            },
        }
    account = platform.service_account
    return {
        "display_name": f"{experiment.name} predictions",
        "model": model,
        **io,
        "dedicated_resources": {
            "machine_spec": machine,
            "starting_replica_count": machines.replicas,
            "max_replica_count": machines.replicas,
        },
        "labels": jobs.labels(run, platform),
        **({"service_account": account} if account else {}),
        **jobs.encryption(platform),
    }


def _within_budget(experiment: Experiment, limit: cost.Cost) -> None:
    remedies = "fewer or smaller machines, a shorter timeout"
    check_budget(f"A prediction of {experiment.name}", limit, experiment.budget, remedies)


def _tell(content: dict[str, Any], limit: cost.Cost) -> None:
    count = content["instances"]
    what = "rows" if content["partition"] or isinstance(content["left_out"], list) else "images"
    part = content["partition"]
    which = f" with {part['column']} from {part['from']} to {part['to']}" if part else ""
    print(f"Model: {content['model']}, by {content['model_run']}")
    print(f"{'all' if count is None else f'{count:,}'} {what} of {content['source']}{which}")
    if content["left_out"]:
        print(f"Left out: {content['left_out']}")
    print(f"Predictions: {content['output']}; {limit}")
