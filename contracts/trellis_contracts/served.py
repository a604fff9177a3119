"""served.json: which model the experiment's endpoint served when a run looked. The task `served`
writes it, the comparison reads it.
"""

from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.files import File, optional


@dataclass(frozen=True)
class Served(File):
    """endpoint: resource name; None if there is none. model: resource name with version; None if
    nothing is served. artifact_uri: folder of the model's files; None if they cannot be
    found. traffic: percent of the requests that the model gets; of several, that with most.
    service: automl or bqml, if it is a model of a service, which has no files. origin: folder of
    the contender that it was in its run, None if that is unknown.
    """

    CONTRACT: ClassVar[str] = "served"

    endpoint: str | None = None
    model: str | None = None
    artifact_uri: str | None = None
    traffic: int = 0
    service: str | None = optional()
    origin: str | None = optional()
