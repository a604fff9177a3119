"""plan: decide what the run does, and refuse before anything is spent.

Looks at the source, finds out whether its dataset is there already, bounds the cost, writes
plan.json and makes the messages of the jobs whose content is known by now.
"""

from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException

from research import cost, layout, params, source
from research.experiment import Experiment
from research.plan import SCHEMA, Plan
from research.platform import Platform
from research.problems import FileError
from research.quantities import usd_text
from research.stages import compare, export, tune


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the messages of the jobs: {"export", "tuning_job", ...}."""

    @airflow_task(task_id="plan")
    def plan(params, run_id, dag_run, data_interval_start=None, data_interval_end=None):
        interval = (data_interval_start, data_interval_end)
        try:
            return make(experiment, platform, params, run_id, dag_run.run_after, interval)
        except (FileError, source.SourceError, BudgetError) as error:
            raise AirflowFailException(f"Refused, nothing was spent. {error}") from None

    return plan()


class BudgetError(ValueError):
    """The run may cost more than its budget."""


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
    Raises FileError, SourceError or BudgetError for what a person has to change.
    """
    experiment = params.apply(experiment, values)
    limit = cost.at_most(experiment, platform)
    if limit.usd > experiment.budget:
        raise BudgetError(
            f"A run of {experiment.name} may cost {limit}, its budget is "
            f"{usd_text(experiment.budget)}: fewer trials, trainings or workers, smaller machines, "
            "shorter timeouts, or a larger `budget`."
        )
    manifest, version, contents = inspect(experiment, platform)
    folder = layout.run_folder(run_id, experiment.generation)
    fingerprint = source.fingerprint(manifest, version, experiment)
    plan = Plan(
        experiment,
        layout.Run(platform.bucket, experiment.name, folder),
        layout.dataset(platform.bucket, experiment.name, fingerprint),
        fingerprint,
    )
    from research import storage

    exists = storage.blob(platform, layout.dataset_mark(plan.dataset)).exists()
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
            "fingerprint": fingerprint,
            "exists": exists,
            "source": manifest,
            "examples": contents.examples,
            "classes": dict(sorted(contents.classes.items())),
        },
        "jobs": {"dataflow": 0 if exists else 1, "tuning": 1, "custom": experiment.train.top + 1},
        "cost": {
            "at_most_usd": round(limit.usd, 2),
            "stages": {stage: round(usd, 2) for stage, usd in limit.stages.items()},
            "assumptions": limit.assumptions,
        },
    }
    storage.write_json(platform, plan.run.plan, content)
    print(
        f"{plan.run.plan}: {contents.examples} images in {len(contents.classes)} classes; {limit}"
    )
    print(f"Dataset {plan.dataset} {'is there already' if exists else 'will be exported'}")
    return {
        "dataset": {"uri": plan.dataset, "fingerprint": fingerprint},
        "export": export.body(plan, platform),
        "commit_mark": layout.dataset_mark(plan.dataset),
        "tuning_job": tune.job(plan, platform),
        "compare_job": compare.job(plan, platform),
    }


def inspect(experiment: Experiment, platform: Platform) -> tuple[str, dict[str, Any], Any]:
    """The manifest's address, what identifies its content, and what it holds, or SourceError."""
    from google.cloud.exceptions import NotFound

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
    source.check_contents(address, contents, experiment)
    return address, {"generation": manifest.generation, "crc32c": manifest.crc32c}, contents
