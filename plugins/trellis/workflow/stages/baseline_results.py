"""The results of a run's baselines, read from BigQuery and Vertex AI. Called by tasks only.

It finds the jobs of the baselines' tasks by the tasks' keys, so the result is right even if
processes died in between, or tasks were cleared.
"""

import json
from collections.abc import Iterable
from typing import Any

from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from airflow.providers.google.cloud.hooks.vertex_ai.custom_job import CustomJobHook
from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook

from trellis.bigquery.outcome import message
from trellis.bigquery.submission import Work
from trellis.identity import KEY_LABEL, task_key
from trellis.verdict import Verdict
from trellis.vertex.calls import REPEATABLE
from trellis.vertex.jobs import BATCH, PIPELINE, JobKind, Jobs
from trellis.vertex.outcome import describe, verdict
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import storage
from trellis.workflow.pricing import cost
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import automl as automl_stage
from trellis.workflow.stages import automl_tables, bqml_convergence
from trellis.workflow.stages import bqml as bqml_stage
from trellis_contracts.baseline import FeatureWeight
from trellis_contracts.layout import FILE_BASELINE
from trellis_contracts.withheld import withheld


class BaselineFailedError(Exception):
    """A baseline failed; the message says at which step, and why."""


def bqml(
    plan: Plan, platform: Platform, name: str, ti: Any, part: str | None = None, copy: int = -1
) -> dict[str, Any]:
    """Read the result of a BigQuery ML baseline: fields of baseline.json. Raises
    BaselineFailedError. part, copy: as of baselines.record.
    """
    job = _succeeded(plan, platform, ti, bqml_stage.task_id(name), copy)
    folder = bqml_stage.folder(plan, name, part)
    model = bqml_stage.model(plan, platform, name, part)
    runs = (
        _bigquery(platform).get_client(project_id=platform.project).get_model(model).training_runs
    )
    run = runs[-1] if runs else {}
    asked = plan.experiment.baselines.options.get(name, {})
    evaluation = _exported(platform, f"{folder}service/evaluation-")
    return {
        "model": model,
        "options": dict(run.get("trainingOptions", {})),
        "seconds": (job.ended - job.started).total_seconds(),
        "cost_usd": round(
            cost.billed_baseline(
                plan.experiment, f"bqml-{name}", job.total_bytes_billed or 0, platform.region
            ),
            4,
        ),
        "feature_importance": importance(_exported(platform, f"{folder}service/importance-"), plan),
        "evaluation": evaluation[0] if evaluation else {},
        "warnings": bqml_convergence.warnings(name, run, asked),
    }


def automl(plan: Plan, platform: Platform, ti: Any) -> dict[str, Any]:
    """Read the result of the AutoML baseline: fields of baseline.json. Raises
    BaselineFailedError.
    """
    if plan.experiment.source.automl != "image":
        _succeeded(plan, platform, ti, f"{automl_stage.NAME}.views")
    pipeline = _vertex_job(plan, platform, ti, PIPELINE, f"{automl_stage.NAME}.train")
    predicted = _vertex_job(plan, platform, ti, BATCH, f"{automl_stage.NAME}.predict")
    if plan.experiment.source.automl != "image":
        _succeeded(plan, platform, ti, f"{automl_stage.NAME}.export")
    budget = automl_tables.milli_node_hours(plan.experiment)
    spent = _trained(pipeline) or budget
    hours = (predicted.end_time - predicted.start_time).total_seconds() / 3600
    usd = spent / 1000 * cost.automl_training(plan.experiment)
    usd += cost.automl_prediction(plan.experiment, hours, platform.region)
    evaluation, attributions = _evaluation(platform, pipeline.model_to_upload.name)
    return {
        "model": pipeline.model_to_upload.name,
        "options": {"budget_milli_node_hours": budget, "trained_milli_node_hours": spent},
        "seconds": (pipeline.end_time - pipeline.start_time).total_seconds(),
        "cost_usd": round(usd, 4),
        "feature_importance": attributed(attributions, plan),
        "evaluation": evaluation,
    }


def of_file(plan: Plan, platform: Platform, name: str) -> dict[str, Any]:
    """Describe a file of predictions, which `plan` has copied to the run: fields of
    baseline.json.
    """
    source = platform.uri(plan.experiment.baselines.files[name.removeprefix(FILE_BASELINE)])
    return {"model": source, "cost_usd": 0.0}


def importance(rows: Iterable[dict[str, Any]], plan: Plan) -> tuple[FeatureWeight, ...]:
    """Feature importance of a BigQuery ML model, highest first, by the features' source names.

    rows: of ML.WEIGHTS (of standardized features) or ML.FEATURE_IMPORTANCE.
    """
    names = _names(plan)
    found: dict[str, FeatureWeight] = {}
    for row in rows:
        column = row.get("processed_input", row.get("feature"))
        if column not in names:
            continue  # the intercept
        if "importance_gain" in row:
            weight, what = float(row["importance_gain"] or 0), "gain, mean of the splits by it"
        else:
            categories = row.get("category_weights") or []
            weights = [row.get("weight"), *(category.get("weight") for category in categories)]
            weight = max((abs(float(w)) for w in weights if w is not None), default=0.0)
            what = "largest absolute weight, of the standardized feature"
        if column not in found or found[column].weight < weight:
            found[column] = FeatureWeight(names[column], weight, what)
    return _ranked(found.values())


def attributed(attributions: dict[str, Any], plan: Plan) -> tuple[FeatureWeight, ...]:
    """Feature importance of an AutoML model, from its evaluation's mean attributions."""
    names = _names(plan)
    return _ranked(
        FeatureWeight(names[column], float(weight), "mean absolute attribution")
        for column, weight in attributions.items()
        if column in names and isinstance(weight, int | float)
    )


def _ranked(entries: Iterable[FeatureWeight]) -> tuple[FeatureWeight, ...]:
    return tuple(sorted(entries, key=lambda entry: -entry.weight))


def _names(plan: Plan) -> dict[str, str]:
    """The features' names in the source by their columns in the dataset."""
    return {f.column: f.name for f in plan.table.features}


def _key(plan: Plan, ti: Any, task_id: str, copy: int = -1) -> str:
    return task_key(ti.dag_id, ti.run_id, task_id, copy, plan.experiment.generation)


def _succeeded(plan: Plan, platform: Platform, ti: Any, task_id: str, copy: int = -1) -> Any:
    """The BigQuery job of a task, done without an error. Raises BaselineFailedError."""
    work = Work(
        _bigquery(platform),
        platform.project,
        platform.location,
        prefix=f"{ti.dag_id}_{task_id}",
        key=_key(plan, ti, task_id, copy),
    )
    jobs = work.jobs()
    if not jobs:
        raise BaselineFailedError(
            f"{task_id} has started no job; see its log, or that of a task before it"
        )
    job = jobs[-1]
    if job.state != "DONE":
        raise BaselineFailedError(f"{task_id} has not ended: job {job.job_id} is {job.state}")
    if job.error_result:
        raise BaselineFailedError(f"{task_id}: {withheld(message(job.error_result))}")
    return job


def _vertex_job(plan: Plan, platform: Platform, ti: Any, kind: JobKind, task_id: str) -> Any:
    """The Vertex AI job of a task that succeeded."""
    hook = CustomJobHook(gcp_conn_id=platform.connection)
    client = getattr(hook, f"get_{kind.service}_service_client")(platform.region)
    jobs = Jobs(client, kind, platform.project, platform.region).with_label(
        KEY_LABEL, _key(plan, ti, task_id)
    )
    if not jobs:
        raise BaselineFailedError(
            f"{task_id} has started no {kind.title}; see its log, or one before it"
        )
    for job in jobs:
        if verdict(job, "") is Verdict.SUCCESS:
            return job
    raise BaselineFailedError(f"{task_id}: {describe(jobs[0], kind)}")


def _exported(platform: Platform, prefix: str) -> list[dict[str, Any]]:
    """The rows that BigQuery exported as JSON to files with this prefix."""
    texts = [blob.download_as_text() for blob in storage.blobs(platform, prefix)]
    return [json.loads(line) for text in texts for line in text.splitlines() if line]


def _trained(pipeline: Any) -> int:
    """Milli node hours that AutoML has billed; 0 if unknown."""
    metadata = pipeline.training_task_metadata
    return (
        int(metadata["trainCostMilliNodeHours"])
        if "trainCostMilliNodeHours" in (metadata or {})
        else 0
    )


def _evaluation(platform: Platform, model: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """AutoML's own scalar metrics of a model, and its mean feature attributions."""
    hook = ModelServiceHook(gcp_conn_id=platform.connection)
    client = hook.get_model_service_client(platform.region)
    found = next(iter(client.list_model_evaluations(parent=model, **REPEATABLE)), None)
    if found is None:
        return {}, {}
    # proto-plus converts a Value to a Python value: here a mapping, or None.
    metrics: Any = found.metrics
    numbers = {k: v for k, v in dict(metrics or {}).items() if isinstance(v, int | float)}
    means: Any = found.model_explanation.mean_attributions
    return numbers, dict(means[0].feature_attributions or {}) if means else {}


def _bigquery(platform: Platform) -> BigQueryHook:
    return BigQueryHook(
        gcp_conn_id=platform.connection, use_legacy_sql=False, location=platform.location
    )
