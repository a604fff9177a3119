"""served.json: which model the experiment's endpoint served when a run looked. The task `served`
writes it, the comparison reads it.
"""

from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.files import File


@dataclass(frozen=True)
class Served(File):
    """endpoint: resource name; None if there is none. model: resource name with version; None if
    nothing is served. artifact_uri: folder of the model's files; None if they cannot be
    found. traffic: percent of the requests that the model gets; of several, that with most.
    """

    CONTRACT: ClassVar[str] = "served"

    endpoint: str | None = None
    model: str | None = None
    artifact_uri: str | None = None
    traffic: int = 0
