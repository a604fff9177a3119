"""The addresses of a run's files, which Airflow's side and the trainer share.

RUN/                              gs://BUCKET/EXPERIMENT/runs/NAME/
    plan.json                     what this run does, and its cost limit
    tuning/TRIAL/                 what the tuning job's trials write, progress.json while they
                                  train, metrics.json last
    tuning/MODEL/                 trials.json and TRIAL/ of each of `other_models`
    changes.json                  how the dataset differs from the last one trained on
    start.json                    the served training that another one goes on from
    trials.json                   all trials, and those chosen
    training/RANK/                model/, checkpoints/, logs/, progress.json, metrics.json,
                                  predictions.parquet;
                                  masks/, of a segmentation;
                                  uncalibrated.parquet, if it is calibrated
        seeds/SEED/               the same of this training with another seed
    training/ensemble/            model/, metrics.json, predictions.parquet of the trainings' mean
    baselines/NAME/               raw/, service/, baseline.json, predictions.parquet
    served.json                   which model is served when the run compares
    served/                       predictions.parquet: what that model says of the test split
    leaderboard/                  leaderboard.json, report.html, figures.json: its figures;
                                  challenger.json: what to deploy
    approval.json                 whether people approve of deploying the challenger
    deployment.json               progress and result of the challenger's deployment
    folds/REPEAT-FOLD/            tuning/, trials.json, training/, baselines/ of a fold (folds.py)
    folds/CONTENDER/              predictions.parquet: what it predicts in all folds
    examples/TASK.txt             keys and values of rows that a task's messages leave out

Addresses of folders end with a slash.
"""

import hashlib
from dataclasses import dataclass

ROWS = "rows-*.parquet"
"""The files of a table dataset's snapshot, in the dataset's folder source/."""

ENSEMBLE = "training/ensemble"
"""Name of the mean of all trainings as a contender."""


def source(dataset: str) -> str:
    """The folder of a dataset's frozen rows, as Parquet files."""
    return f"{dataset.rstrip('/')}/source/"


def examples(folder: str, task: str) -> str:
    """What a task's messages quote of rows (withheld.py), in the folder of a run or prediction."""
    return f"{folder}examples/{task}.txt"


def metrics(folder: str) -> str:
    """metrics.json of a trial or a training, which writes it last."""
    return f"{folder}metrics.json"


def progress(folder: str) -> str:
    """progress.json of a trial or a training, which writes it while it trains."""
    return f"{folder}progress.json"


def predictions(folder: str) -> str:
    """predictions.parquet of a contender's folder."""
    return f"{folder}predictions.parquet"


def mask(folder: str, key: str) -> str:
    """The mask that a contender predicts for an example: a grey PNG of 8 bits, whose pixels are
    indices of classes. key: the example's, any text, of which the name has a hash.
    """
    return f"{folder}masks/{hashlib.sha256(key.encode()).hexdigest()[:32]}.png"


def uncalibrated(training: str) -> str:
    """The predictions of a training without its calibration, in the form of predictions.parquet."""
    return f"{training}uncalibrated.parquet"


def trained_model(training: str) -> str:
    """The folder of a training's SavedModel."""
    return f"{training}model/"


FILE_BASELINE = "file-"
"""What the name of a baseline begins with whose predictions were made elsewhere."""


def baseline_file(baseline: str) -> str:
    """baseline.json in the folder of a baseline."""
    return f"{baseline}baseline.json"


class RunAddresses:
    """The addresses below the folder of a run. Subclasses have its `uri`."""

    @property
    def uri(self) -> str:
        """The run's folder."""
        raise NotImplementedError

    @property
    def plan(self) -> str:
        return f"{self.uri}plan.json"

    @property
    def changes(self) -> str:
        return f"{self.uri}changes.json"

    @property
    def start(self) -> str:
        return f"{self.uri}start.json"

    @property
    def tuning(self) -> str:
        """Base of the tuning job; Vertex adds TRIAL/."""
        return self.tuning_of(None)

    def tuning_of(self, model: str | None) -> str:
        """Tuning folder of one model; None is the experiment's `model`."""
        return f"{self.uri}tuning/{model}/" if model else f"{self.uri}tuning/"

    def trial_metrics(self, trial: str, model: str | None = None) -> str:
        """Address of the last file that the trial with this id writes; a trial that was stopped
        early writes none.
        """
        return metrics(f"{self.tuning_of(model)}{trial}/")

    @property
    def trials(self) -> str:
        return self.trials_of(None)

    def trials_of(self, model: str | None) -> str:
        """Address of one model's trials; None is the experiment's `model`."""
        return f"{self.tuning_of(model)}trials.json" if model else f"{self.uri}trials.json"

    @property
    def trainings(self) -> str:
        """Folder of the folders of all trainings."""
        return self.contender("training")

    def training(self, rank: int) -> str:
        """Base of the training of the trial ranked `rank`, from 1."""
        return self.contender(f"training/{rank}")

    def repeat(self, rank: int, seed: int) -> str:
        """Base of the same training with another seed."""
        return self.repeat_of(f"training/{rank}", seed)

    def repeat_of(self, training: str, seed: int) -> str:
        """Base of a contender's training with another seed."""
        return f"{self.contender(training)}seeds/{seed}/"

    @property
    def ensemble(self) -> str:
        """Base of the mean of all trainings, which competes as one of them."""
        return self.contender(ENSEMBLE)

    @property
    def baselines(self) -> str:
        """Folder of the folders of all baselines."""
        return self.contender("baselines")

    def baseline(self, name: str) -> str:
        """A baseline's files: raw/ (its predictions), service/ (its service's own results) and
        baseline.json; the comparison adds predictions.parquet.
        """
        return self.contender(f"baselines/{name}")

    def fold(self, part: str) -> str:
        """Folder of what a fold's jobs write, in which the addresses of trials, trainings and
        baselines are those of a run.
        """
        return f"{self.uri}folds/{part}/"

    def out_of_fold(self, name: str) -> str:
        """A contender's predictions of all folds, in the form of predictions.parquet."""
        return predictions(self.fold(name))

    def contender(self, name: str) -> str:
        """Folder of a contender by its name on the leaderboard."""
        return f"{self.uri}{name}/"

    @property
    def comparison(self) -> str:
        """Folder of the comparison's files."""
        return f"{self.uri}leaderboard/"

    @property
    def leaderboard(self) -> str:
        return f"{self.comparison}leaderboard.json"

    @property
    def report(self) -> str:
        return f"{self.comparison}report.html"

    @property
    def figures(self) -> str:
        return f"{self.comparison}figures.json"

    def examples_of(self, task: str) -> str:
        """Keys and values of rows that a task's messages leave out."""
        return examples(self.uri, task)

    @property
    def served(self) -> str:
        return f"{self.uri}served.json"

    @property
    def challenger(self) -> str:
        return f"{self.comparison}challenger.json"

    @property
    def approval(self) -> str:
        return f"{self.uri}approval.json"

    @property
    def deployment(self) -> str:
        return f"{self.uri}deployment.json"


@dataclass(frozen=True)
class RunFolder(RunAddresses):
    """The addresses of a run by its folder. address: gs://.../ or a path."""

    address: str

    @property
    def uri(self) -> str:
        """The run's folder."""
        return f"{self.address.rstrip('/')}/"
