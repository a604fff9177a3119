"""What a run left in its folder, read for the comparison.

    RUN/plan.json                       what was asked for; names the dataset
    RUN/trials.json                     the tuning job's outcome and the trials chosen for training
    RUN/tuning/TRIAL/metrics.json       a trial's epochs
    RUN/training/RANK/metrics.json      a full training's epochs
    RUN/training/RANK/predictions.parquet   its predictions for the test split: the contender
    RUN/baselines/NAME/                 a baseline, see `baselines`
    RUN/served.json                     what the experiment's endpoint serves, see `served`

Only the plan and the dataset must be there. A training without usable predictions is a contender
that failed, with the reason; a trial without epochs is shown with what the tuner knows of it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainer import dataset_description, predictions, storage
from trainer.dataset_description import DatasetDescription, DatasetError
from trainer.predictions import Predictions, PredictionsError, Values

SCHEMA_VERSION = 1


class RunError(ValueError):
    """The run's folder does not hold what a comparison needs; the message names the file."""


@dataclass(frozen=True)
class Trial:
    """One tuning trial. history: its epochs as in metrics.json, empty if it left none.

    value, step: the measurement that the tuner took, None if it took none. rank: its place among
    the trials chosen for full training, None if it was not chosen.
    """

    id: str
    state: str
    parameters: Mapping[str, object]
    value: float | None
    step: int | None
    start: str | None
    end: str | None
    history: Sequence[Mapping[str, float]]
    rank: int | None


@dataclass(frozen=True)
class Tuning:
    """The tuning job: metric it optimised, "maximize" or "minimize", and its trials by number."""

    job: str | None
    metric: str
    goal: str
    trials: Sequence[Trial]


@dataclass(frozen=True)
class Contender:
    """One candidate for champion: `predictions` or the `reason` why there are none.

    name: its folder below the run, e.g. training/1. kind: "tensorflow", "bqml", "automl" or
    "served".
    training: its metrics.json, {} if none. baseline: its baseline.json, {} if none.
    seconds: time it took to train, all epochs together or as the service tells. cost_usd: what that
    cost at most, from the prices in platform.yaml. None where unknown.
    """

    name: str
    kind: str
    uri: str
    trial: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    training: Mapping[str, object] = field(default_factory=dict)
    baseline: Mapping[str, object] = field(default_factory=dict)
    predictions: Predictions | Values | None = None
    reason: str | None = None
    seconds: float | None = None
    cost_usd: float | None = None


@dataclass(frozen=True)
class Served:
    """What the experiment's endpoint served when this run looked.

    model: resource name of the model version, None if nothing is served. endpoint: resource name.
    contender: the name under which that model is compared, None if nothing is served. remark: what
    a reader must know of it, a sentence, or None.
    """

    model: str | None
    endpoint: str | None
    contender: str | None = None
    remark: str | None = None


@dataclass(frozen=True)
class Run:
    """All of a run that the comparison looks at.

    previous: the dataset that the experiment used before this one, None if there is none. served:
    None if the run did not look.
    """

    uri: str
    plan: Mapping[str, object]
    dataset_uri: str
    dataset: DatasetDescription
    tuning: Tuning | None
    contenders: Sequence[Contender]
    previous: DatasetDescription | None = None
    served: Served | None = None

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        return self.uri.rstrip("/").rpartition("/")[2]


def read_run(uri: str) -> Run:
    """Read the folder of a run (gs:// address or path).

    Raises RunError if the plan is missing or a file cannot be understood, DatasetError if the
    dataset that the plan names is not there.
    """
    plan = read_document(storage.join(uri, "plan.json"))
    if plan is None:
        raise RunError(
            f"there is no {storage.join(uri, 'plan.json')}: is --run the folder of a run "
            "(gs://BUCKET/EXPERIMENT/runs/RUN/)?"
        )
    try:
        dataset_uri = plan["dataset"]["uri"]
    except (KeyError, TypeError) as error:
        raise RunError(f"{storage.join(uri, 'plan.json')} names no dataset.uri") from error
    document = read_document(storage.join(uri, "trials.json"))
    tuning = None if document is None else _tuning(uri, document)
    return Run(
        uri=uri,
        plan=plan,
        dataset_uri=dataset_uri,
        dataset=dataset_description.load(dataset_uri),
        tuning=tuning,
        contenders=_trainings(uri, tuning, (plan.get("rates") or {}).get("training")),
        previous=_previous(plan["dataset"].get("previous")),
    )


def _previous(uri: str | None) -> DatasetDescription | None:
    """The description of an earlier dataset; None if it has been deleted or outdated since."""
    try:
        return dataset_description.load(uri) if uri else None
    except DatasetError:
        return None


def _tuning(run_uri: str, document: Mapping) -> Tuning:
    where = storage.join(run_uri, "trials.json")
    try:
        ranks = {chosen["trial"]: chosen["rank"] for chosen in document["chosen"]}
        trials = [
            Trial(
                id=trial["id"],
                state=trial["state"],
                parameters=trial["parameters"],
                value=(trial.get("final") or {}).get("value"),
                step=(trial.get("final") or {}).get("step"),
                start=trial.get("start"),
                end=trial.get("end"),
                history=_metrics(storage.join(run_uri, "tuning", trial["id"])).get("history", []),
                rank=ranks.get(trial["id"]),
            )
            for trial in document["trials"]
        ]
        return Tuning(
            job=document.get("job"),
            metric=document["metric"],
            goal=document["goal"].lower(),
            # Vertex AI does not sort a job's trials.
            trials=sorted(trials, key=lambda trial: (len(trial.id), trial.id)),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{where} is not as documented: {error!r}") from error


def _trainings(run_uri: str, tuning: Tuning | None, rate: float | None) -> list[Contender]:
    """A contender for every trial that was chosen and every folder below training/.

    rate: USD per hour of one training with all its workers, None if unknown.
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
                parameters=training.get("hyperparameters") or (trial.parameters if trial else {}),
                training=training,
                predictions=predicted,
                reason=reason,
                seconds=seconds,
                cost_usd=None if rate is None or seconds is None else rate * seconds / 3600,
            )
        )
    return contenders


def _seconds(training: Mapping) -> float | None:
    """All epochs together; None if there is no record of them."""
    if not training.get("history"):
        return None
    return sum(epoch.get("seconds") or 0 for epoch in training["history"])


def _predictions(uri: str, training: Mapping) -> tuple[Predictions | None, str | None]:
    """The predictions in a contender's folder, or the reason why they cannot be scored."""
    path = storage.local_path(storage.join(uri, "predictions.parquet"))
    if not path.parent.is_dir():
        return None, "the training left nothing: it failed before its first epoch, or never ran"
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


def _metrics(uri: str) -> Mapping:
    return read_document(storage.join(uri, "metrics.json")) or {}


def read_document(uri: str) -> Mapping | None:
    """A JSON object of schema 1; None if there is no such file."""
    path: Path = storage.local_path(uri)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise RunError(f"{uri} is not JSON: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA_VERSION:
        raise RunError(f"{uri} is not a document of schema {SCHEMA_VERSION}")
    return document
