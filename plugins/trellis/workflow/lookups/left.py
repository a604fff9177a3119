"""Reads the results of a run's earlier tasks for a later one.

A person may mark any task as success, or skip it, in Airflow's UI: then later tasks start, and what
it should have left is not there. Each need says so in one sentence, names the task to clear, and is
no error that a retry could cure. What a job would need is looked for before the job is submitted.
"""

from collections.abc import Callable
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.lookups import own_dataset, storage
from trellis.workflow.spec.platform import Platform

Need = Callable[[Any, Platform], None]
"""Looks for something with the run's plan. Raises NothingLeftError if it is not there."""


class NothingLeftError(AirflowFailException):
    """The result of an earlier task is missing; the message names the task."""

    def __init__(self, task: str, what: str):
        super().__init__(
            f"`{task}` left no {what} (marked as success, or skipped by hand?): clear `{task}` "
            "and the tasks after it."
        )


def returned(ti: Any, task_id: str, what: str) -> Any:
    """Read a task's return value. what: its name in messages. Raises NothingLeftError if there is
    none.
    """
    content = ti.xcom_pull(task_ids=task_id)
    if not content:
        raise NothingLeftError(task_id, what)
    return content


def snapshot(plan: Plan, platform: Platform) -> None:
    """The frozen rows of the run's dataset."""
    table = platform.own_table(f"snapshot_{plan.dataset.fingerprint}")
    if not own_dataset.is_there(platform, table):
        raise NothingLeftError("snapshot", f"table {table}")


def automl_input(plan: Plan, platform: Platform) -> None:
    """Input of AutoML's dataset: a view of the frozen rows, or a list of images."""
    if plan.experiment.source.automl == "image":
        images = f"{plan.run.baseline('automl')}import.csv"
        if not _exists(platform, images):
            raise NothingLeftError("automl.images", images)
        return
    view = platform.own_table(f"automl_{plan.dataset.fingerprint}")
    if not own_dataset.is_there(platform, view):
        raise NothingLeftError("automl.views", f"view {view}")


def snapshot_to_check(plan: Plan, platform: Platform) -> None:
    """The frozen rows, unless they have passed their checks before and are not divided anew."""
    if plan.experiment.slices or not _exists(platform, layout.dataset_columns(plan.dataset.uri)):
        snapshot(plan, platform)


def snapshot_to_extract(plan: Plan, platform: Platform) -> None:
    """The frozen rows, unless the dataset was made from them before."""
    if not _exists(platform, layout.dataset_mark(plan.dataset.uri)):
        snapshot(plan, platform)


def rows(plan: Plan, platform: Platform) -> None:
    """The files of the rows and the description of their columns."""
    dataset = plan.dataset.uri
    if _exists(platform, layout.dataset_mark(dataset)):
        return
    columns = layout.dataset_columns(dataset)
    if not _exists(platform, columns):
        raise NothingLeftError("check", columns)
    first = layout.dataset_rows(dataset).replace("*", "000000000000")
    if not _exists(platform, first):
        raise NothingLeftError("extract", first)


def dataset(plan: Plan, platform: Platform) -> None:
    """The dataset that trials and trainings read."""
    mark = layout.dataset_mark(plan.dataset.uri)
    if not _exists(platform, mark):
        raise NothingLeftError("export", f"dataset ({mark})")


def trainings(plan: Plan, platform: Platform) -> None:
    """Raise NothingLeftError unless at least one training has ended."""
    folder = f"{plan.run.uri}training/"
    ended = (blob.name.endswith("/metrics.json") for blob in storage.each_blob(platform, folder))
    if not any(ended):
        raise NothingLeftError("train", f"training that has ended below {folder}")


def rows_to_predict(plan: PredictionPlan, platform: Platform) -> None:
    """The frozen rows that the champion predicts; images need none."""
    if plan.rows is not None and not own_dataset.is_there(platform, plan.run.snapshot):
        raise NothingLeftError("snapshot", f"table {plan.run.snapshot}")


def _exists(platform: Platform, uri: str) -> bool:
    return storage.exists(platform.connection, uri)
