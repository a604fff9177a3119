"""The model that is served now, as one more contender: the challenger must not be worse.

    RUN/served.json                    written by the run's task `served`
    RUN/served/predictions.parquet     written here: that model's predictions for the test split

The model is scored here, through its serving signature; TensorFlow is imported only for that. Its
predictions are kept, and read again if the comparison is repeated while the same model is served.
If the served model is a training of this run (a finished run that runs again), it is already a
contender and is not scored a second time.

Could it have seen the test split in training? Where the split follows from the key's hash, a key is
always in the same split: no example of the test split was ever in a train split of the experiment,
unless the shares of the splits have changed. That is checked if the model's metrics.json and its
dataset still exist, and noted in the leaderboard. For a split by a column of the source, only its
author knows.

Any failure of the served model makes it a failed contender with the reason; the run still gets its
leaderboard.
"""

import dataclasses

from trainer import dataset_description, predictions, storage
from trainer.comparison.run_folder import Contender, Run, RunError, Served, read_document
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
    document = read_document("served", where)
    if document is None:
        return run
    model, endpoint, artifact = (document[key] for key in ("model", "endpoint", "artifact_uri"))
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
        raise PredictionsError(f"{model} has no files to score: no run uploaded it")
    path = storage.local_path(storage.join(contender.uri, "predictions.parquet"))
    origin = {"model": model, "artifact_uri": artifact, "dataset": run.dataset.fingerprint}
    try:
        if predictions.origin(path) == origin:
            return predictions.read(path)
    except (FileNotFoundError, PredictionsError):
        pass
    # Not before: it imports TensorFlow, which costs more than the whole comparison.
    from trainer.comparison import scoring

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
        training = read_document("metrics", storage.join(folder, "metrics.json"))
        if training is None:
            return None
        theirs = dataset_description.load(training["dataset"]["uri"]).split
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
    """For a message: train 0-80, validation 80-90, test 90-100."""
    ranges = [f"{name} {low}-{high}" for name, (low, high) in split.ranges.items()]
    return ", ".join(ranges) or split.rule
