"""changes.json: how a run's dataset differs from the last one that a run of the experiment trained
on. The task `changes` writes it, the comparison reads it for the report.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trellis_contracts.files import File
from trellis_contracts.finding import Finding


@dataclass(frozen=True)
class DatasetChanges(File):
    """previous: folder of the last dataset; None if there is none. remark: the reason why nothing
    was compared; None if it was. limits: source.changes of the experiment, as the run had it.
    findings: the changes beyond them.
    """

    CONTRACT: ClassVar[str] = "changes"

    previous: str | None
    remark: str | None
    limits: Mapping[str, Any]
    findings: tuple[Finding, ...]
