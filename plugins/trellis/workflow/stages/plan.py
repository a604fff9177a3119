"""plan: decide what the run does, and refuse before anything is spent.

Looks at the source, finds out whether its dataset is there already, bounds the cost, writes
plan.json and makes the messages of the jobs whose content is known by now.
"""

from dataclasses import dataclass
from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException

from research import cost, jobs, layout, params, source
from research.experiment import Experiment
from research.plan import SCHEMA, Plan
from research.platform import Platform, PlatformError
from research.problems import FileError
from research.stages import automl, bqml, check, compare, export, snapshot, tune
from research.table import Table


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the messages of the jobs: {"export", "tuning_job", ...}."""

    @airflow_task(task_id="plan")
    def plan(params, run_id, dag_run, data_interval_start=None, data_interval_end=None):
        interval = (data_interval_start, data_interval_end)
        try:
            return make(experiment, platform, params, run_id, dag_run.run_after, interval)
        except (FileError, source.SourceError, PlatformError, cost.BudgetError) as error:
            raise AirflowFailException(f"Refused, nothing was spent. {error}") from None

    return plan()


@dataclass(frozen=True)
class Found:
    """What a look at the source told.

    source: the manifest, table or query. examples, classes: None where only reading would tell.
    What follows is only of tables: statement, the SQL that freezes the rows; bytes, what it reads.
    """

    source: str
    fingerprint: str
    examples: int | None
    classes: dict[str, int] | None
    table: Table | None = None
    partition: dict[str, str] | None = None
    statement: str = ""
    bytes: int = 0


def make(
    experiment: Experiment,
    platform: Platform,
    values: Any,
    run_id: str,
    created: Any,
    interval: tuple[Any, Any],
) -> dict[str, Any]:
    """Plan one run: write plan.json, return the messages of its jobs.

    Doing it again gives the same plan, unless source or dataset changed in between.
    Raises FileError, SourceError, PlatformError or BudgetError for what a person has to change.
    """
    from research import storage

    experiment = params.apply(experiment, values)
    _within_budget(experiment, cost.at_most(experiment, platform))
    jobs.private_connection(experiment, platform)
    storage.check_bucket(platform)
    if experiment.source.kind == "image":
        found = _images(experiment, platform)
    else:
        found = _rows(experiment, platform, interval, tuple(values.get(d) for d in params.DAYS))
    limit = cost.at_most(experiment, platform, found.bytes)
    _within_budget(experiment, limit)
    folder = layout.run_folder(run_id, experiment.generation)
    plan = Plan(
        experiment,
        layout.Run(platform.bucket, experiment.name, folder),
        layout.dataset(platform.bucket, experiment.name, found.fingerprint),
        found.fingerprint,
        found.table,
        found.partition,
    )
    mark = layout.dataset_mark(plan.dataset)
    exists, previous = storage.newest_before(platform, mark, layout.dataset_marks(experiment.name))
    serving = cost.serving(experiment)
    content = {
        "schema": SCHEMA,
        "experiment": experiment.name,
        "run": plan.run.uri,
        "run_id": run_id,
        "created": created.isoformat(),
        "data_interval": {
            name: moment.isoformat() if moment else None
            for name, moment in zip(("start", "end"), interval, strict=True)
        },
        "configuration": experiment.configuration(),
        "dataset": {
            "uri": plan.dataset,
            "fingerprint": plan.fingerprint,
            "exists": exists,
            "source": found.source,
            "partition": found.partition,
            "examples": found.examples,
            "classes": found.classes,
            "previous": previous.removesuffix("dataset.json") if previous else None,
        },
        "table": found.table.to_json() if found.table else None,
        "baselines": cost.baseline_names(experiment),
        "jobs": _jobs(experiment, exists),
        "rates": cost.rates(experiment),
        "cost": {
            "at_most_usd": round(limit.usd, 2),
            "stages": {stage: round(usd, 2) for stage, usd in limit.stages.items()},
            "assumptions": limit.assumptions,
            "serving": serving.to_json() if serving else None,
        },
    }
    storage.write_json(platform, plan.run.plan, content)
    print(f"{plan.run.plan}: {describe(found)}; {limit}")
    if serving:
        print(f"If the best training is promoted, serving costs {serving}")
    print(f"Dataset {plan.dataset} {'is there already' if exists else 'will be made'}")
    return {
        "dataset": {"uri": plan.dataset, "fingerprint": plan.fingerprint},
        "commit_mark": mark,
        "export": export.body(plan, platform),
        "tuning_job": tune.job(plan, platform),
        "compare_job": compare.job(plan, platform),
        **(_table_jobs(plan, platform, found.statement) if found.table else {}),
        **({"automl": automl.jobs_of(plan, platform)} if experiment.baselines.automl else {}),
    }


def describe(found: Found) -> str:
    """The source in a few words."""
    if found.table is None:
        return f"{found.examples} images in {len(found.classes or {})} classes"
    rows = "rows" if found.examples is None else f"{found.examples:,} rows"
    part = found.partition
    which = f" with {part['column']} from {part['from']} to {part['to']}" if part else ""
    return f"{rows}{which}, {len(found.table.features)} features, {found.bytes:,} bytes to read"


def _within_budget(experiment: Experiment, limit: cost.Cost) -> None:
    remedies = "fewer trials, trainings or workers, smaller machines, shorter timeouts, no AutoML"
    cost.check_budget(f"A run of {experiment.name}", limit, experiment.budget, remedies)


def _table_jobs(plan: Plan, platform: Platform, statement: str) -> dict[str, Any]:
    """The messages that only a table's run has."""
    types = plan.experiment.baselines.bqml
    return {
        "snapshot": snapshot.job(plan, platform, statement),
        "snapshot_table": jobs.snapshot(plan, platform),
        "check": check.job(plan, platform),
        "extract": snapshot.extract_job(plan, platform),
        "extracted": snapshot.extracted(plan),
        "bqml": {name: bqml.job(plan, platform, name) for name in types},
    }


def _rows(
    experiment: Experiment, platform: Platform, interval: tuple[Any, Any], days: tuple[Any, Any]
) -> Found:
    """What BigQuery says of the table or query."""
    from research import warehouse

    found = warehouse.inspect(experiment, platform, interval, days)
    if cost.baseline_names(experiment) and not found.table.of_baselines():
        raise source.SourceError(
            "BigQuery ML and AutoML read no sequences, and this experiment has no other features; "
            "leave `baselines` out"
        )
    sequences = any(feature.kind == "sequence" for feature in found.table.features)
    if experiment.model == "recurrent" and not sequences:
        raise source.SourceError(
            "model: recurrent is for sequences, and no feature is an ARRAY column: use dense"
        )
    warehouse.create_dataset(platform)
    partition = found.partition.to_json() if found.partition else None
    return Found(
        experiment.source.address,
        found.fingerprint,
        found.examples,
        None,
        found.table,
        partition,
        found.snapshot_sql,
        found.bytes,
    )


def _images(experiment: Experiment, platform: Platform) -> Found:
    """What the manifest holds. Raises SourceError."""
    from google.cloud.exceptions import Forbidden, NotFound

    from research import storage

    address = platform.uri(experiment.source.images)
    manifest = storage.blob(platform, address)
    try:
        manifest.reload()
        with manifest.open("rt", encoding="utf-8-sig", newline="") as text:
            contents = source.read_manifest(address, text)
    except NotFound:
        what = "manifest" if manifest.bucket.exists() else f"bucket gs://{manifest.bucket.name}"
        raise source.SourceError(
            f"There is no {what} (source.images: {address}), or this project may not see it."
        ) from None
    except Forbidden as error:
        raise source.SourceError(
            f"This project may not read {address} (source.images): {error.message}"
        ) from None
    source.check_contents(address, contents, experiment)
    version = {"generation": manifest.generation, "crc32c": manifest.crc32c}
    fingerprint = source.fingerprint(address, version, experiment)
    classes = dict(sorted(contents.classes.items()))
    return Found(address, fingerprint, contents.examples, classes)


def _jobs(experiment: Experiment, exists: bool) -> dict[str, int]:
    """How many jobs the run makes, by kind; BigQuery's are not counted."""
    automl = int(experiment.baselines.automl is not None)
    return {
        "dataflow": int(not exists),
        "tuning": 1,
        "custom": experiment.train.top + 1,
        "automl": automl,
        "batch": automl,
    }
