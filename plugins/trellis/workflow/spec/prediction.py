"""The section `predict` of an experiment file: what the champion predicts, and when.

Images, a table or a query, as in the section `source`.
"""

from datetime import timedelta
from typing import Annotated

from trellis.workflow.spec.changes import Limits, PredictionChanges
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.quantities import Duration, Folder, TableName
from trellis.workflow.spec.schedule import MANUAL, Schedule
from trellis.workflow.spec.sections import OneOf, Variant, key

DATE = "{date}"
"""In a folder of images: the first day of the run's data interval, as in 2024-01-31."""


class BatchMachines(Machine):
    """Machines of a batch prediction."""

    replicas: int = key("machines that share the instances", 1, ge=1, le=100)


class _Predict(Variant):
    """Batch prediction by the champion, in a DAG of its own: EXPERIMENT-predict."""

    schedule: Schedule = key("when it runs (UTC)", MANUAL)
    max_failed: float = key(
        "share of instances without a prediction above which a run fails", 0.05, ge=0, le=1
    )
    machines: BatchMachines = key("machines of a run", BatchMachines())
    timeout: Duration = key("time after which the prediction is stopped", timedelta(hours=1))
    truth: str | None = key(
        "one SELECT of what a label is known of by now: earlier predictions of it are scored. Its "
        "columns are the key and the label, named as in training, of images `image`, the address, "
        "and `label`; of groups also the group",
        None,
        min_length=1,
    )


class ImagePredict(_Predict):
    """Prediction of images."""

    opening = ("images",)
    title = "images"
    images: Folder = key(
        "folder with the images, subfolders included; {date} in it stands for the first day of a "
        "run's data interval",
    )
    output: Folder | None = key(
        "folder for predictions; each run writes to a subfolder named after it", None
    )
    changes: Limits = key(
        "limits of the difference between a run's answers and those of the test split, beyond "
        "which it warns",
        Limits(),
    )

    @property
    def address(self) -> str:
        """The folder."""
        return self.images


class RowPredict(_Predict):
    """Prediction of rows of BigQuery: a table's, or a query's."""

    partition: str | None = key(
        "DATE, DATETIME or TIMESTAMP column: a run takes the rows of its data interval (UTC)",
        None,
        min_length=1,
    )
    output: TableName | None = key(
        "table for predictions; each run writes one of its own, with the run's name appended", None
    )
    changes: PredictionChanges = key(
        "limits of the difference between a run's rows and what the model learned from",
        PredictionChanges(),
    )


class TablePredict(RowPredict):
    """Prediction of the rows of a table or view."""

    opening = ("bigquery",)
    title = "tables"

    bigquery: TableName = key("table or view with the key and features, named as in training")

    @property
    def address(self) -> str:
        """The table."""
        return self.bigquery


class QueryPredict(RowPredict):
    """Prediction of the rows of a query."""

    opening = ("query",)
    title = "queries"

    query: str = key("one SELECT in GoogleSQL, in place of a table", min_length=1)

    @property
    def address(self) -> str:
        """The query."""
        return self.query


Predict = Annotated[
    ImagePredict | TablePredict | QueryPredict,
    OneOf("one of `images: FOLDER`, `bigquery: TABLE` and `query: SQL`", "nothing to predict"),
]
