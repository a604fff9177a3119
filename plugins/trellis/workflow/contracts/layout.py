"""The paths of an experiment's files in the bucket: the contract between the stages.

gs://BUCKET/EXPERIMENT/
    datasets/FINGERPRINT/         {train,validation,test}-*.tfrecord, rejected.jsonl, dataset.json
        source/                   of a table: rows-*.parquet, columns.json
    models/SHA256/FILE.py         the experiment's own model, by the digest of its content
    runs/RUN/                     trellis_contracts.layout has the files of a run
        reserve-RUN/              deployment.json of the run that served its model anew
    rollbacks/RUN.json, reserves/RUN.json
                                  what a run of the DAGs of these names has decided

gs://BUCKET/_weights/             NAME.weights.h5: what `weights: imagenet` of a backbone reads
gs://BUCKET/_index/EXPERIMENT/    {runs,rollbacks,reserves,notes,predictions}/RUN.json: see
                                  record.py

Datasets are outside the runs' folders because runs share them. Folders' addresses end with a slash.
"""

import hashlib
import re
from dataclasses import dataclass

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.own_model import OwnModel
from trellis.workflow.spec.platform import Platform
from trellis_contracts.layout import ROWS, RunAddresses, source

_MAX_RUN_LENGTH = 100

INDEX = "_index/"
"""Folder of all records in the bucket. No experiment has this name: theirs begin with a letter."""


def run_folder(run_id: str, generation: int = 1) -> str:
    """The folder of a run, a pure function of its id: the id itself if it is a valid folder name,
    else a readable part of it and a digest, so that no two run ids share a folder.

    Each generation after the first has its own folder, or a new training would continue from the
    old one's checkpoints.
    """
    folder = re.sub(r"[^A-Za-z0-9_.-]+", "-", run_id).strip(".-")
    if folder != run_id or len(folder) > _MAX_RUN_LENGTH:
        digest = hashlib.sha256(run_id.encode()).hexdigest()[:8]
        folder = f"{folder[: _MAX_RUN_LENGTH - 9]}-{digest}"
    return f"{folder}~{generation}" if generation > 1 else folder


@dataclass(frozen=True)
class Run(RunAddresses):
    """The addresses of one run."""

    bucket: str
    experiment: str
    folder: str

    @classmethod
    def of(cls, experiment: Experiment, platform: Platform, run_id: str) -> "Run":
        """Addresses of a run of an experiment's DAG."""
        folder = run_folder(run_id, experiment.generation)
        return cls(platform.bucket, experiment.name, folder)

    @property
    def uri(self) -> str:
        """The run's folder."""
        return f"gs://{self.bucket}/{self.experiment}/runs/{self.folder}/"

    @property
    def record(self) -> str:
        """Address of the record in the index of all runs."""
        return f"{run_records(self.bucket, self.experiment)}{self.folder}.json"

    @property
    def notes(self) -> str:
        """Address of what people have written about the run, in the index."""
        return f"{index(self.bucket)}{self.experiment}/notes/{self.folder}.json"


@dataclass(frozen=True)
class FoldRun(Run):
    """The addresses of what the jobs of a fold write, in the folder of their run. part: of
    trellis_contracts.folds.
    """

    part: str

    @property
    def uri(self) -> str:
        """The fold's folder."""
        return Run(self.bucket, self.experiment, self.folder).fold(self.part)


@dataclass(frozen=True)
class ReserveRun(Run):
    """The addresses of a run of the DAG EXPERIMENT-reserve, within the folder of the run whose
    model it serves anew: whatever removes that one removes this one, too.

    trained: the folder of that run.
    """

    trained: str

    @property
    def uri(self) -> str:
        """The run's folder."""
        return f"{self._trained.uri}{self.folder}/"

    @property
    def challenger(self) -> str:
        """challenger.json of the run that trained the model."""
        return self._trained.challenger

    @property
    def record(self) -> str:
        """Address of the record in the index of all runs."""
        return f"{reserve_records(self.bucket, self.experiment)}{self.folder}.json"

    @property
    def _trained(self) -> Run:
        return Run(self.bucket, self.experiment, self.trained)


def reserve_decision(bucket: str, experiment: str, run_id: str) -> str:
    """What a run of the DAG EXPERIMENT-reserve has decided."""
    return f"gs://{bucket}/{experiment}/reserves/{run_folder(run_id)}.json"


def index(bucket: str) -> str:
    """Folder of all records."""
    return f"gs://{bucket}/{INDEX}"


def run_records(bucket: str, experiment: str) -> str:
    """Folder of the records of an experiment's runs."""
    return f"gs://{bucket}/{INDEX}{experiment}/runs/"


def prediction_records(bucket: str, experiment: str) -> str:
    """Folder of the records of an experiment's batch predictions."""
    return f"gs://{bucket}/{INDEX}{experiment}/predictions/"


def reserve_records(bucket: str, experiment: str) -> str:
    """Folder of the index's records of runs of the DAG EXPERIMENT-reserve."""
    return f"gs://{bucket}/{INDEX}{experiment}/reserves/"


def rollback_record(bucket: str, experiment: str, run_id: str) -> str:
    """Address of the index's record of a run of the DAG rollback."""
    return f"gs://{bucket}/{INDEX}{experiment}/rollbacks/{run_folder(run_id)}.json"


def weights(bucket: str) -> str:
    """The folder of weights of backbones, which people put there."""
    return f"gs://{bucket}/_weights/"


def dataset(bucket: str, experiment: str, fingerprint: str) -> str:
    """The folder of the dataset with this fingerprint."""
    return f"gs://{bucket}/{experiment}/datasets/{fingerprint}/"


def model_file(bucket: str, experiment: str, own: OwnModel) -> str:
    """An experiment's own model. One content has one address, so it is never overwritten."""
    return f"gs://{bucket}/{experiment}/models/{own.sha256}/{own.name}"


def dataset_mark(dataset_uri: str) -> str:
    """The object that is written last: if it exists, the dataset is complete."""
    return f"{dataset_uri}dataset.json"


def dataset_rows(dataset_uri: str) -> str:
    """The files that BigQuery writes a table dataset's snapshot to; * is a number."""
    return f"{source(dataset_uri)}{ROWS}"


def dataset_columns(dataset_uri: str) -> str:
    """columns.json, which describes those rows. If it exists, the snapshot passed its checks."""
    return f"{source(dataset_uri)}columns.json"


def dataset_marks(experiment: str) -> str:
    """A pattern of the names, in the bucket, of all marks of an experiment's datasets."""
    return f"{experiment}/datasets/*/dataset.json"
