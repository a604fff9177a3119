"""check: one query on the snapshot finds what would make a training pointless or wrong.

Only the snapshot has cost anything by then. A snapshot that passes gets its columns.json, which
describes the rows and lets the export start: trellis_contracts.columns has it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from trellis.workflow import labels, sql
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.contracts.table import Table
from trellis.workflow.labels.number import INFINITE
from trellis.workflow.pricing import cost, queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.quantities import rows_text
from trellis.workflow.spec.split import GroupSplit, KeySplit
from trellis.workflow.stages import (
    data_checks,
    fold_checks,
    image_checks,
    job_messages,
    linear_checks,
    slice_checks,
    split_checks,
    training_checks,
    weight_checks,
)
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.stage import Stage
from trellis.workflow.stages.training_checks import Counts, as_float32
from trellis.workflow.validation import class_names, group
from trellis_contracts.columns import Columns
from trellis_contracts.dataset import Split, by_hash
from trellis_contracts.finding import Finding
from trellis_contracts.folds import FIRST, Folds
from trellis_contracts.tasks import MULTILABEL, MULTILABEL_MAX_CLASSES, classes_in
from trellis_contracts.withheld import at_keys, quoted, some_of, withheld

MOST_CLASSES = 1000
"""A label with more distinct values is a key or a number, not a class."""

MOST_SETS = 100_000
"""Labels of a multi-label task that are counted, by split: as many as there are sets of classes."""


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns {"examples", "warnings"}; None if the rows have passed before."""
    from trellis.workflow.lookups import documents, left, plans
    from trellis.workflow.stages.operators import CheckOperator

    def passed(context: Any) -> str | None:
        plan = plans.load(experiment, platform, context["run_id"])
        columns = layout.dataset_columns(plan.dataset.uri)
        if plan.experiment.slices:
            # The run that passed the rows may have divided them by others.
            return None
        found = documents.find(platform, "columns", columns)
        return None if found is None else f"This dataset has passed its checks: {columns}"

    def judged(context: Any, row: Mapping[str, Any]) -> dict[str, Any]:
        return conclude(row, plans.load(experiment, platform, context["run_id"]), platform)

    return CheckOperator(
        task_id="check",
        passed=passed,
        judge=judged,
        project_id=platform.project,
        location=platform.location,
        gcp_conn_id=platform.connection,
        configuration=planned(experiment, platform, job, needs=left.snapshot_to_check),
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        # The snapshot is skipped if it exists.
        trigger_rule="none_failed",
    )


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The query job that checks the snapshot."""
    form = labels.of(plan.experiment.task)
    statement = sql.render(
        "checks",
        snapshot=job_messages.snapshot(plan, platform),
        features=plan.table.features,
        bad_label=form.bad,
        infinite=INFINITE,
        regression=plan.table.regression,
        names=form.is_named,
        of_form=form.checks,
        split_by=plan.table.split_by is not None,
        folds=_grouped(plan.experiment),
        weight=plan.table.weight is not None,
        images=[*plan.table.images, *([plan.table.label_image] if form.of_files else [])],
        automl_image=_of_automl(plan),
        automl_unread=image_checks.UNREAD,
        rejected=plan.table.rejected is not None,
        alone=plan.table.of_baselines() if form.alone else [],
        numbers=linear_checks.numbers(plan.table) if form.together else [],
        cells=data_checks.MOST_CELLS,
        slices=slice_checks.counted(plan.experiment, plan.table),
        most_labels=3 * MOST_CLASSES if plan.experiment.task != MULTILABEL else MOST_SETS,
    )
    limit = queries.limit(plan.query_bytes, queries.CHECK)
    return job_messages.query(plan.experiment, platform, statement, **limit)


def _of_automl(plan: Plan) -> str | None:
    """The column of the images that AutoML reads by itself; None: it reads none."""
    experiment = plan.experiment
    if experiment.baselines.automl is None or experiment.source.automl != "image":
        return None
    return plan.table.images[0].column


def _grouped(experiment: Experiment) -> bool:
    return experiment.folds is not None and isinstance(experiment.source.split, GroupSplit)


def conclude(row: Mapping[str, Any], plan: Plan, platform: Platform) -> dict[str, Any]:
    """Write columns.json, which lets the export start. row: the result of checks.sql.

    Raises AirflowFailException if no model can be trained on the rows.
    """
    from airflow.sdk.exceptions import AirflowFailException

    from trellis.workflow.lookups import documents, examples

    problems, warnings, findings = evaluate(row, plan, platform)
    texts = problems or [f"Warning: {warning}" for warning in warnings]
    texts = examples.for_log(platform, plan.run.examples_of("check"), texts)
    if problems:
        table = job_messages.snapshot(plan, platform)
        message = "\n  ".join([f"The rows of this run (frozen in {table}):", *texts])
        raise AirflowFailException(f"{message}\nNothing was spent on training.")
    for text in texts:
        print(text)
    content = columns_json(plan, platform, row["examples"], findings)
    documents.write(platform, "columns", layout.dataset_columns(plan.dataset.uri), content)
    print(f"{row['examples']:,} examples, {len(plan.table.features)} features")
    return {"examples": row["examples"], "warnings": list(map(withheld, warnings))}


def evaluate(
    row: Mapping[str, Any], plan: Plan, platform: Platform
) -> tuple[list[str], list[str], list[Finding]]:
    """Return why no model can be trained on the rows, the warnings, and the findings of the data
    checks. row: the result of checks.sql.
    """
    experiment, task = plan.experiment, plan.experiment.task
    problems, warnings = judge(row, plan.table, task, experiment.source.split, experiment.folds)
    if not problems:
        problems += training_checks.judge(experiment, counts(row, task))
        longest = max((feature["longest"] or 0 for feature in row["features"]), default=0)
        problems += training_checks.too_long(experiment, longest)
        found = set().union(*_classes_by_split(row, task).values())
        problems += training_checks.too_many_classes(experiment, len(found))
    automl = experiment.baselines.automl is not None
    if row["examples"]:
        problems += labels.of(task).judge(row, experiment.source)
    problems += weight_checks.judge(row, plan.table, automl)
    problems += slice_checks.judge(row, experiment)
    if plan.table.images:
        refused, warned = image_checks.of_rows(row, experiment.source.most_rejected)
        problems, warnings = [*problems, *refused], [*warnings, *warned]
        problems += image_checks.of_automl(row)
    # The number of rows of a view or query was unknown before.
    few = group.too_few_for_automl(experiment, platform, row["examples"], None)
    problems += [few] if few else []
    classes = _classes_by_split(row, task)
    unknown = group.unknown_classes(experiment, set().union(*classes.values()))
    problems += [unknown] if unknown else []
    findings = data_checks.judge(row, plan.table)
    refused, warned = data_checks.divided(findings, experiment.source.data_checks)
    return [*problems, *refused], [*warnings, *warned], findings


def judge(
    row: Mapping[str, Any], table: Table, task: str, split: Any, folds: Folds | None = None
) -> tuple[list[str], list[str]]:
    """Problems of the rows, and warnings.

    `row`: the result of checks.sql. `split`: the file's rule. `folds`: of a cross-validation.
    """
    if not row["examples"]:
        return ["there are none: the source has no rows for this run"], []
    few, warnings = fold_checks.judge(row, table, task, folds)
    if few:
        return few, warnings
    of_splits, warned = split_checks.judge(row, table, split, folds is not None)
    warnings += warned
    problems = [*_keys(row, table), *of_splits, *_labels(row, table, task), *_features(row)]
    for feature in row["features"]:
        if feature["not_a_number"]:
            warnings.append(
                f"feature '{feature['name']}' is NaN in {rows_text(feature['not_a_number'])}: "
                "counted as NULL"
            )
    splits = _classes_by_split(row, task)
    if labels.of(task).is_named:
        warnings += class_names.doubts(set().union(*splits.values()))
    for split in ("validation", "test"):
        absent = splits.get("train", set()) - splits.get(split, set())
        if absent and labels.of(task).is_named and split in splits:
            warnings.append(f"no example of {_classes(absent)} is in the {split} split")
    return problems, warnings


def _classes_by_split(row: Mapping[str, Any], task: str) -> dict[str, set[str]]:
    """The classes that each split's examples have."""
    found: dict[str, set[str]] = {}
    for entry in row["classes"]:
        found.setdefault(entry["split"], set()).update(classes_in(entry["label"], task))
    return found


def counts(row: Mapping[str, Any], task: str) -> dict[str, Counts]:
    """The splits, and their classes as far as the query lists them. row: as in `judge`."""
    examples = dict.fromkeys(training_checks.NAMES, 0)
    examples |= {entry["split"]: entry["examples"] for entry in row["splits"]}
    classes: dict[str, dict[str, int]] = {name: {} for name in examples}
    for entry in row["classes"]:
        found = classes[entry["split"]]
        for name in classes_in(entry["label"], task):
            found[name] = found.get(name, 0) + entry["examples"]
    groups = {entry["split"]: entry.get("units") for entry in row["splits"]}
    return {
        name: Counts(count, classes[name], groups.get(name)) for name, count in examples.items()
    }


def columns_json(
    plan: Plan, platform: Platform, rows: int, findings: Sequence[Finding] = ()
) -> dict[str, Any]:
    """The content of columns.json. findings: of the data checks, none of which refused the rows."""
    source, table = plan.experiment.source, plan.table
    return Columns(
        task=plan.experiment.task,
        split=_split(source.split, plan.experiment.folds),
        folds=plan.experiment.folds,
        key=table.key.name,
        label=table.label.name,
        positive=plan.experiment.positive,
        **labels.of(plan.experiment.task).in_columns(source),
        weight=table.weight.name if table.weight else None,
        features=tuple(table.features),
        vocabulary=source.vocabulary,
        max_rejected=source.most_rejected,
        source={
            "table": None,
            "query": None,
            **source.named(platform),
            "partition": plan.dataset.partition,
            "snapshot": job_messages.snapshot(plan, platform),
            "rows": rows,
        },
        findings=tuple(findings),
    ).to_document()


def _split(split: Any, folds: Folds | None) -> Split:
    """The rule as files have it: of one without hashes only its words, as the rows' splits are then
    those of the snapshot.
    """
    if folds is not None:
        return Split(folds.rule(FIRST), by=split.by if isinstance(split, GroupSplit) else None)
    if isinstance(split, KeySplit | GroupSplit):
        return by_hash(split.shares, split.decided_by)
    return Split(split.rule)


def _keys(row: Mapping[str, Any], table: Table) -> list[str]:
    name, problems = table.key.name, []
    if row["keys_missing"]:
        problems.append(f"key '{name}' is NULL or empty in {rows_text(row['keys_missing'])}")
    if row["keys_repeated"]:
        repeated = row["keys_repeated"]
        shown = ", ".join(f"{key['value']!r} ({key['examples']} rows)" for key in repeated)
        most = f", and one of them in {repeated[0]['examples']:,} rows"
        count = f"{len(repeated)} or more keys are repeated{most}"
        problems.append(
            f"key '{name}' is not unique: {quoted(shown, count)}. The key decides an example's "
            "split; if no column is unique, combine several in a query"
        )
    return problems


def _labels(row: Mapping[str, Any], table: Table, task: str) -> list[str]:
    name, form = table.label.name, labels.of(task)
    if row["labels_bad"]:
        return [
            f"label '{name}' is {form.words} in {rows_text(row['labels_bad'])}"
            f"{at_keys(row['labels_bad_keys'])}: leave them out in a query"
        ]
    absent = {"train", "validation", "test"} - {entry["split"] for entry in row["classes"]}
    few = f"{row['examples']} examples are too few for these shares"
    if table.split_by is not None:
        few = f"no '{table.split_by.name}' of the {row['examples']} examples belongs there"
    problems = [f"the {split} split is empty: {few}" for split in sorted(absent)]
    if table.regression:
        least, most = row["label_least"], row["label_most"]
        if least is not None and as_float32(least) == as_float32(most):
            problems.append(
                f"label '{name}' is {quoted(f'{least:g}', 'the same')} in every row of the train "
                "split: nothing to learn"
            )
    if not labels.of(task).is_named:
        return problems
    by_split = _classes_by_split(row, task)
    classes = set().union(*by_split.values())
    if task == MULTILABEL and not 2 <= len(classes) <= MULTILABEL_MAX_CLASSES:
        problems.append(
            f"label '{name}' has {len(classes)} classes{_in_brackets(classes)}, which are "
            f"separated by '|'; a multi-label task has 2 to {MULTILABEL_MAX_CLASSES}"
        )
    elif len(classes) == 1:
        problems.append(
            f"label '{name}' is constant, {quoted(repr(min(classes)), 'the same')} in every row: "
            "nothing to learn"
        )
    elif len(classes) > MOST_CLASSES:
        problems.append(
            f"label '{name}' has more than {MOST_CLASSES:,} classes; if it is a number, the task "
            "is regression"
        )
    elif task == "binary_classification" and len(classes) != 2:
        problems.append(
            f"label '{name}' has {len(classes)} classes{_in_brackets(classes)}, but the task is "
            "binary_classification; write multiclass_classification"
        )
    elif unseen := classes - by_split.get("train", set()):
        problems.append(
            f"no example of {_classes(unseen)} is in the train split: leave the class out, or get "
            "more examples of it"
        )
    return problems


def _features(row: Mapping[str, Any]) -> list[str]:
    problems = []
    for feature in row["features"]:
        name = feature["name"]
        if feature["infinite"]:
            problems.append(
                f"feature '{name}' is infinite in {rows_text(feature['infinite'])}, or too large "
                "for float32: make it NULL in a query, or leave it out of source.features"
            )
        if feature["missing"] == row["examples"]:
            problems.append(f"feature '{name}' is NULL in every row: leave it out")
        elif not feature["train"]:
            problems.append(f"feature '{name}' is NULL in every row of the train split")
    shown = problems[:20]
    return [*shown, f"... and {len(problems) - 20} more features"] if problems[20:] else shown


def _classes(names: Collection[str]) -> str:
    return some_of(sorted(names), "class", "classes")


def _in_brackets(names: Collection[str]) -> str:
    return quoted(f" ({_classes(names)})", "")


STAGE = Stage(
    name="check",
    where="BigQuery",
    writes=["columns.json"],
    tasks=lambda dag: task(dag.experiment, dag.platform),
    # With the snapshot that it checks.
    at_most=lambda experiment, platform, bytes_: {
        "snapshot": queries.CHECK * cost.scan(bytes_, platform.region)
    },
    spent=lambda jobs: {"snapshot": jobs.billed("check")},
    advice={
        "check": "Nothing was spent on training. The message names what cannot be learned from: "
        "fix the table, or exclude those rows or columns with a query, and trigger a new run."
    },
)
