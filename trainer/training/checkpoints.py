"""Checkpoints that survive a kill at any moment, on a mounted bucket.

    checkpoints/step-0000000440-epoch-000020/              steps and epochs done
        variables.index, variables.data-00000-of-00001   all of model and optimizer, dropout's
                                                          seeds too (tf.train.Checkpoint)
        best.npz                                          weights of the best epoch so far
        state.json                                        all else; written last: the commit mark

state.json, schema 1:

    {"schema": 1,
     "settings":  {...},       what must be the same for the training to go on (Settings and data)
     "progress":  {...},       trainer.training.loop.Progress
     "callbacks": {...},       trainer.training.callbacks.state
     "files":     {"variables.index": 2381, ...}}       sizes in bytes of the other files

tf.train.CheckpointManager is not used: it writes a data file under a temporary name and renames it,
which a mounted bucket does by copying, and it keeps only variables. A checkpoint here is complete
when its state.json is, so after a kill during a write the previous one still counts.

Only the chief writes; all others read the checkpoint that the chief chose. Every variable is
mirrored, so all processes have the chief's values.
"""

import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trainer import storage
from trainer.training import TrainingError

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

SCHEMA_VERSION = 1
NONE = "none"

_STATE = "state.json"
_BEST = "best.npz"
_PREFIX = "variables"
_KEPT = 2

# A bucket mount may show another machine's new file only after some delay.
_VISIBLE_SECONDS = 60


@dataclass(frozen=True)
class Saved:
    """A checkpoint's content except the variables. best: weights of the best epoch, or None."""

    settings: dict
    progress: dict
    callbacks: dict
    best: list[np.ndarray] | None


def name(step: int, epochs: int) -> str:
    """A checkpoint's folder for a step and an epoch; later ones sort after earlier ones."""
    return f"step-{step:010d}-epoch-{epochs:06d}"


def latest(directory: Path) -> str:
    """Name of the newest complete checkpoint, NONE if there is none. Does not need TensorFlow."""
    complete = [path for path in _all(directory) if _state(path)]
    return complete[-1].name if complete else NONE


def save(directory: Path, name: str, variables: "tf.train.Checkpoint", saved: Saved) -> None:
    """Write a checkpoint, then remove those that are no longer needed."""
    target = directory / name
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder)
        variables.write(str(local / _PREFIX), options=_here())
        if saved.best is not None:
            np.savez(local / _BEST, *saved.best)
        files = {path.name: path.stat().st_size for path in local.iterdir()}
        for name in files:
            shutil.copyfile(local / name, target / name)
    document = {
        "schema": SCHEMA_VERSION,
        "settings": saved.settings,
        "progress": saved.progress,
        "callbacks": saved.callbacks,
        "files": files,
    }
    storage.write_text(target / _STATE, json.dumps(document, indent=1) + "\n")
    _prune(directory)


def load(directory: Path, name: str, variables: "tf.train.Checkpoint", settings: dict) -> Saved:
    """Read a checkpoint into `variables`.

    Raises TrainingError if it was made with other settings: the result would be neither the
    training that was started nor the one that is requested.
    """
    path = directory / name
    deadline = time.monotonic() + _VISIBLE_SECONDS
    while not (document := _state(path)):
        if time.monotonic() > deadline:
            raise TrainingError(f"the chief resumes from {path}, which is incomplete here")
        time.sleep(1)
    _refuse_other_settings(path, document["settings"], settings)
    variables.read(str(path / _PREFIX), options=_here()).assert_existing_objects_matched()
    best = None
    if _BEST in document["files"]:
        with np.load(path / _BEST) as arrays:
            best = [arrays[name] for name in arrays.files]
    return Saved(settings, document["progress"], document["callbacks"], best)


def start(address: str, model: "keras.Model") -> None:
    """Give a model the weights of another training's best epoch.

    address: of its best.npz, gs://... or a path. Raises TrainingError if there is none, or they are
    those of other layers.
    """
    try:
        with np.load(storage.local_path(address)) as arrays:
            weights = [arrays[name] for name in arrays.files]
    except (OSError, ValueError) as error:
        raise TrainingError(f"start: {address} has no weights: {error}") from error
    found, wanted = [w.shape for w in weights], [tuple(w.shape) for w in model.weights]
    if found != wanted:
        differing = [
            f"{own.path}: {there} there, {here} here"
            for own, there, here in zip(model.weights, found, wanted, strict=False)
            if there != here
        ]
        first = differing[0] if differing else f"{len(found)} there, {len(wanted)} here"
        raise TrainingError(f"start: {address} is of other layers ({first}): train anew")
    model.set_weights(weights)
    print(f"starting with the weights of {address}", flush=True)


def _here() -> "tf.train.CheckpointOptions":
    """Options to read and write in this process, not in the parameter servers."""
    import tensorflow as tf

    with tf.device("CPU:0"):
        own = tf.constant(0).device
    return tf.train.CheckpointOptions(experimental_io_device=own)


def _refuse_other_settings(path: Path, found: dict, wanted: dict) -> None:
    differing = [n for n in sorted(found | wanted) if found.get(n) != wanted.get(n)]
    if differing:
        was = ", ".join(f"{name}={found.get(name)}" for name in differing)
        now = ", ".join(f"{name}={wanted.get(name)}" for name in differing)
        raise TrainingError(
            f"the checkpoint {path} is from a training with {was}; this one has {now}. Use another "
            "output folder, or delete the checkpoints"
        )


def _all(directory: Path) -> list[Path]:
    return sorted(directory.glob("step-*"))


def _state(path: Path) -> dict | None:
    """state.json of a complete checkpoint; None if it is not complete."""
    try:
        document = json.loads((path / _STATE).read_text())
        complete = all((path / n).stat().st_size == s for n, s in document["files"].items())
    except (OSError, ValueError, KeyError):
        return None
    return document if complete and document["schema"] == SCHEMA_VERSION else None


def _prune(directory: Path) -> None:
    """Keep the newest ones; of the others, delete the commit mark first."""
    for path in _all(directory)[:-_KEPT]:
        (path / _STATE).unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=True)
