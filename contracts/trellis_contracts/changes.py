"""changes.json: how a run's dataset differs from the last one that a run of the experiment trained
on. The task `changes` writes it, the comparison reads it for the report.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from trellis_contracts.finding import Finding

SCHEMA = 1


@dataclass(frozen=True)
class DatasetChanges:
    """previous: folder of the last dataset; None if there is none. remark: the reason why nothing
    was compared; None if it was. limits: source.changes of the experiment, as the run had it.
    findings: the changes beyond them.
    """

    previous: str | None
    remark: str | None
    limits: Mapping[str, Any]
    findings: tuple[Finding, ...]

    def to_document(self) -> dict[str, Any]:
        """The content of the file."""
        return {
            "schema": SCHEMA,
            "previous": self.previous,
            "remark": self.remark,
            "limits": dict(self.limits),
            "findings": [asdict(finding) for finding in self.findings],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """From content that fits the schema."""
        return cls(
            previous=document["previous"],
            remark=document["remark"],
            limits=document["limits"],
            findings=tuple(Finding(**entry) for entry in document["findings"]),
        )
