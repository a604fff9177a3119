"""A group's own file with `fit` and `load`, of any library, as an estimator.

    def fit(data, hyperparameters, report):            # or with a fourth argument, `run`
        forest = RandomForestClassifier(hyperparameters.trees).fit(
            data.train.numpy(), data.train.labels
        )
        return Forest(forest)

    def load(folder):                                  # in another process, on another machine
        return Forest(pickle.loads((folder / "forest.pickle").read_bytes()))

    class Forest:
        def predict(self, batch):                      # scores, as trainer.training.protocol says
            return self.forest.predict_proba(batch.numpy())

        def save(self, folder):                        # an empty folder (pathlib.Path)
            (folder / "forest.pickle").write_bytes(pickle.dumps(self.forest))

data: trainer.estimators.data.Data. hyperparameters: an attribute for each that the file declares.
report, run: trainer.estimators.report. batch: trainer.estimators.batch.Batch, the same in training
and in serving. The file is executed with the job's rights, as trainer.models.own says, also by the
server. No TensorFlow is imported here.
"""

import inspect
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import trainer.postprocessing
from trainer import calibration, storage
from trainer.estimators import answers
from trainer.estimators.batch import Batch, of_stored
from trainer.estimators.data import Data
from trainer.estimators.report import Report, Run
from trainer.metrics.decision import Threshold
from trainer.models import ModelError
from trainer.models.own import OwnModel
from trainer.models.own import read as read_own
from trainer.stored import StoredBatch
from trainer.training import cluster, rendezvous
from trainer.training import scores as scored
from trainer.training.cluster import ALONE, Cluster
from trainer.training.protocol import Fitted
from trainer.training.settings import Settings
from trellis_contracts import documents
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.documents import ContractError
from trellis_contracts.postprocessing import PLAIN, Postprocessing
from trellis_contracts.saved_model import FILE_NAME, FOLDER, SavedModel
from trellis_contracts.workers import Workers


class FileEstimator:
    """The estimator of one file."""

    def __init__(self, own: OwnModel):
        self._own = own

    def fit(
        self,
        settings: Settings,
        dataset: DatasetDescription,
        finish: Callable[[Fitted], None],
        at_end: Callable[[], None],
    ) -> int:
        """See trainer.training.protocol.Estimator."""
        peers = cluster.from_environment(os.environ)
        rendezvous.meet(peers, "fit")
        report = Report(settings, writes=peers.is_chief)
        data = Data(settings.dataset, self._seen(dataset))
        if not peers.is_chief:
            self._call_fit(settings, data, report, peers)
            at_end()
            return 0
        predictor = self.learn(settings, data, dataset, report, peers)
        found = scored.of_split(predictor, settings.dataset, dataset, "validation")
        history = report.end(found.figures(None))
        finish(
            Fitted(
                predictor=predictor,
                history=history,
                best_epoch=len(history),
                strategy="multi_worker" if len(peers) > 1 else "single",
            )
        )
        at_end()
        return 0

    def _seen(self, dataset: DatasetDescription) -> DatasetDescription:
        return dataset.only(self._own.declaration.inputs)

    def learn(
        self,
        settings: Settings,
        data: Data,
        dataset: DatasetDescription,
        report: Report,
        peers: Cluster = ALONE,
    ) -> "FilePredictor":
        """Call the file's `fit`. Raises ModelError if it fails, or returns no predictor."""
        found = self._call_fit(settings, data, report, peers)
        return FilePredictor(self._own, found, dataset, "fit")

    def _call_fit(self, settings: Settings, data: Data, report: Report, peers: Cluster) -> Any:
        report.checkpoints.mkdir(parents=True, exist_ok=True)
        run = Run(
            settings.epochs,
            settings.seed,
            settings.metric,
            report.checkpoints,
            Workers(tuple(peers.addresses.values()), peers.names.index(peers.name)),
        )
        arguments = [data, settings.hyperparameters, report, run]
        taken = self._own.guarded(lambda: inspect.signature(self._own.module.fit))
        try:
            taken.bind(*arguments)
        except TypeError:
            del arguments[-1]
        return self._own.call("fit", *arguments)

    def load(self, folder: Path, dataset: DatasetDescription) -> "FilePredictor":
        """See trainer.training.protocol.Estimator."""
        return load(folder)


class FilePredictor:
    """What `fit` or `load` returned. made_by: the one of them. dataset: that it was trained on.
    threshold: by which it labels. postprocessing: what it does with the scores of the file's
    predictor. features: those that it reads.
    """

    def __init__(self, own: OwnModel, predictor: Any, dataset: DatasetDescription, made_by: str):
        for name in ("predict", "save"):
            if not callable(getattr(predictor, name, None)):
                raise ModelError(
                    f"{own.name}: {made_by} returned {type(predictor).__name__}, which has no "
                    f"method {name}: return a predictor with predict(batch) and save(folder)"
                )
        self._own, self._predictor = own, predictor
        self.dataset = dataset
        self.features = dataset.only(own.declaration.inputs).features
        self.threshold: Threshold | None = None
        self.postprocessing = PLAIN

    def predict(self, batch: StoredBatch) -> np.ndarray:
        """See trainer.training.protocol.Predictor."""
        return self.scores(of_stored(batch, self.features))

    def scores(self, batch: Batch) -> np.ndarray:
        """Ask the file's predictor, check what it answers, and calibrate it. Raises ModelError."""
        found = self._own.guarded(lambda: self._predictor.predict(batch))
        try:
            scores = answers.checked(found, len(batch), self.dataset)
        except ValueError as error:
            raise ModelError(f"{self._own.name}: predict returned {error}") from error
        dataset = self.dataset
        fitted = self.postprocessing.calibration
        return calibration.apply(fitted, scores, dataset.classes, dataset.is_multilabel)

    def save(
        self, folder: Path, threshold: Threshold | None, postprocessing: Postprocessing = PLAIN
    ) -> None:
        """See trainer.training.protocol.Predictor."""
        saved = SavedModel(
            file=self._own.name,
            sha256=self._own.sha256,
            dataset=documents.parse("dataset", self.dataset.to_json(), FILE_NAME),
            threshold=threshold.named(self.dataset.classes) if threshold else None,
        )
        with tempfile.TemporaryDirectory() as name:
            made = Path(name)
            (made / FOLDER).mkdir()
            self._own.guarded(lambda: self._predictor.save(made / FOLDER))
            if not any(path.is_file() for path in (made / FOLDER).rglob("*")):
                raise ModelError(f"{self._own.name}: save(folder) left no file in its folder")
            (made / self._own.name).write_bytes(self._own.text)
            (made / FILE_NAME).write_text(saved.to_json(FILE_NAME))
            trainer.postprocessing.write(made, postprocessing)
            storage.copy_folder(made, folder, last=FILE_NAME)


def load(folder: Path) -> FilePredictor:
    """The predictor that was saved in a folder. Raises ModelError."""
    try:
        saved = SavedModel.parse((folder / FILE_NAME).read_bytes(), str(folder / FILE_NAME))
        documents.check("dataset", saved.dataset, str(folder / FILE_NAME))
        postprocessing = trainer.postprocessing.read(folder)
    except OSError as error:
        raise ModelError(f"{folder / FILE_NAME} cannot be read: {error.strerror}") from error
    except ContractError as error:
        raise ModelError(str(error)) from error
    dataset = DatasetDescription.from_document(saved.dataset)
    own = read_own(str(folder / saved.file), saved.sha256)
    predictor = FilePredictor(own, own.call("load", folder / FOLDER), dataset, "load")
    predictor.postprocessing = postprocessing
    if saved.threshold is not None:
        predictor.threshold = Threshold.of(saved.threshold.to_document(), dataset.classes)
    return predictor
