"""start.json: the champion's training whose weights another training of a run starts from. The task
`start` writes it; the task `choose` and people read it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.files import File
from trellis_contracts.hyperparameter_field import Value


@dataclass(frozen=True)
class Start(File):
    """version: resource name of the champion. training: folder of its training. weights: the file
    of its best epoch's weights. dataset: fingerprint of what it was trained on. hyperparameters:
    its own, with which the training goes on.
    """

    CONTRACT: ClassVar[str] = "start"

    version: str
    training: str
    weights: str
    dataset: str
    hyperparameters: Mapping[str, Value]
