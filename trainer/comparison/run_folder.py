"""The files in a run's folder, as the comparison reads them.

    RUN/plan.json                       the configuration of the run; names the dataset
    RUN/trials.json                     the tuning job's outcome and the trials chosen for training
    RUN/tuning/TRIAL/metrics.json       a trial's epochs
    RUN/training/RANK/metrics.json      a full training's epochs
    RUN/training/RANK/predictions.parquet   its predictions for the test split: the contender
    RUN/baselines/NAME/                 a baseline, see `baselines`
    RUN/served.json                     what the experiment's endpoint serves, see `served`

Only the plan and the dataset are required. A training without usable predictions is a failed
contender, with the reason; a trial without epochs is shown with what the tuner reports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer import contracts, dataset_description, predictions, storage
from trainer.contracts import ContractError
from trainer.dataset_description import DatasetDescription, DatasetError
from trainer.predictions import Predictions, PredictionsError, Values


class RunError(ValueError):
    """A file that the comparison needs is missing or wrong; the message names it."""


@dataclass(frozen=True)
class Trial:
    """One tuning trial. history: its epochs as in metrics.json, empty if it left none.

    value, step: the measurement that the tuner took, None if it took none. rank: its place among
    the trials chosen for full training, None if it was not chosen.
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
        """The value of a trial that has one. Raises TypeError if it has none."""
        if self.value is None:
            raise TypeError(f"trial {self.id} has no value")
        return self.value


@dataclass(frozen=True)
class Tuning:
    """The tuning job: metric it optimised, "maximize" or "minimize", and its trials by number."""

    job: str | None
    metric: str
    goal: str
    trials: Sequence[Trial]


@dataclass(frozen=True)
class Contender:
    """One contender: `predictions` or the `reason` why there are none.

    name: its folder below the run, e.g. training/1. kind: "tensorflow", "bqml", "automl" or
    "served".
    training: its metrics.json, None if none. baseline: its baseline.json, None if none.
    seconds: time to train, the sum over the epochs or as the service reports. cost_usd: upper bound
    of the cost, from the prices in platform.yaml. None where unknown.
    """

    name: str
    kind: str
    uri: str
    trial: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] | None = None
    baseline: Mapping[str, Any] | None = None
    predictions: Predictions | Values | None = None
    reason: str | None = None
    seconds: float | None = None
    cost_usd: float | None = None

    @property
    def scorable(self) -> Predictions | Values:
        """The predictions of a contender that did not fail. Raises TypeError for one that did."""
        if self.predictions is None:
            raise TypeError(f"{self.name} has no predictions: {self.reason}")
        return self.predictions


@dataclass(frozen=True)
class Served:
    """What the experiment's endpoint served at the time of the run.

    model: resource name of the model version, None if nothing is served. endpoint: resource name.
    contender: the name under which that model is compared, None if nothing is served. remark: a
    caveat about it in one sentence, or None.
    """

    model: str | None
    endpoint: str | None
    contender: str | None = None
    remark: str | None = None


@dataclass(frozen=True)
class Plan:
    """What the comparison reads of plan.json (trainer/contracts/plan.schema.json).

    configuration: the experiment file with defaults filled in and the run's parameters applied.
    deploy: its deploy section, None if there is none. previous: folder of the dataset that the
    experiment used before, None if there is none. training_rate: USD an hour of one training.
    """

    experiment: str
    run_id: str
    created: str
    data_interval: Mapping[str, str | None]
    configuration: Mapping[str, Any]
    deploy: Mapping[str, Any] | None
    dataset_uri: str
    previous: str | None
    baselines: Sequence[str]
    training_rate: float

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Plan":
        """The plan in a checked plan.json."""
        return cls(
            experiment=document["experiment"],
            run_id=document["run_id"],
            created=document["created"],
            data_interval=document["data_interval"],
            configuration=document["configuration"],
            deploy=document["configuration"].get("deploy"),
            dataset_uri=document["dataset"]["uri"],
            previous=document["dataset"]["previous"],
            baselines=document["baselines"],
            training_rate=document["rates"]["training"],
        )


@dataclass(frozen=True)
class Run:
    """Everything of a run that the comparison reads.

    previous: the dataset that the experiment used before this one, None if there is none. served:
    None if the run did not record it.
    """

    uri: str
    plan: Plan
    dataset: DatasetDescription
    tuning: Tuning | None
    contenders: Sequence[Contender]
    previous: DatasetDescription | None = None
    served: Served | None = None

    @property
    def dataset_uri(self) -> str:
        """Folder of the dataset."""
        return self.plan.dataset_uri

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        return self.uri.rstrip("/").rpartition("/")[2]


def read_run(uri: str) -> Run:
    """Read the folder of a run (gs:// address or path).

    Raises RunError if the plan is missing or a file cannot be understood, DatasetError if the
    dataset that the plan names is not there.
    """
    where = storage.join(uri, "plan.json")
    document = read_document("plan", where)
    if document is None:
        raise RunError(
            f"there is no {where}: is --run the folder of a run (gs://BUCKET/EXPERIMENT/runs/RUN/)?"
        )
    plan = Plan.of(document)
    trials = read_document("trials", storage.join(uri, "trials.json"))
    tuning = None if trials is None else _tuning(uri, trials)
    return Run(
        uri=uri,
        plan=plan,
        dataset=dataset_description.load(plan.dataset_uri),
        tuning=tuning,
        contenders=_trainings(uri, tuning, plan.training_rate),
        previous=_previous(plan.previous),
    )


def _previous(uri: str | None) -> DatasetDescription | None:
    """The description of an earlier dataset; None if it has been deleted or outdated since."""
    try:
        return dataset_description.load(uri) if uri else None
    except DatasetError:
        return None


def _tuning(run_uri: str, document: Mapping[str, Any]) -> Tuning:
    ranks = {chosen["trial"]: chosen["rank"] for chosen in document["chosen"]}
    trials = [_trial(run_uri, trial, ranks.get(trial["id"])) for trial in document["trials"]]
    return Tuning(
        job=document["job"],
        metric=document["metric"],
        goal=document["goal"],
        # Vertex AI does not sort a job's trials.
        trials=sorted(trials, key=lambda trial: (len(trial.id), trial.id)),
    )


def _trial(run_uri: str, document: Mapping[str, Any], rank: int | None) -> Trial:
    metrics = _metrics(storage.join(run_uri, "tuning", document["id"]))
    final = document["final"]
    return Trial(
        id=document["id"],
        state=document["state"],
        parameters=document["parameters"],
        value=final["value"] if final else None,
        step=final["step"] if final else None,
        start=document["start"],
        end=document["end"],
        history=metrics["history"] if metrics else (),
        rank=rank,
    )


def _trainings(run_uri: str, tuning: Tuning | None, rate: float) -> list[Contender]:
    """A contender for every trial that was chosen and every folder below training/.

    rate: USD per hour of one training with all its workers.
    """
    chosen = {str(t.rank): t for t in tuning.trials if t.rank is not None} if tuning else {}
    folder = storage.local_path(storage.join(run_uri, "training"))
    found = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    contenders = []
    for rank in sorted(found | set(chosen), key=lambda rank: (len(rank), rank)):
        name = f"training/{rank}"
        uri = storage.join(run_uri, name) + "/"
        training = _metrics(uri)
        trial = chosen.get(rank)
        predicted, reason = _predictions(uri, training)
        seconds = _seconds(training)
        contenders.append(
            Contender(
                name=name,
                kind="tensorflow",
                uri=uri,
                trial=trial.id if trial else None,
                parameters=_parameters(training, trial),
                training=training,
                predictions=predicted,
                reason=reason,
                seconds=seconds,
                cost_usd=None if seconds is None else rate * seconds / 3600,
            )
        )
    return contenders


def _parameters(training: Mapping[str, Any] | None, trial: Trial | None) -> Mapping[str, Any]:
    if training:
        return training["hyperparameters"]
    return trial.parameters if trial else {}


def _seconds(training: Mapping[str, Any] | None) -> float | None:
    """All epochs together; None if there is no record of them."""
    return sum(epoch["seconds"] for epoch in training["history"]) if training else None


def _predictions(
    uri: str, training: Mapping[str, Any] | None
) -> tuple[Predictions | Values | None, str | None]:
    """The predictions in a contender's folder, or the reason why they cannot be scored."""
    path = storage.local_path(storage.join(uri, "predictions.parquet"))
    if not path.parent.is_dir():
        return None, "the training wrote nothing: it failed before its first epoch, or never ran"
    if not training:
        # metrics.json is written last: what else lies here may be of an earlier attempt.
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


def _metrics(uri: str) -> Mapping[str, Any] | None:
    return read_document("metrics", storage.join(uri, "metrics.json"))


def read_document(name: str, uri: str) -> Mapping[str, Any] | None:
    """The checked document of a contract; None if there is no such file. Raises RunError."""
    try:
        return contracts.read(name, uri)
    except ContractError as error:
        raise RunError(str(error)) from error
