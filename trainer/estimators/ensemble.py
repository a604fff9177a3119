"""The mean of several saved models as one: of their probabilities, or values.

trainer.ensemble makes it of a run's trainings; trainer.serving.ensemble_model serves it.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import trainer.postprocessing
from trainer import storage
from trainer.metrics import means
from trainer.metrics.decision import Threshold
from trainer.models import ModelError
from trainer.stored import StoredBatch
from trainer.training.protocol import Predictor
from trellis_contracts import saved_model
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.documents import ContractError
from trellis_contracts.ensemble import FILE_NAME, FOLDER, Ensemble
from trellis_contracts.postprocessing import PLAIN, Postprocessing
from trellis_contracts.saved_model import KERAS


class EnsemblePredictor:
    """See trainer.training.protocol.Predictor. folders: of its members, by their names."""

    def __init__(self, folders: Mapping[str, Path], dataset: DatasetDescription):
        self._folders, self._dataset = dict(folders), dataset
        self._members = [load_member(folder, dataset) for folder in folders.values()]

    def predict(self, batch: StoredBatch) -> np.ndarray:
        """The mean of the members' scores."""
        return means.of_answers([member.predict(batch) for member in self._members])

    def save(
        self, folder: Path, threshold: Threshold | None, postprocessing: Postprocessing = PLAIN
    ) -> None:
        """Copy the members, as they are."""
        named = threshold.named(self._dataset.classes) if threshold else None
        saved = Ensemble(members=tuple(self._folders), threshold=named)
        for name, member in self._folders.items():
            storage.copy_folder(member, folder / FOLDER / name, last=_mark(member))
        with tempfile.TemporaryDirectory() as made:
            trainer.postprocessing.write(Path(made), postprocessing)
            (Path(made) / FILE_NAME).write_text(saved.to_json(FILE_NAME))
            storage.copy_folder(Path(made), folder, last=FILE_NAME)


def read(folder: Path) -> Ensemble:
    """The description of the ensemble in a folder. Raises ModelError."""
    path = folder / FILE_NAME
    try:
        return Ensemble.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    except ContractError as error:
        raise ModelError(str(error)) from error


def load(folder: Path, dataset: DatasetDescription) -> EnsemblePredictor:
    """The predictor that was saved in a folder. Raises ModelError."""
    members = read(folder).members
    return EnsemblePredictor({name: folder / FOLDER / name for name in members}, dataset)


def load_member(folder: Path, dataset: DatasetDescription) -> Predictor:
    """The predictor that a training has saved, whatever its library. Raises ModelError."""
    if _mark(folder) == KERAS:
        # Takes seconds to import, and members of other libraries need none of it.
        from trainer.training.saved_model import KerasPredictor

        return KerasPredictor.loaded(folder, dataset)
    from trainer.estimators import own_file

    return own_file.load(folder)


def _mark(folder: Path) -> str:
    """The file that a model's folder gets last. Raises ModelError."""
    for name in (KERAS, saved_model.FILE_NAME):
        if (folder / name).is_file():
            return name
    raise ModelError(f"{folder} holds no model: expected {KERAS} or {saved_model.FILE_NAME} in it")
