"""The model that is served now, as one more contender: what a challenger must not be worse than.

    RUN/served.json                    written by the run's task `served`:
        {"schema": 1, "endpoint": "projects/.../endpoints/..." or null,
         "model": "projects/.../models/ID@VERSION", null if nothing is served,
         "artifact_uri": "gs://.../model/" or null, "traffic": 100}
    RUN/served/predictions.parquet     written here: what that model says of this run's test split

The model is scored here, through the signature that serves, and TensorFlow is imported only for
that. Its predictions are kept: a comparison that runs again reads them, as long as the same model
is served. If the served model comes from this very run (a finished run that runs again), it stands
among the contenders already and is not scored a second time.

May it have seen the test split in training? Where the split follows from the key's hash, the same
key is in the same split for ever: a test example of this run has been in no train split of the
experiment, whatever dataset the served model was trained on, unless the shares of the splits have
changed. That is checked as long as the model's metrics.json and its dataset are still there, and
said in the leaderboard's notes. Of a split by a column of the source only its author knows.

Whatever goes wrong with the served model makes it a contender that failed, with the reason: it must
not cost a run its leaderboard.
"""

import dataclasses

from trainer import dataset_description, predictions, storage
from trainer.comparison.run import Contender, Run, RunError, Served, read_document
from trainer.comparison.test_split import TestSplit
from trainer.dataset_description import DatasetError, Split
from trainer.predictions import Predictions, PredictionsError, Values
from trainer.storage import StorageError

NAME = "served"
# Letters of a reason: TensorFlow's errors may hold whole graphs.
_LONGEST = 500


def with_served(run: Run, split: TestSplit) -> Run:
    """The run with what served.json says, and with a contender for the model in it.

    Writes its predictions.parquet. Raises RunError if served.json cannot be understood.
    """
    where = storage.join(run.uri, "served.json")
    document = read_document(where)
    if document is None:
        return run
    try:
        model, endpoint, artifact = (document[key] for key in ("model", "endpoint", "artifact_uri"))
    except KeyError as error:
        raise RunError(f"{where} lacks the key {error}") from error
    if model is None:
        return dataclasses.replace(run, served=Served(None, endpoint))
    if own := _own(artifact, run):
        return dataclasses.replace(run, served=Served(model, endpoint, own))
    contender = _contender(model, artifact, run, split)
    return dataclasses.replace(
        run,
        served=Served(model, endpoint, NAME, _other_shares(artifact, run)),
        contenders=[*run.contenders, contender],
    )


def _own(artifact: str | None, run: Run) -> str | None:
    """Name of the training of this run whose model is the served one, if it is one."""
    if artifact is None:
        return None
    models = {
        _folder(storage.join(contender.uri, "model")): contender.name
        for contender in run.contenders
        if contender.kind == "tensorflow"
    }
    return models.get(_folder(artifact))


def _folder(uri: str) -> object:
    """Equal for addresses of the same folder."""
    try:
        return storage.local_path(uri)
    except StorageError:
        return uri


def _contender(model: str, artifact: str | None, run: Run, split: TestSplit) -> Contender:
    contender = Contender(NAME, "served", storage.join(run.uri, NAME) + "/")
    try:
        predicted = _predictions(contender, model, artifact, run)
        split.outcome(predicted)
    except Exception as error:  # of many kinds: it is any model, run by TensorFlow
        return dataclasses.replace(contender, reason=_reason(error))
    return dataclasses.replace(contender, predictions=predicted)


def _predictions(
    contender: Contender, model: str, artifact: str | None, run: Run
) -> Predictions | Values:
    """The model's predictions for the test split: those that are there already, or new ones."""
    if artifact is None:
        raise PredictionsError(f"{model} has no artifacts to score: it was not uploaded by a run")
    path = storage.local_path(storage.join(contender.uri, "predictions.parquet"))
    origin = {"model": model, "artifact_uri": artifact, "dataset": run.dataset.fingerprint}
    try:
        if predictions.origin(path) == origin:
            return predictions.read(path)
    except (FileNotFoundError, PredictionsError):
        pass
    # Not before: it imports TensorFlow, which costs more than the whole comparison.
    from trainer import scoring

    predicted = scoring.score(artifact, run.dataset_uri, run.dataset)
    path.parent.mkdir(parents=True, exist_ok=True)
    predictions.write(path, predicted, origin)
    return predicted


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _other_shares(artifact: str | None, run: Run) -> str | None:
    """A sentence if the served model was trained on another split rule; None also if unknown."""
    if artifact is None:
        return None
    folder, _, _ = artifact.rstrip("/").rpartition("/")
    try:
        training = read_document(storage.join(folder, "metrics.json"))
        theirs = dataset_description.load(training["dataset"]["uri"]).split
    except (DatasetError, KeyError, RunError, StorageError, TypeError):
        return None
    if theirs == run.dataset.split:
        return None
    return (
        f"The served model was trained on a dataset split by another rule ({_rule(theirs)}; here "
        f"{_rule(run.dataset.split)}): it may know some of these test examples from its training, "
        "which flatters it."
    )


def _rule(split: Split) -> str:
    """For a message: train 0-80, validation 80-90, test 90-100."""
    ranges = [f"{name} {low}-{high}" for name, (low, high) in split.ranges.items()]
    return ", ".join(ranges) or split.rule
