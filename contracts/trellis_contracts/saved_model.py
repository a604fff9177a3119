"""model.json: the commit mark of a model that a group's own file has saved. A training writes it,
the server reads it.

    model/model.json     this
    model/FILE.py        the group's file
    model/saved/         what its predictor's save wrote, and its load reads

A Keras model is a SavedModel instead, whose signatures hold the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trellis_contracts.decision import NamedThreshold
from trellis_contracts.files import File, optional

FILE_NAME = "model.json"
FOLDER = "saved"

KERAS = "saved_model.pb"
"""The file without which a folder is no SavedModel; it is written last."""


@dataclass(frozen=True, kw_only=True)
class SavedModel(File):
    """file, sha256: of the group's file. dataset: the content of the dataset.json that it was
    trained on. threshold: None: the most probable class.
    """

    CONTRACT: ClassVar[str] = "saved_model"

    file: str
    sha256: str
    dataset: Mapping[str, Any]
    threshold: NamedThreshold | None = optional()
