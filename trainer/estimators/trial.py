"""A file with `fit` and `load` on a sample: fit, predict, save, load in a new process, predict the
same; printed as it goes.
"""

import dataclasses
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from trainer.estimators import own_file
from trainer.estimators.data import Data
from trainer.estimators.own_file import FileEstimator
from trainer.estimators.report import Report
from trainer.exporting.tfrecord import frame
from trainer.models import ModelError
from trainer.models.own import OwnModel
from trainer.stored import StoredBatch, batches
from trainer.training import sample
from trainer.training.scores import of_batch
from trainer.training.settings import Places, Settings
from trellis_contracts import metrics
from trellis_contracts.dataset import Counts, DatasetDescription, Shard
from trellis_contracts.hyperparameters import Table

# Examples of each split; of a real dataset as many at most.
_EXAMPLES = {"train": 400, "validation": 100}
# Above rounding, which another number of threads brings along.
_TOLERANCE = 1e-6


def run(own: OwnModel, dataset: DatasetDescription, h: Table, address: str | None) -> list[str]:
    """Try a file. address: of the dataset; None: made-up examples. Returns warnings: what can be
    trained, and is not as it should be.

    Raises ModelError if the file cannot be trained or served.
    """
    print(f"file       {own.name}, SHA-256 {own.sha256}")
    settings = [f"{name} {getattr(h, name)}" for name in own.declaration.hyperparameters]
    print(f"settings   {', '.join(settings) or 'none'}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if address is None:
            address = str(folder / "dataset")
            dataset = _made_up(Path(address), dataset)
        return _try(own, dataset, h, address, folder)


def _try(
    own: OwnModel, dataset: DatasetDescription, h: Table, address: str, folder: Path
) -> list[str]:
    task = dataset.task or "multiclass_classification"
    data = Data(address, dataset.only(own.declaration.inputs), max(_EXAMPLES.values()))
    settings = _settings(own, address, task, h, folder)
    begun = time.monotonic()
    report = Report(settings)
    predictor = FileEstimator(own).learn(settings, data, dataset, report)
    seconds = time.monotonic() - begun
    (held_out,) = batches(address, dataset, "validation", _EXAMPLES["validation"])
    print(f"fitted     {len(data.train)} examples, {seconds:.1f} s")
    scores = predictor.predict(held_out)
    figures = of_batch(held_out, scores).figures(None)
    shown = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
    print(f"predicted  {len(held_out)} examples: {shown}")
    predictor.save(folder / "model", None)
    size = sum(path.stat().st_size for path in (folder / "model").rglob("*") if path.is_file())
    print(f"saved      {size:,} bytes")
    again = _in_a_new_process(folder, held_out)
    off = float(np.abs(again - scores).max())
    if not off <= _TOLERANCE * max(1.0, float(np.abs(scores).max())):
        raise ModelError(
            f"{own.name}: loaded in a new process, the model predicts something else, up to "
            f"{off:.3g} off: does save leave out what predict needs, or predict draw at random?"
        )
    print("loaded     in a new process, which predicts the same")
    return _warnings(scores)


def _warnings(scores: np.ndarray) -> list[str]:
    if len(scores) > 1 and (scores == scores[0]).all():
        text = "every example gets the same prediction: does predict read the batch?"
        print(f"warning    {text}")
        return [text]
    return []


def _settings(own: OwnModel, address: str, task: str, h: Table, folder: Path) -> Settings:
    places = Places(folder / "model", folder / "checkpoints", folder / "logs")
    metric = metrics.of_task(task)[0]
    return Settings(address, own.name, task, 1, 0, metric, "all", "single", h, places, own)


def _made_up(folder: Path, dataset: DatasetDescription) -> DatasetDescription:
    """Write made-up examples as a dataset."""
    folder.mkdir()
    files, counts = {}, {}
    records = sample.made_up(dataset, sum(_EXAMPLES.values()))
    for split, count in _EXAMPLES.items():
        data = frame(records[:count])
        del records[:count]
        (folder / split).write_bytes(data)
        files[split] = (Shard(split, count, len(data)),)
        counts[split] = Counts(count, {})
    return dataclasses.replace(
        dataset,
        files={**files, "test": ()},
        counts={**counts, "test": Counts(0, {})},
    )


def _in_a_new_process(folder: Path, batch: StoredBatch) -> np.ndarray:
    """The scores of the saved model, loaded where nothing of `fit` is left. Raises ModelError."""
    (folder / "examples").write_bytes(frame(batch.payloads))
    command = [sys.executable, "-m", "trainer.estimators.trial", str(folder)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ModelError(f"in a new process: {done.stderr.strip() or done.returncode}")
    found: np.ndarray = np.load(folder / "scores.npy")
    return found


def _again(folder: Path) -> int:
    """The new process's work."""
    from trellis_contracts.records import payloads

    try:
        predictor = own_file.load(folder / "model")
        with open(folder / "examples", "rb") as file:
            batch = StoredBatch(predictor.dataset, [payload for _, payload in payloads(file)])
        np.save(folder / "scores.npy", predictor.predict(batch))
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_again(Path(sys.argv[1])))
