"""check: what would make a training pointless or wrong, found on the snapshot by one query.

Nothing but the snapshot has been paid for by then. A snapshot that passes gets its columns.json,
which says what the rows mean and lets the export begin:

    {"schema": 1, "task": "binary_classification",
     "split": {"train": [0, 80], "validation": [80, 90], "test": [90, 100]},
     "key": {"name": "sample_id"}, "label": {"name": "malignant"},
     "features": [{"name": "radius mean", "column": "radius_mean", "type", "kind"}],
     "vocabulary": 1000,
     "source": {"table", "query", "partition": {"column", "from", "to"} or null, "snapshot",
                "rows": 569}}
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from bigquery.operators import BigQueryJobOperator
from research import jobs, layout, sql
from research.experiment import Experiment
from research.plan import Plan, from_json
from research.platform import Platform
from research.table import Table

SCHEMA = 1

MOST_CLASSES = 1000
"""Beyond, a label is a key or a number, not a class."""

_SHOWN = 5


class CheckOperator(BigQueryJobOperator):
    """Runs the check's query and judges its answer. Returns {"examples", "warnings"}."""

    def __init__(self, *, experiment: Experiment, platform: Platform, **kwargs: Any):
        super().__init__(**kwargs)
        self._experiment = experiment
        self._platform = platform

    def execute(self, context: Any) -> Any:
        from research import storage

        plan = self._plan(context)
        columns = storage.blob(self._platform, layout.dataset_columns(plan.dataset))
        if columns.exists():
            print(f"This dataset has passed its checks: {layout.dataset_columns(plan.dataset)}")
            return None
        return super().execute(context)

    def _result(self, context: Any, job: Any) -> Any:
        from research import storage

        plan = self._plan(context)
        assert plan.table is not None
        (row,) = job.result()
        problems, warnings = judge(dict(row.items()), plan.table, plan.experiment.task)
        if problems:
            table = jobs.snapshot(plan, self._platform)
            message = "\n  ".join([f"The rows of this run (frozen in {table}):", *problems])
            raise AirflowFailException(f"{message}\nNothing was spent on training.")
        for warning in warnings:
            print(f"Warning: {warning}")
        content = columns_json(plan, self._platform, row["examples"])
        storage.write_json(self._platform, layout.dataset_columns(plan.dataset), content)
        print(f"{row['examples']:,} examples, {len(plan.table.features)} features")
        return {"examples": row["examples"], "warnings": warnings}

    def _plan(self, context: Any) -> Plan:
        from research import storage

        folder = layout.run_folder(context["run_id"], self._experiment.generation)
        run = layout.Run(self._platform.bucket, self._experiment.name, folder)
        return from_json(storage.read_json(self._platform, run.plan), run)


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    return CheckOperator(
        task_id="check",
        experiment=experiment,
        platform=platform,
        project_id=platform.project,
        location=platform.location,
        gcp_conn_id=platform.connection,
        configuration="{{ ti.xcom_pull(task_ids='plan')['check'] }}",
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
        # A snapshot that is there already was skipped.
        trigger_rule="none_failed",
    )


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The query job that looks at the snapshot."""
    assert plan.table is not None
    statement = sql.render(
        "checks",
        snapshot=jobs.snapshot(plan, platform),
        features=plan.table.features,
        bad_label=plan.table.bad_label,
        regression=plan.table.regression,
        most_classes=MOST_CLASSES,
    )
    return jobs.query(plan, platform, statement)


def judge(row: Mapping[str, Any], table: Table, task: str) -> tuple[list[str], list[str]]:
    """What is wrong with the rows, and what is only worth knowing.

    `row`: the answer to checks.sql.
    """
    if not row["examples"]:
        return ["there are none: the source gives no row for this run"], []
    problems = [*_keys(row, table), *_labels(row, table, task), *_features(row)]
    warnings = []
    for feature in row["features"]:
        if feature["not_a_number"]:
            warnings.append(
                f"feature '{feature['name']}' is NaN in {_rows(feature['not_a_number'])}: "
                "counted as NULL"
            )
    splits = {entry["split"]: set() for entry in row["classes"]}
    for entry in row["classes"]:
        splits[entry["split"]].add(entry["label"])
    for split in ("validation", "test"):
        absent = splits.get("train", set()) - splits.get(split, set())
        if absent and not table.regression and split in splits:
            warnings.append(f"no example of {_list(absent)} is in the {split} split")
    return problems, warnings


def columns_json(plan: Plan, platform: Platform, rows: int) -> dict[str, Any]:
    """The content of columns.json."""
    assert plan.table is not None
    source, split = plan.experiment.source, plan.experiment.source.split
    middle = split.train + split.validation
    return {
        "schema": SCHEMA,
        "task": plan.experiment.task,
        "split": {
            "train": [0, split.train],
            "validation": [split.train, middle],
            "test": [middle, 100],
        },
        "key": {"name": plan.table.key.name},
        "label": {"name": plan.table.label.name},
        "features": [asdict(feature) for feature in plan.table.features],
        "vocabulary": source.vocabulary,
        "source": {
            "table": platform.table(source.bigquery) if source.bigquery else None,
            "query": source.query,
            "partition": plan.partition,
            "snapshot": jobs.snapshot(plan, platform),
            "rows": rows,
        },
    }


def _keys(row: Mapping[str, Any], table: Table) -> list[str]:
    name, problems = table.key.name, []
    if row["keys_missing"]:
        problems.append(f"key '{name}' is NULL in {_rows(row['keys_missing'])}")
    if row["keys_repeated"]:
        shown = ", ".join(f"{k['value']!r} ({k['examples']} rows)" for k in row["keys_repeated"])
        problems.append(
            f"key '{name}' is not unique: {shown}. An example has one key, by which it is in one "
            "split; make one of several columns in a query if need be"
        )
    return problems


def _labels(row: Mapping[str, Any], table: Table, task: str) -> list[str]:
    name = table.label.name
    what = "NULL, NaN or infinite" if table.regression else "NULL"
    if row["labels_bad"]:
        return [
            f"label '{name}' is {what} in {_rows(row['labels_bad'])}, as at the keys "
            f"{_list(row['labels_bad_keys'])}: leave them out in a query"
        ]
    absent = {"train", "validation", "test"} - {entry["split"] for entry in row["classes"]}
    problems = [
        f"the {split} split is empty: {row['examples']} examples are too few for these shares"
        for split in sorted(absent)
    ]
    if table.regression:
        if row["label_constant"]:
            problems.append(f"label '{name}' is the same in every row: nothing to learn")
        return problems
    by_split: dict[str, set[str]] = {}
    for entry in row["classes"]:
        by_split.setdefault(entry["split"], set()).add(entry["label"])
    classes = set().union(*by_split.values())
    if len(classes) == 1:
        problems.append(
            f"label '{name}' is constant, {min(classes)!r} in every row: nothing to learn"
        )
    elif len(classes) > MOST_CLASSES:
        problems.append(
            f"label '{name}' has more than {MOST_CLASSES:,} classes; if it is a number, the task "
            "is regression"
        )
    elif task == "binary_classification" and len(classes) != 2:
        problems.append(
            f"label '{name}' has {len(classes)} classes ({_list(classes)}), but the task is "
            "binary_classification; write multiclass_classification"
        )
    elif unseen := classes - by_split.get("train", set()):
        problems.append(
            f"no example of {_list(unseen)} is in the train split: leave the class out, or get "
            "more examples of it"
        )
    return problems


def _features(row: Mapping[str, Any]) -> list[str]:
    problems = []
    for feature in row["features"]:
        name = feature["name"]
        if feature["infinite"]:
            problems.append(
                f"feature '{name}' is infinite in {_rows(feature['infinite'])}: make it NULL in a "
                "query, or leave it out of source.features"
            )
        if feature["missing"] == row["examples"]:
            problems.append(f"feature '{name}' is NULL in every row: leave it out")
        elif not feature["train"]:
            problems.append(f"feature '{name}' is NULL in every row of the train split")
    shown = problems[:20]
    return [*shown, f"... and {len(problems) - 20} more features"] if problems[20:] else shown


def _rows(count: int) -> str:
    return f"{count:,} row{'s' if count > 1 else ''}"


def _list(names: Any) -> str:
    ordered = sorted(names)
    shown = ", ".join(repr(name) for name in ordered[:_SHOWN])
    return f"{shown}, ..." if len(ordered) > _SHOWN else shown
