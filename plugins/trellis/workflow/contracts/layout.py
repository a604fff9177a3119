"""Where each file of an experiment lies in the bucket: the contract between the stages.

gs://BUCKET/EXPERIMENT/
    datasets/FINGERPRINT/         {train,validation,test}-*.tfrecord, rejected.jsonl, dataset.json
        source/                   of a table: rows-*.parquet, columns.json
    runs/RUN/
        plan.json                 what this run is to do, and at most costs
        tuning/TRIAL/             what the tuning job's trials write
        trials.json               all trials, and those chosen
        training/RANK/            model/, checkpoints/, logs/, metrics.json, predictions.parquet
        baselines/NAME/           raw/, service/, baseline.json, predictions.parquet
        served.json               which model is served when the run compares
        served/                   predictions.parquet: what that model says of the test split
        leaderboard/              leaderboard.json, report.html; challenger.json: what to deploy
        deployment.json           what became of the challenger's deployment

Datasets lie beside the runs, as runs share them. Addresses of folders end with a slash.
"""

import hashlib
import re
from dataclasses import dataclass

_MAX_RUN_LENGTH = 100


def run_folder(run_id: str, generation: int = 1) -> str:
    """The folder of a run, a pure function of its id: the id itself where that can name a folder.

    Else a readable part of it and a digest, so that two run ids never share a folder. Generations
    after the first are apart, or a new training would go on from the old one's checkpoints.
    """
    folder = re.sub(r"[^A-Za-z0-9_.-]+", "-", run_id).strip(".-")
    if folder != run_id or len(folder) > _MAX_RUN_LENGTH:
        digest = hashlib.sha256(run_id.encode()).hexdigest()[:8]
        folder = f"{folder[: _MAX_RUN_LENGTH - 9]}-{digest}"
    return f"{folder}~{generation}" if generation > 1 else folder


@dataclass(frozen=True)
class Run:
    """The addresses of one run."""

    bucket: str
    experiment: str
    folder: str

    @property
    def uri(self) -> str:
        return f"gs://{self.bucket}/{self.experiment}/runs/{self.folder}/"

    @property
    def plan(self) -> str:
        return f"{self.uri}plan.json"

    @property
    def tuning(self) -> str:
        """Base of the tuning job; Vertex adds TRIAL/."""
        return f"{self.uri}tuning/"

    @property
    def trials(self) -> str:
        return f"{self.uri}trials.json"

    def training(self, rank: int) -> str:
        """Base of the training of the trial ranked `rank`, from 1."""
        return f"{self.uri}training/{rank}/"

    def baseline(self, name: str) -> str:
        """What a baseline leaves: raw/ (its predictions), service/ (what its service says of it)
        and baseline.json; the comparison adds predictions.parquet."""
        return f"{self.uri}baselines/{name}/"

    @property
    def leaderboard(self) -> str:
        return f"{self.uri}leaderboard/leaderboard.json"

    @property
    def report(self) -> str:
        return f"{self.uri}leaderboard/report.html"

    @property
    def served(self) -> str:
        return f"{self.uri}served.json"

    @property
    def challenger(self) -> str:
        return f"{self.uri}leaderboard/challenger.json"

    @property
    def deployment(self) -> str:
        return f"{self.uri}deployment.json"


def dataset(bucket: str, experiment: str, fingerprint: str) -> str:
    """The folder of the dataset with this fingerprint."""
    return f"gs://{bucket}/{experiment}/datasets/{fingerprint}/"


def dataset_mark(dataset_uri: str) -> str:
    """The object that is written last: with it, the dataset is whole."""
    return f"{dataset_uri}dataset.json"


def dataset_rows(dataset_uri: str) -> str:
    """The files that BigQuery writes a table dataset's snapshot to; * is a number."""
    return f"{dataset_uri}source/rows-*.parquet"


def dataset_columns(dataset_uri: str) -> str:
    """What those rows mean: columns.json. With it, the snapshot has passed its checks."""
    return f"{dataset_uri}source/columns.json"


def dataset_marks(experiment: str) -> str:
    """A pattern of the names, in the bucket, of all marks of an experiment's datasets."""
    return f"{experiment}/datasets/*/dataset.json"
