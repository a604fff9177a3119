"""served.json: which model the experiment's endpoint served when a run looked. The task `served`
writes it, the comparison reads it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

SCHEMA = 1


@dataclass(frozen=True)
class Served:
    """endpoint: resource name; None if there is none. model: resource name with version; None if
    nothing is served. artifact_uri: folder of the model's files; None if they cannot be
    found. traffic: percent of the requests that the model gets; of several, that with most.
    """

    endpoint: str | None = None
    model: str | None = None
    artifact_uri: str | None = None
    traffic: int = 0

    def to_document(self) -> dict[str, Any]:
        """The content of the file."""
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """From content that fits the schema."""
        return cls(**{name: document[name] for name in cls.__dataclass_fields__})
