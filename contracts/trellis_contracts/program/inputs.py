"""Reads what a program of a group's own is given; see `terms`. Needs pyarrow, and no TensorFlow.

job = inputs.job()                                    # of the flags and variables
train = job.rows("train")                             # a pyarrow.Table
for record in job.records("train"):                   # the same as TFRecords, with the images
    key, png = record["key"][0], record["image"][0]
job.report(auc)                                       # a trial's metric
job.workers.rank                                      # which of several machines this one is
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trellis_contracts import job_image, layout
from trellis_contracts.columns import REJECTED
from trellis_contracts.dataset import REJECTED_FILE_NAME, DatasetDescription, rejected_keys
from trellis_contracts.program import terms
from trellis_contracts.workers import ALONE, Workers

if TYPE_CHECKING:
    import pyarrow as pa


def path(uri: str) -> Path:
    """The file or folder of a gs:// address where buckets are mounted; a path as it is."""
    if not uri.startswith("gs://"):
        return Path(uri)
    return Path(os.environ.get(terms.MOUNT, "/gcs"), uri.removeprefix("gs://"))


@dataclass(frozen=True)
class Job:
    """A trial or a full training. hyperparameters: as text, by name."""

    dataset: str
    task: str
    metric: str
    epochs: int
    seed: int
    whole: bool
    """False of a trial, whose metric alone counts."""
    model: str = ""
    model_sha256: str = ""
    hyperparameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """OUTPUT: the folder of what the job leaves. Raises KeyError outside of a job."""
        return path(os.environ[terms.OUTPUT].rstrip("/")).parent

    @property
    def workers(self) -> Workers:
        """The machines that train this model, of which the first writes. Raises ValueError for a
        CLUSTER_SPEC of another form.
        """
        text = os.environ.get(terms.CLUSTER, "")
        try:
            return _workers(json.loads(text)) if text else ALONE
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{terms.CLUSTER} is of another form ({error!r}): {text}") from error

    @property
    def checkpoints(self) -> Path:
        """The folder that is there again when lost work starts anew, the same for all workers.
        Raises KeyError outside of a job.
        """
        return path(os.environ[terms.CHECKPOINTS])

    def description(self) -> DatasetDescription:
        """dataset.json."""
        address = f"{self.dataset.rstrip('/')}/dataset.json"
        return DatasetDescription.parse(path(address).read_bytes(), address)

    @property
    def held_out(self) -> str:
        """The split that a full training predicts: test, or validation where there is no test."""
        return "test" if self.description().examples("test") else "validation"

    def rows(self, split: str) -> "pa.Table":
        """The rows of a split: key, label and features, in no order, without those that the export
        has rejected. Raises FileNotFoundError if the dataset's rows are gone.
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        folder = path(layout.source(self.dataset))
        files = sorted(folder.glob(layout.ROWS))
        if not files:
            raise FileNotFoundError(f"there is no {layout.ROWS} in {folder}")
        rows = pa.concat_tables(pq.read_table(file) for file in files)
        if REJECTED in rows.column_names:
            rows = rows.filter(pc.is_null(rows[REJECTED])).drop_columns([REJECTED])
        rows = rows.filter(pc.equal(rows["split"], split)).drop_columns(["split"])
        if rejected := self._rejected():
            rows = rows.filter(pc.invert(pc.is_in(rows["key"], pa.array(rejected, pa.string()))))
        return rows

    def records(self, split: str) -> Iterator[dict[str, list[Any]]]:
        """Yield the examples of a split from its TFRecords, in the order of the files: of each the
        values (bytes, floats or whole numbers) of its features, by name. A feature of
        `job.description()` lies under its `record_name`; an image is one PNG or JPEG in the
        dataset's size. Needs the extra `records` of trellis-contracts. Raises FileNotFoundError for
        a file that is gone, ValueError for a damaged one.
        """
        from trellis_contracts import records

        for uri in self.description().uris(self.dataset, split):
            with open(path(uri), "rb") as file:
                try:
                    for _, payload in records.payloads(file):
                        yield records.values(records.parse(payload))
                except ValueError as error:
                    raise ValueError(f"{uri}: {error}") from error

    def _rejected(self) -> list[str]:
        """Keys of the rows that are no examples, such as those with an unreadable image."""
        try:
            address = f"{self.dataset.rstrip('/')}/{REJECTED_FILE_NAME}"
            return rejected_keys(path(address).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []

    def report(self, value: float, step: int = 1) -> None:
        """Report the metric that decides to the tuner; in a full training there is none."""
        if "CLOUD_ML_TRIAL_ID" not in os.environ:
            return
        file = Path(os.environ.get("CLOUD_ML_HP_METRIC_FILE", "/tmp/hypertune/output.metrics"))
        file.parent.mkdir(parents=True, exist_ok=True)
        line = {
            "timestamp": time.time(),
            "trial": os.environ["CLOUD_ML_TRIAL_ID"],
            self.metric: str(float(value)),
            "global_step": str(step),
        }
        with open(file, "a", encoding="utf-8") as stream:
            print(json.dumps(line), file=stream)


def _workers(spec: Any) -> Workers:
    pools, own = spec["cluster"], spec["task"]
    seats = {
        (pool, index): str(address)
        for pool in ("workerpool0", "workerpool1")
        for index, address in enumerate(pools.get(pool, []))
    }
    return Workers(tuple(seats.values()), [*seats].index((own["type"], int(own["index"]))))


def job(arguments: Sequence[str] | None = None) -> Job:
    """Read the flags. Raises ValueError for one that is none, or is missing; ends the program if
    DAGs with another version of the contracts have started it.
    """
    # First, as the flags may be another release's.
    if problem := job_image.other_release(os.environ.get(job_image.STARTED_BY)):
        sys.exit(problem)
    given: dict[str, Any] = {}
    words = iter(sys.argv[1:] if arguments is None else arguments)
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            raise ValueError(f"{word!r} is no flag: expected --NAME=VALUE or --NAME VALUE")
        given[name] = value if equals else next(words, "")
    required = ("dataset", "task", "metric", "epochs", "seed", "outputs")
    if missing := [name for name in required if name not in given]:
        raise ValueError(f"missing flags: {', '.join(f'--{name}' for name in missing)}")
    own = {name: value for name, value in given.items() if name not in terms.FLAGS}
    return Job(
        dataset=given["dataset"],
        task=given["task"],
        metric=given["metric"],
        epochs=int(given["epochs"]),
        seed=int(given["seed"]),
        whole=given["outputs"] == "all",
        model=given.get("model", ""),
        model_sha256=given.get("model_sha256", ""),
        hyperparameters=own,
    )
