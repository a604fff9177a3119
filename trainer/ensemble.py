"""Make an ensemble of a run's trainings: the mean of their probabilities, or values, as one model.

    python -m trainer.ensemble --run gs://BUCKET/EXPERIMENT/runs/RUN/

Its members are the full trainings that have ended; of one training alone, that training and its
repeats with other seeds. It becomes a training among the others, in RUN/training/ensemble/:

    model/                 the members' models, and ensemble.json; trainer.serve answers with it
    predictions.parquet    predictions of that model for every example of the test split
    metrics.json           its figures of the validation and the test split

So it is selected on the validation split, gated, deployed and rolled back as they are. Of fewer
than two members there is no ensemble, and nothing is written. Exit codes: 0 done, 1 refused, 2
wrong flags.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainer import dataset_description, storage
from trainer.estimators import ensemble
from trainer.estimators.ensemble import EnsemblePredictor
from trainer.models import ModelError
from trainer.storage import StorageError
from trainer.stored import StoredError
from trainer.training import TrainingError, results, scores
from trainer.training.flags import add_held_out
from trainer.training.settings import Places
from trellis_contracts import layout
from trellis_contracts.dataset import DatasetDescription, DatasetError
from trellis_contracts.documents import ContractError
from trellis_contracts.held_out import CHOICES, NOTHING, HeldOut
from trellis_contracts.layout import RunFolder
from trellis_contracts.plan import PlanFile
from trellis_contracts.training import TrainedOn, Training

MODEL = "ensemble"
"""Name of the model in its metrics.json."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    flags = _parser().parse_args(arguments)
    try:
        print(make(flags.run, HeldOut(**{name: getattr(flags, name) for name in CHOICES})))
    except (
        ContractError,
        DatasetError,
        ModelError,
        OSError,
        StorageError,
        StoredError,
        TrainingError,
    ) as error:
        print(f"trainer.ensemble: {error}", file=sys.stderr)
        return 1
    return 0


def make(run: str, asked: HeldOut = NOTHING) -> str:
    """Make the ensemble of the run in a folder; returns what to print. asked: what it chooses on
    the validation split. Raises the errors that `main` catches.
    """
    files = RunFolder(run)
    plan = PlanFile.parse(storage.local_path(files.plan).read_bytes(), files.plan)
    dataset = dataset_description.load(plan.dataset.uri)
    trainings = members(files, dataset.fingerprint)
    if len(trainings) < 2:
        return f"{len(trainings)} of the trainings has ended: there is no ensemble of it"
    folders = {
        name.removeprefix("training/").replace("/seeds/", "-seed-"): storage.local_path(
            layout.trained_model(files.contender(name))
        )
        for name in trainings
    }
    written = _write(files, plan.dataset.uri, dataset, trainings, folders, asked)
    listed = ", ".join(trainings)
    figures = f"val_{written.metric} {written.best:.4f}"
    return f"{files.ensemble}: the mean of {listed}; {figures}"


def members(files: RunFolder, fingerprint: str) -> dict[str, Training]:
    """The trainings of a run that have ended, by name: those of several trials or models; of one
    alone, that one and its repeats. fingerprint: of the dataset that they must have.
    """
    found = _ended(files, "training", fingerprint)
    if len(found) == 1:
        (alone,) = found
        found |= _ended(files, f"{alone}/seeds", fingerprint)
    return found


def _ended(files: RunFolder, name: str, fingerprint: str) -> dict[str, Training]:
    folder = storage.local_path(files.contender(name))
    names = (
        {path.name for path in folder.iterdir() if path.name.isdigit()} if folder.is_dir() else ()
    )
    found = {}
    for each in sorted(names, key=int):
        where = layout.metrics(files.contender(f"{name}/{each}"))
        path = storage.local_path(where)
        if path.is_file():
            training = Training.parse(path.read_bytes(), where)
            if training.test is not None and training.dataset.fingerprint == fingerprint:
                found[f"{name}/{each}"] = training
    return found


def _write(
    files: RunFolder,
    address: str,
    dataset: DatasetDescription,
    trainings: Mapping[str, Training],
    folders: Mapping[str, Path],
    asked: HeldOut,
) -> Training:
    """Write model, predictions and metrics, metrics.json last."""
    begun = time.monotonic()
    first = next(iter(trainings.values()))
    folder = storage.local_path(files.ensemble)
    places = Places(folder / "model", folder / "checkpoints", folder / "logs")
    predictor = EnsemblePredictor(folders, dataset)
    found = scores.of_split(predictor, address, dataset, "validation")
    chosen, test = results.keep(places, address, dataset, predictor, ensemble.load, asked)
    threshold, validation = chosen.threshold, {**found.figures(None), **chosen.figures}
    epoch = {f"val_{name}": value for name, value in validation.items()}
    training = Training(
        model=MODEL,
        task=first.task,
        metric=first.metric,
        hyperparameters={"members": ", ".join(trainings)},
        seed=first.seed,
        strategy="single",
        epochs_run=1,
        best_epoch=1,
        history=({"epoch": 1, **epoch, "seconds": round(time.monotonic() - begun, 3)},),
        threshold=threshold.named(dataset.classes) if threshold else None,
        validation=validation,
        test=test,
        dataset=TrainedOn(address, dataset.fingerprint),
    )
    storage.write_text(places.metrics, training.to_json(str(places.metrics)))
    return training


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer.ensemble",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--run",
        required=True,
        metavar="URI",
        help="the run's folder, gs://BUCKET/EXPERIMENT/runs/RUN/ or a path",
    )
    add_held_out(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
