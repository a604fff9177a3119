"""plan: decide what the run does, and refuse before anything is spent.

Inspects the source, checks whether its dataset exists, computes the cost limit, writes plan.json
and adds the run to the index. The stages make their jobs from the plan when they start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.contracts.table import Table
from trellis.workflow.lookups import pretrained
from trellis.workflow.pricing import cost
from trellis.workflow.spec import job_images
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.own_image import is_address
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages import costs, dry_run, limits, shares
from trellis.workflow.stages.stage import Stage
from trellis.workflow.validation import class_names, group
from trellis.workflow.validation.hyperparameters import possible
from trellis_contracts import catalog
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.layout import FILE_BASELINE
from trellis_contracts.models import MODELS
from trellis_contracts.plan import PlannedDataset

if TYPE_CHECKING:
    from trellis.workflow.lookups.bigquery_source import Inspection


def task(experiment: Experiment, platform: Platform, stages: Sequence[Stage]) -> Any:
    """The Airflow task. Returns {"plan", "connection"}: the plan's address, and the Airflow
    connection that reads it. The page of all runs finds the bucket by it. Of a run that only plans:
    {"dry_run"}, what would run.
    """
    from airflow.sdk.exceptions import DownstreamTasksSkipped

    from trellis.workflow.contracts import run_params
    from trellis.workflow.lookups import records
    from trellis.workflow.stages.function_operator import function_task
    from trellis.workflow.stages.refusal import refused

    @function_task(task_id="plan")
    def plan(
        params=None,
        run_id=None,
        dag=None,
        dag_run=None,
        ti=None,
        data_interval_start=None,
        data_interval_end=None,
    ):
        interval = (data_interval_start, data_interval_end)
        values = run_params.of_backfill(params) if dag_run.run_type == "backfill" else params
        try:
            decided = decide(
                experiment, platform, stages, values, run_id, dag_run.run_after, interval
            )
        except (FileError, SourceError, PlatformError, cost.BudgetError) as error:
            rows = layout.Run.of(experiment, platform, run_id).examples_of("plan")
            raise refused(error, platform, rows) from None
        if values[run_params.DRY_RUN]:
            preview = dry_run.lines(stages, decided.plan, platform)
            print("\n".join(preview))
            # The exception would lose the return value.
            ti.xcom_push(key="return_value", value={"dry_run": preview})
            later = dag.get_task("plan").get_flat_relative_ids(upstream=False)
            # A task that has an instance for each part has none with the index of all others, -1.
            each = (-1, *range(len(experiment.parts)))
            raise DownstreamTasksSkipped(tasks=[(name, i) for name in sorted(later) for i in each])
        plan_ = write(decided, platform)
        record = RunRecord.planned(
            plan_.file(),
            dag_run.run_type.value,
            dag_run.triggering_user_name,
            dag.tags,
            records.now(),
        )
        records.begin(platform, plan_.run, record)
        return {"plan": plan_.run.plan, "connection": platform.connection}

    return plan()


@dataclass(frozen=True)
class Decided:
    """A plan that is not written yet, and what its log says of it."""

    plan: Plan
    found: "Inspection"
    limit: cost.Cost


def decide(
    experiment: Experiment,
    platform: Platform,
    stages: Sequence[Stage],
    values: Any,
    run_id: str,
    created: Any,
    interval: tuple[Any, Any],
) -> Decided:
    """Plan one run.

    Repeating it gives the same plan, unless source or dataset changed in between.
    Raises FileError, SourceError, PlatformError or BudgetError for what the user must change.
    """
    from trellis.workflow.contracts import run_params
    from trellis.workflow.lookups import images as registry
    from trellis.workflow.lookups import records, requests_table, storage
    from trellis.workflow.stages import reuse

    experiment = run_params.apply(experiment, values)
    group.require(experiment, platform)
    if not experiment.reuse:
        cost.within_budget(experiment, costs.at_most(stages, experiment, platform))
    storage.check_bucket(platform)
    addresses = job_images.of_experiment(experiment, platform)
    own = [name for name in (experiment.image, experiment.serve_image) if is_address(name)]
    images = registry.require(experiment.name, platform, addresses, own)
    pretrained.require(experiment, platform)
    _require_predictions(experiment, platform)
    requests_table.require(experiment, platform)
    days = (values.get(run_params.DAYS[0]), values.get(run_params.DAYS[1]))
    found = _inspect(experiment, platform, interval, days)
    experiment = found.experiment
    if few := group.too_few_for_automl(experiment, platform, found.examples, found.classes):
        raise SourceError(few)
    run = layout.Run.of(experiment, platform, run_id)
    dataset = _dataset(experiment, platform, found)
    start, end = (moment.isoformat() if moment else None for moment in interval)
    plan = Plan(
        experiment=experiment,
        run=run,
        run_id=run_id,
        created=created.isoformat(),
        data_interval={"start": start, "end": end},
        dataset=dataset,
        table=found.table,
        baselines=tuple(cost.baseline_names(experiment)),
        jobs={},
        rates=cost.rates(experiment, platform.region),
        cost={},
        images=images.digests,
    )
    again = reuse.find(plan, platform, images.why)
    limit = costs.at_most(stages, experiment, platform, found.billed)
    limit = reuse.without_reused(limit, experiment, again.steps)
    cost.within_budget(experiment, limit)
    if platform.limits is not None:
        month = records.now()[:7]
        others = records.of_month(platform, month, run)
        limits.within_month(platform.limits, experiment.owner, month, limit.usd, others)
    plan = replace(
        plan,
        cost=_cost(experiment, platform, limit, found.billed),
        reuse=again,
        shares=shares.of(experiment, found.table, found.examples, _described(dataset, platform)),
    )
    plan = replace(plan, jobs=costs.jobs(stages, plan))
    return Decided(plan, found, limit)


def write(decided: Decided, platform: Platform) -> Plan:
    """Write plan.json, and what it names."""
    from trellis.workflow.lookups import documents, examples, storage

    plan, experiment, dataset = decided.plan, decided.plan.experiment, decided.plan.dataset
    for own in experiment.own_models.values():
        if own.text is not None:
            storage.write_once(platform, plan.address_of(own), own.text)
            print(f"{own.name}: {plan.address_of(own)}")
    for name, address in _predictions(experiment, platform).items():
        target = f"{plan.run.baseline(f'{FILE_BASELINE}{name}')}raw/predictions.parquet"
        storage.copy(platform.connection, address, target)
    documents.write_file(platform, plan.run.plan, plan.file())
    print(f"{plan.run.plan}: {describe(decided.found)}; {decided.limit}")
    if serving := cost.serving(experiment, platform.region):
        print(f"If the selected training is promoted, serving costs {serving}")
    doubts = [f"Warning: {text}" for text in class_names.doubts(decided.found.classes or {})]
    for text in examples.for_log(platform, plan.run.examples_of("plan"), doubts):
        print(text)
    for address, digest in plan.images.items():
        print(f"Image {address} is {digest}")
    for line in plan.reuse.lines():
        print(line)
    for stage, share in plan.shares.items():
        print(f"{stage}: {shares.text(experiment, share, stage)}")
    print(f"Dataset {dataset.uri} {'already exists' if dataset.exists else 'will be created'}")
    return plan


def describe(found: "Inspection") -> str:
    """A short description of the source."""
    if found.table.rejected is not None:
        images = f"{found.examples} images"
        return images if found.classes is None else f"{images} in {len(found.classes)} classes"
    rows = "rows" if found.examples is None else f"{found.examples:,} rows"
    part = found.partition.to_json() if found.partition else None
    which = f" with {part['column']} from {part['from']} to {part['to']}" if part else ""
    return f"{rows}{which}, {len(found.table.features)} features, {found.bytes:,} bytes to read"


def _require_predictions(experiment: Experiment, platform: Platform) -> None:
    """Raises SourceError unless the files of predictions are there."""
    from trellis.workflow.lookups import storage

    for name, address in _predictions(experiment, platform).items():
        if not storage.exists(platform.connection, address):
            raise SourceError(
                f"baselines.files.{name}: there is no {address}: write it, or leave it out"
            )


def _predictions(experiment: Experiment, platform: Platform) -> dict[str, str]:
    """Addresses of the files of predictions, by name."""
    return {name: platform.uri(path) for name, path in experiment.baselines.files.items()}


def _dataset(experiment: Experiment, platform: Platform, found: "Inspection") -> PlannedDataset:
    """The source's dataset, and whether it exists."""
    from trellis.workflow.lookups import records, storage

    uri = layout.dataset(platform.bucket, experiment.name, found.fingerprint)
    # A dataset that was refused, or whose run came to nothing, is no measure for the next.
    used = {
        layout.dataset_mark(layout.dataset(platform.bucket, experiment.name, fingerprint))
        for fingerprint in records.trained_on(platform, experiment.name)
    }
    exists, previous = storage.newest_before(
        platform, layout.dataset_mark(uri), layout.dataset_marks(experiment.name), used
    )
    (source,) = experiment.source.named(platform).values()
    return PlannedDataset(
        uri=uri,
        fingerprint=found.fingerprint,
        exists=exists,
        source=source,
        statement=found.snapshot_sql,
        partition=found.partition.to_json() if found.partition else None,
        examples=found.examples,
        classes=found.classes,
        previous=previous.removesuffix("dataset.json") if previous else None,
    )


def _described(dataset: PlannedDataset, platform: Platform) -> DatasetDescription | None:
    """The description of a dataset that exists."""
    from trellis.workflow.lookups import documents

    if not dataset.exists:
        return None
    return documents.find_file(platform, DatasetDescription, layout.dataset_mark(dataset.uri))


def _cost(
    experiment: Experiment, platform: Platform, limit: cost.Cost, query_bytes: int
) -> dict[str, Any]:
    serving = cost.serving(experiment, platform.region)
    return {
        "at_most_usd": round(limit.usd, 2),
        "stages": {stage: round(usd, 6) for stage, usd in limit.stages.items()},
        "assumptions": limit.assumptions,
        "query_bytes": query_bytes,
        "serving": serving.to_json() if serving else None,
    }


def _inspect(
    experiment: Experiment, platform: Platform, interval: tuple[Any, Any], days: tuple[Any, Any]
) -> "Inspection":
    """Inspect the source in BigQuery. Raises SourceError if no run could learn from it."""
    from trellis.workflow.lookups import bigquery_source, own_dataset

    found = bigquery_source.inspect(experiment, platform, interval, days)
    of_rows = experiment.baselines.services and experiment.source.automl == "table"
    if of_rows and not found.table.of_baselines():
        raise SourceError(
            "the baselines read neither sequences, text nor images, and there are no other "
            "features; leave `baselines` out"
        )
    for name, one in experiment.networks.items():
        _fits_features(one, "model" if name is None else f"other_models.{name}", found.table)
    if found.classes and (unknown := group.unknown_classes(experiment, found.classes)):
        raise SourceError(unknown)
    own_dataset.create(platform)
    return found


def _fits_features(experiment: Experiment, where: str, table: Table) -> None:
    """Raises SourceError unless the model at `where` can learn from these features."""
    model = MODELS.get(experiment.model)
    kinds = {feature.kind for feature in table.features}
    terms = sum(feature.kind == "categorical" for feature in table.features)
    most, pairs = model.most.get("pairs") if model else None, terms * (terms - 1) // 2
    if (
        most is not None
        and pairs > most
        and set(possible(experiment, catalog.load(), "cross_buckets")) != {"0"}
    ):
        raise SourceError(
            f"{where}: {terms} categorical features make {pairs:,} pairs, and {experiment.model} "
            f"takes up to {most:,}: write hyperparameters.cross_buckets: 0, or name fewer features"
        )
    if model is not None and model.needs == "sequence" and "sequence" not in kinds:
        raise SourceError(
            f"{where}: {experiment.model} is for sequences, and no feature is an ARRAY column: use "
            "dense"
        )
    compiled = experiment.hyperparameters.get("jit_compile") or "jit_compile" in experiment.search
    if compiled and kinds & {"sequence", "text"}:
        raise SourceError(
            f"{where}, jit_compile: XLA compiles for inputs of one shape, and a feature is "
            "an ARRAY column or free text, whose length differs from batch to batch: leave it out"
        )


STAGE = Stage(
    name="plan",
    where="Airflow",
    writes=["plan.json"],
    tasks=lambda dag: task(dag.experiment, dag.platform, dag.stages),
    page=lambda *_: [
        ("plan", "checks source, parameters and cost; refuses the run before anything is spent")
    ],
    advice={
        "plan": "Nothing was spent. Change the experiment file, its source or the run's "
        "parameters, as the message says, and trigger a new run."
    },
    linked=True,
)
