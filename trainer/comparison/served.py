"""Adds the served model as a contender, since a challenger must not be worse.

    RUN/served.json                    written by the task `served`
    RUN/served/predictions.parquet     written here: that model's predictions for the test split

The model is scored through its serving signature; TensorFlow is imported only for that. A model of
a service (AutoML, BigQuery ML) has no files to load: its predictions are those that the service
wrote to RUN/served/raw/, or those of its own run, if that had the same dataset. Its predictions are
reused if the comparison is repeated while the same model is served. If the served
model is a training of this run (a finished run that is repeated), it is already a contender.

The served model may have been trained on examples of the test split. A split by the key's hash
assigns a key always to the same split, so this can only happen if the shares of the splits have
changed: that is checked if the model's metrics.json and dataset still exist, and noted in the
leaderboard. For a split by a column of the source it is unknown.

If scoring fails, the served model is a failed contender with the reason, and the run still gets its
leaderboard.
"""

import dataclasses

from trainer import dataset_description, predictions, storage
from trainer.comparison import raw_predictions
from trainer.comparison.held_out_split import HeldOutSplit
from trainer.comparison.run_folder import Contender, Run, RunError, Served, read_file
from trainer.prediction_checks import PredictionsError
from trainer.prediction_forms import AnyPredictions
from trainer.storage import StorageError
from trellis_contracts import layout
from trellis_contracts.dataset import DatasetError, Split
from trellis_contracts.layout import RunFolder
from trellis_contracts.plan import PlanFile
from trellis_contracts.program.terms import PROGRAM
from trellis_contracts.served import Served as ServedFile
from trellis_contracts.training import Training

NAME = "served"
# Characters of a reason: an error of TensorFlow may contain a whole graph.
_LONGEST = 500


def with_served(run: Run, split: HeldOutSplit) -> Run:
    """The run with the content of served.json, and a contender for the model that it names.

    Writes predictions.parquet of that model. Raises RunError if served.json is invalid.
    """
    found = read_file(ServedFile, run.files.served)
    if found is None:
        return run
    model, endpoint, artifact = found.model, found.endpoint, found.artifact_uri
    if model is None:
        return dataclasses.replace(run, served=Served(None, endpoint))
    if own := _own(artifact, found.origin, run):
        return dataclasses.replace(run, served=Served(model, endpoint, own))
    contender = _contender(model, found, run, split)
    return dataclasses.replace(
        run,
        served=Served(model, endpoint, NAME, _other_shares(artifact, run)),
        contenders=[*run.contenders, contender],
    )


def _own(artifact: str | None, origin: str | None, run: Run) -> str | None:
    """Name of this run's contender that is the served model; None if it is not of this run."""
    if artifact is None:
        baselines = {_folder(c.uri): c.name for c in run.contenders if c.baseline is not None}
        return baselines.get(_folder(origin)) if origin else None
    models = {
        _folder(layout.trained_model(contender.uri)): contender.name
        for contender in run.contenders
        if contender.kind == "training"
    }
    return models.get(_folder(artifact))


def _folder(uri: str) -> object:
    """Normalize a folder's address, for comparison."""
    try:
        return storage.local_path(uri)
    except StorageError:
        return uri


def _contender(model: str, found: ServedFile, run: Run, split: HeldOutSplit) -> Contender:
    contender = Contender(NAME, "served", run.files.contender(NAME))
    try:
        if found.service is not None:
            predicted = _of_service(contender, model, found, run, split)
        elif _of_program(found.origin):
            predicted = _of_its_run(model, found.origin, run)
        else:
            predicted = _predictions(contender, model, found.artifact_uri, run)
        split.outcome(predicted)
    except Exception as error:  # an arbitrary model run by TensorFlow raises many kinds
        return dataclasses.replace(contender, reason=_reason(error))
    return dataclasses.replace(contender, predictions=predicted)


def _predictions(
    contender: Contender, model: str, artifact: str | None, run: Run
) -> AnyPredictions:
    """The model's predictions for the test split: stored ones, else new ones."""
    if artifact is None:
        raise PredictionsError(f"{model} has no files to score: no run uploaded it")
    path = storage.local_path(layout.predictions(contender.uri))
    origin = {"model": model, "artifact_uri": artifact, "dataset": run.dataset.fingerprint}
    try:
        if predictions.origin(path) == origin:
            return predictions.read(path)
    except (FileNotFoundError, PredictionsError):
        pass
    # What it imports for a SavedModel takes longer than the rest of the comparison.
    from trainer.comparison import scoring

    predicted = scoring.score(artifact, run.dataset_uri, run.dataset)
    path.parent.mkdir(parents=True, exist_ok=True)
    predictions.write(path, predicted, origin)
    return predicted


def _of_service(
    contender: Contender, model: str, found: ServedFile, run: Run, split: HeldOutSplit
) -> AnyPredictions:
    """What a service's model predicts for the test split. Raises PredictionsError if it is not
    known.
    """
    raw = storage.local_path(contender.uri) / "raw"
    if raw.is_dir():
        predicted = raw_predictions.read(raw, split)
        predictions.write(storage.local_path(layout.predictions(contender.uri)), predicted)
        return predicted
    if found.origin is not None and _same_dataset(found.origin, run):
        return predictions.read(storage.local_path(layout.predictions(found.origin)))
    raise PredictionsError(
        f"{model} is a model of {found.service}, and nobody has asked it for predictions of this "
        f"dataset's test split: name {found.service} in deploy.allow, so that the run does"
    )


def _of_program(origin: str | None) -> bool:
    """Return whether a contender was trained by a program that is not ours, whose model no other
    can load. origin: its folder.
    """
    training = read_file(Training, layout.metrics(origin)) if origin else None
    return training is not None and training.strategy == PROGRAM


def _of_its_run(model: str, origin: str | None, run: Run) -> AnyPredictions:
    """The predictions of such a contender. Raises PredictionsError of another dataset's."""
    if origin is None or not _same_dataset(origin, run):
        raise PredictionsError(
            f"{model} runs in an image that is not ours, which has predicted the test split of its "
            "own dataset alone: `tolerance: null` in deploy's gate leaves this comparison out"
        )
    return predictions.read(storage.local_path(layout.predictions(origin)))


def _same_dataset(origin: str, run: Run) -> bool:
    """Return whether a contender's run had this run's dataset. origin: folder of the contender."""
    folder = origin.rstrip("/").rsplit("/", 2)[0]
    plan = read_file(PlanFile, RunFolder(f"{folder}/").plan)
    return plan is not None and plan.dataset.fingerprint == run.dataset.fingerprint


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _other_shares(artifact: str | None, run: Run) -> str | None:
    """A sentence if the served model was trained with another split rule; None if unknown."""
    if artifact is None:
        return None
    folder, _, _ = artifact.rstrip("/").rpartition("/")
    try:
        training = read_file(Training, layout.metrics(f"{folder}/"))
        if training is None:
            return None
        theirs = dataset_description.load(training.dataset.uri).split
    except (DatasetError, RunError, StorageError):
        return None
    if theirs == run.dataset.split:
        return None
    return (
        f"The served model was trained on a dataset split by another rule ({_rule(theirs)}; here "
        f"{_rule(run.dataset.split)}): its training may have included some of these test examples, "
        "so its score may be too good."
    )


def _rule(split: Split) -> str:
    """Describe the rule for a message: train 0-80, validation 80-90, test 90-100."""
    ranges = [f"{name} {low}-{high}" for name, (low, high) in split.ranges.items()]
    return ", ".join(ranges) or split.rule
