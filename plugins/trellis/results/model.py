"""The model of a run in a researcher's process.

What the model is given for a row or an image is made by the code of its server, the package
`trainer` of a checkout: only that code answers as the endpoint does. It is looked for when a model
predicts, and nothing else here needs it.
"""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd


class LoadedModel:
    """A model of a run. folder: its files. tensorflow: loads it if it is a SavedModel.

    signatures: of a SavedModel, TensorFlow's functions by name, of tensors;
    trainer/training/saved_model.py and trainer/training/raw_rows.py describe them. A raw row is not
    what a source or a request holds: times are microseconds since 1970, and each kind has a value
    of its own for NULL. Raises TypeError of a model of a group's own file, and of an ensemble.
    """

    def __init__(self, folder: Path, fetch: Callable[[str], bytes], tensorflow: Any = None):
        self._folder, self._fetch = folder, fetch
        self._tensorflow = tensorflow
        self._loaded = tensorflow.saved_model.load(str(folder)) if tensorflow else None
        self._served: Any = None

    @property
    def signatures(self) -> Mapping[str, Any]:
        if self._loaded is None:
            raise TypeError("only a SavedModel has signatures; ask `predict`")
        return self._loaded.signatures

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Predict rows as they are in the source, with the endpoint's answers.

        frame: a column for each feature, under its name in the source; others are ignored.
        trainer/serving/frames.py says what the values of each kind may be. Of images the files'
        bytes, gs:// addresses or paths; a manifest's column is `image`. Returns the frame's index
        with the columns of `LoadedRun.predictions`: predicted, and p.CLASS for each class. Of a
        segmentation: mask, indices of classes (height, width), and share.CLASS for each class.

        Raises ValueError that names each wrong column or row, and ImportError where the package
        `trainer` is not found.
        """
        try:
            frames = importlib.import_module("trainer.serving.frames")
            model = importlib.import_module("trainer.serving.model")
            keras_model = importlib.import_module("trainer.serving.keras_model")
        except ModuleNotFoundError as error:
            raise ImportError(
                f"`predict` reads rows and images as the model's server does, and {error.name} is "
                "not installed here: add a checkout of Trellis to PYTHONPATH, and "
                "pip install -r trainer/requirements-serve.txt there"
            ) from error
        if self._served is None:
            self._served = (
                keras_model.of(self._tensorflow, self._loaded)
                if self._loaded is not None
                else model.Model.load(self._folder)
            )
        found: pd.DataFrame = frames.predict(self._served, frame, self._fetch)
        return found
