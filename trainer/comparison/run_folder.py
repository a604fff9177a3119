"""Reads the files of a run for the comparison.

trellis_contracts.layout has the addresses. Only the plan and the dataset are required. A training
without usable predictions becomes a failed contender with the reason; a trial without metrics.json
is shown with the tuner's measurement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trainer import dataset_description, predictions, storage
from trainer.prediction_checks import PredictionsError
from trainer.prediction_forms import AnyPredictions
from trellis_contracts import folds, layout, postprocessing, trials
from trellis_contracts.baseline import Baseline
from trellis_contracts.changes import DatasetChanges
from trellis_contracts.dataset import DatasetDescription, DatasetError
from trellis_contracts.documents import ContractError
from trellis_contracts.files import F
from trellis_contracts.layout import RunFolder
from trellis_contracts.plan import PlanFile
from trellis_contracts.postprocessing import PLAIN, Postprocessing
from trellis_contracts.training import Training


class RunError(ValueError):
    """A file that the comparison needs is missing or wrong; the message names it."""


@dataclass(frozen=True)
class Trial:
    """One tuning trial. history: its epochs as in metrics.json, empty if there is none.

    value, step: the tuner's final measurement, or None. rank: its place among the trials chosen for
    full training, None if it was not chosen.
    """

    id: str
    state: str
    parameters: Mapping[str, Any]
    value: float | None
    step: int | None
    start: str | None
    end: str | None
    history: Sequence[Mapping[str, float]]
    rank: int | None

    @property
    def score(self) -> float:
        """The value. Raises TypeError if the trial has none."""
        if self.value is None:
            raise TypeError(f"trial {self.id} has no value")
        return self.value


@dataclass(frozen=True)
class Tuning:
    """The tuning job: its metric, its goal ("maximize" or "minimize"), and its trials by number."""

    job: str | None
    metric: str
    goal: str
    trials: Sequence[Trial]


@dataclass(frozen=True)
class Contender:
    """A contender, with `predictions` or the `reason` why it has none.

    name: its folder below the run, e.g. training/1. kind: "training", "bqml", "automl" or
    "served".
    training: its metrics.json, or None. baseline: its baseline.json, or None.
    postprocessing: what a training does with its scores. uncalibrated: of one that is calibrated,
    its predictions before.
    seconds: duration of the training, the sum over its epochs or as the service reports it.
    cost_usd: upper bound of the cost, from the prices in platform.yaml. None where unknown.
    """

    name: str
    kind: str
    uri: str
    trial: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    training: Training | None = None
    baseline: Baseline | None = None
    predictions: AnyPredictions | None = None
    reason: str | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    postprocessing: Postprocessing = PLAIN
    uncalibrated: AnyPredictions | None = None

    @property
    def scorable(self) -> AnyPredictions:
        """The predictions. Raises TypeError if the contender failed."""
        if self.predictions is None:
            raise TypeError(f"{self.name} has no predictions: {self.reason}")
        return self.predictions


@dataclass(frozen=True)
class Served:
    """The model that the experiment's endpoint served at the time of the run.

    model: resource name of the model version, None if nothing is served. endpoint: resource name.
    contender: the name under which that model is compared, None if nothing is served. remark: a
    caveat about it in one sentence, or None.
    """

    model: str | None
    endpoint: str | None
    contender: str | None = None
    remark: str | None = None


@dataclass(frozen=True)
class Run:
    """A run, as far as the comparison needs it.

    tuning: of the experiment's `model`; other_tunings: of its other models, by name.
    previous: the dataset that the experiment used before, or None. changes: the content of
    changes.json, None if there is none. served: None if the run has no served.json. everything: the
    dataset of the run's own trainings, if it has folds.
    """

    uri: str
    plan: PlanFile
    dataset: DatasetDescription
    tuning: Tuning | None
    contenders: Sequence[Contender]
    previous: DatasetDescription | None = None
    changes: DatasetChanges | None = None
    served: Served | None = None
    other_tunings: Mapping[str, Tuning] = field(default_factory=dict)
    everything: DatasetDescription | None = None

    @property
    def trained_on(self) -> DatasetDescription:
        """The dataset that the run's own trainings have learned from."""
        return self.everything or self.dataset

    @property
    def tunings(self) -> Mapping[str, Tuning]:
        """The tuning jobs that have trials, by model; the experiment's own model comes first."""
        own = {self.plan.configuration["model"]: self.tuning} if self.tuning else {}
        found = {**own, **self.other_tunings}
        return {model: tuning for model, tuning in found.items() if tuning.trials}

    @property
    def files(self) -> RunFolder:
        """The addresses of the run's files."""
        return RunFolder(self.uri)

    @property
    def dataset_uri(self) -> str:
        """Folder of the dataset."""
        return self.plan.dataset.uri

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        return self.uri.rstrip("/").rpartition("/")[2]


def read_run(uri: str) -> Run:
    """Read the folder of a run (gs:// address or path).

    Raises RunError if the plan is missing or a file is invalid, DatasetError if there is no dataset
    where the plan says.
    """
    files = RunFolder(uri)
    plan = read_file(PlanFile, files.plan)
    if plan is None:
        raise RunError(
            f"there is no {files.plan}: is --run the folder of a run (gs://BUCKET/EXPERIMENT/runs/RUN/)?"
        )
    everything = None
    if "folds" in plan.configuration["train"]:
        everything = dataset_description.load(folds.dataset(plan.dataset.uri, folds.EVERYTHING))
    return Run(
        uri=uri,
        plan=plan,
        dataset=dataset_description.load(plan.dataset.uri),
        previous=_previous(plan.dataset.previous),
        changes=read_file(DatasetChanges, files.changes),
        everything=everything,
        **_learned(files, plan),
    )


def read_fold(run: Run, part: str) -> Run:
    """What a fold's jobs have left, as a run on the fold's dataset: its trainings, no baselines.

    Raises RunError or DatasetError.
    """
    address = folds.dataset(run.dataset_uri, part)
    plan = replace(run.plan, dataset=replace(run.plan.dataset, uri=address))
    files = RunFolder(run.files.fold(part))
    dataset = dataset_description.load(address)
    return Run(uri=files.uri, plan=plan, dataset=dataset, **_learned(files, plan))


def _learned(files: RunFolder, plan: PlanFile) -> dict[str, Any]:
    """The searches and trainings below a folder, as fields of a Run."""
    tuning = _tuning(files, None)
    others = {model: _tuning(files, model) for model in plan.configuration.get("other_models", {})}
    other_tunings = {model: found for model, found in others.items() if found}
    every = [*([tuning] if tuning else []), *other_tunings.values()]
    return {
        "tuning": tuning,
        "other_tunings": other_tunings,
        "contenders": _trainings(files, every, plan),
    }


def _previous(uri: str | None) -> DatasetDescription | None:
    """The description of an earlier dataset; None if it was deleted."""
    try:
        return dataset_description.load(uri) if uri else None
    except DatasetError:
        return None


def _tuning(files: RunFolder, model: str | None) -> Tuning | None:
    """model: None of the experiment's own. None without a trials.json."""
    found = read_file(trials.Trials, files.trials_of(model))
    if found is None:
        return None
    ranks = {chosen.trial: chosen.rank for chosen in found.chosen}
    every = [
        _trial(trial, files.trial_metrics(trial.id, model), ranks.get(trial.id))
        for trial in found.trials
    ]
    return Tuning(
        job=found.job,
        metric=found.metric,
        goal=found.goal,
        # Vertex AI does not sort a job's trials.
        trials=sorted(every, key=lambda trial: (len(trial.id), trial.id)),
    )


def _trial(trial: trials.Trial, metrics: str, rank: int | None) -> Trial:
    training = read_file(Training, metrics)
    return Trial(
        id=trial.id,
        state=trial.state,
        parameters=trial.parameters,
        value=trial.final.value if trial.final else None,
        step=trial.final.step if trial.final else None,
        start=trial.start,
        end=trial.end,
        history=training.history if training else (),
        rank=rank,
    )


def _trainings(files: RunFolder, tunings: Sequence[Tuning], plan: PlanFile) -> list[Contender]:
    """A contender for every chosen trial and every folder below training/, and for their mean if
    the plan has one.
    """
    rate = plan.rates["training"]
    every = [trial for tuning in tunings for trial in tuning.trials]
    chosen = {str(trial.rank): trial for trial in every if trial.rank is not None}
    folder = storage.local_path(files.trainings)
    found = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    if plan.configuration.get("train", {}).get("ensemble"):
        found.add(layout.ENSEMBLE.rpartition("/")[2])
    contenders = []
    for rank in sorted(found | set(chosen), key=lambda rank: (len(rank), rank)):
        name = f"training/{rank}"
        uri = files.contender(name)
        training, predicted, reason = read_training(uri)
        trial = chosen.get(rank)
        seconds = training.seconds if training else None
        contenders.append(
            Contender(
                name=name,
                kind="training",
                uri=uri,
                trial=trial.id if trial else None,
                parameters=_parameters(training, trial),
                training=training,
                predictions=predicted,
                reason=reason,
                seconds=seconds,
                cost_usd=None if seconds is None else rate * seconds / 3600,
                **({} if predicted is None else _postprocessing(uri)),
            )
        )
    return contenders


def read_training(
    uri: str,
) -> tuple[Training | None, AnyPredictions | None, str | None]:
    """A training's metrics.json, None if there is none; its predictions, or why it has none.

    uri: of its folder. Raises RunError for a metrics.json that does not fit its schema.
    """
    training = read_file(Training, layout.metrics(uri))
    return training, *_predictions(uri, training)


def _postprocessing(uri: str) -> dict[str, Any]:
    """What a Contender has of a training's postprocessing. uri: of its folder."""
    model = layout.trained_model(uri)
    found = read_file(Postprocessing, storage.join(model, postprocessing.FILE_NAME)) or PLAIN
    if found.calibration is None:
        return {"postprocessing": found}
    address = layout.uncalibrated(uri)
    try:
        before = predictions.read(storage.local_path(address))
    except (FileNotFoundError, PredictionsError) as error:
        raise RunError(f"{address} cannot be read: {error}") from error
    return {"postprocessing": found, "uncalibrated": before}


def _parameters(training: Training | None, trial: Trial | None) -> Mapping[str, Any]:
    if training:
        return training.hyperparameters
    return trial.parameters if trial else {}


def _predictions(uri: str, training: Training | None) -> tuple[AnyPredictions | None, str | None]:
    """The predictions of a training, or the reason why it has none."""
    path = storage.local_path(layout.predictions(uri))
    if not path.parent.is_dir():
        if uri.endswith(f"/{layout.ENSEMBLE}/"):
            return None, "there is none: its job failed, or fewer than two trainings have ended"
        return None, "the training wrote nothing: it failed before its first epoch, or never ran"
    if not training:
        # metrics.json is written last: without it, other files may be those of an earlier attempt.
        left = ", ".join(sorted(entry.name for entry in path.parent.iterdir())) or "nothing"
        return (
            None,
            f"the training did not finish: no metrics.json beside {left}; see the job's log",
        )
    try:
        return predictions.read(path), None
    except FileNotFoundError:
        return None, "no predictions.parquet: it was trained with --outputs metrics"
    except PredictionsError as error:
        return None, f"predictions.parquet: {error}"


def read_file(kind: type[F], uri: str) -> F | None:
    """The file at `uri`; None if there is none. Raises RunError if it does not match its schema."""
    try:
        text = storage.local_path(uri).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return kind.parse(text, uri)
    except ContractError as error:
        raise RunError(str(error)) from error
