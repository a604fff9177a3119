"""Loads a model that a group's own file has saved (trainer.estimators.own_file). Imports no
TensorFlow.
"""

import threading
from pathlib import Path

import numpy as np

from trainer import models
from trainer.estimators import own_file
from trainer.estimators.batch import RawRows
from trainer.estimators.own_file import FilePredictor
from trainer.images import Scale
from trainer.serving.answers import Answered
from trainer.serving.images import ImageInput
from trainer.serving.model import Model, ModelError
from trainer.serving.row_explanations import RowExplainer
from trainer.serving.rows import Field, Row, RowReader
from trainer.training.ordinary_row import ordinary_row
from trellis_contracts.dataset_features import IMAGE, SEQUENCE, Feature


def load(directory: Path) -> Model:
    """Execute the file, and have it load what it saved. Raises ModelError."""
    try:
        predictor = own_file.load(directory)
    except models.ModelError as error:
        raise ModelError(str(error)) from error
    dataset, serve = predictor.dataset, _Serve(predictor)
    threshold = predictor.threshold.to_json(dataset.classes) if predictor.threshold else None
    rows = RowReader([_field(feature) for feature in dataset.features])
    row = zip(dataset.features, ordinary_row(dataset), strict=True)
    ordinary = {feature.name: np.array([value]) for feature, value in row}
    return Model(
        rows,
        serve,
        dataset.classes,
        dataset.family,
        threshold,
        RowExplainer(serve, rows, ordinary),
        # Whether it takes missing values is its own matter: there may have been none to learn from.
        example=Row(tuple(ordinary_row(dataset))),
        times=dataset.label.times,
        horizons=dataset.label.horizons,
    )


class _Serve:
    """Answers raw columns by the features' names, as the signature of a SavedModel does; one call
    at a time, as predictions and explanations have a thread each, and a library may not.
    """

    def __init__(self, predictor: FilePredictor):
        self._lock = threading.Lock()
        self._predictor = predictor
        self._rows = RawRows(predictor.features)
        dataset = predictor.dataset
        self._about = Answered(dataset.family, dataset.classes, predictor.threshold)

    def __call__(self, **columns: np.ndarray) -> dict[str, np.ndarray]:
        batch = self._rows.batch(columns)
        with self._lock:
            scores = self._predictor.scores(batch)
        return self._about.outputs(scores)


def _field(feature: Feature) -> Field:
    limit = max(1, feature.longest) if feature.kind == SEQUENCE else 0
    image = None
    if feature.kind == IMAGE:
        scale = Scale.parse(feature.scale) if feature.scale else None
        image = ImageInput(feature.image_shape, feature.image_resize, scale, feature.pages)
    return Field(feature.column, feature.kind, feature.name, limit, feature.name, image)
