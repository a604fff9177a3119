"""ensemble.json: the commit mark of a model that is the mean of several. A training's job writes
it, the server reads it.

    model/ensemble.json        this
    model/members/MEMBER/      a model each, as its training has saved it
"""

from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.decision import NamedThreshold
from trellis_contracts.files import File, optional

FILE_NAME = "ensemble.json"
FOLDER = "members"


@dataclass(frozen=True, kw_only=True)
class Ensemble(File):
    """members: names of the models' folders, in the order in which they are added up. threshold:
    None: the most probable class.
    """

    CONTRACT: ClassVar[str] = "ensemble"

    members: tuple[str, ...]
    threshold: NamedThreshold | None = optional()
