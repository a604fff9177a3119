"""The section `predict` of an experiment file: what the champion predicts, and when."""

from datetime import timedelta

from research.quantities import Duration
from research.sections import Section, key

DATE = "{date}"
"""In a folder of images: the first day of the run's data interval, as in 2024-01-31."""


class BatchMachines(Section):
    """What a batch prediction runs on."""

    type: str = key("Compute Engine machine type", "n1-standard-4")
    gpu: str | None = key("accelerator type of each replica, as in NVIDIA_TESLA_T4", None)
    gpus: int = key("accelerators of each replica, if `gpu` names one", 1, ge=1, le=16)
    replicas: int = key("machines that share the instances", 1, ge=1, le=100)


class Predict(Section):
    """Batch prediction by the champion, by a DAG of its own: EXPERIMENT-predict."""

    schedule: str = key("manual, @daily, @weekly, ... or a cron expression (UTC)", "manual")
    images: str | None = key(
        "folder, all images below it: a path in the group's bucket, or a gs:// address; {date} in "
        "it is the first day of a run's data interval",
        None,
        min_length=1,
    )
    bigquery: str | None = key(
        "table or view, DATASET.TABLE or PROJECT.DATASET.TABLE, with the key and the features by "
        "the names they had in training",
        None,
        min_length=1,
    )
    query: str | None = key("one SELECT in GoogleSQL, in place of a table", None, min_length=1)
    partition: str | None = key(
        "DATE, DATETIME or TIMESTAMP column: a run takes the rows of its data interval (UTC)",
        None,
        min_length=1,
    )
    output: str | None = key(
        "where predictions go, DATASET.TABLE or a folder; each run has one of its own, named by it",
        None,
        min_length=1,
    )
    max_failed: float = key(
        "share of the instances without a prediction above which a run fails", 0.05, ge=0, le=1
    )
    machines: BatchMachines = key("what a run uses", BatchMachines())
    timeout: Duration = key("when the prediction is stopped", timedelta(hours=1))

    @property
    def kind(self) -> str:
        """image or table, as of an experiment's source."""
        return "image" if self.images is not None else "table"

    @property
    def address(self) -> str:
        """The folder, the table, or the query."""
        return self.images or self.bigquery or self.query or ""
