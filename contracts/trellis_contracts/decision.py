"""By which of a classifier's two probabilities it labels: the threshold that files have.

trainer.metrics.decision chooses one and decides by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class NamedThreshold:
    """A threshold of two classes: `name` is decided if its probability is greater than `above`,
    from 0 to 1; else the other. It names the class, so that another order of the classes changes
    nothing.
    """

    name: str
    above: float

    def to_document(self) -> dict[str, Any]:
        """The form in files."""
        return {"class": self.name, "above": self.above}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """From a part of a file that fits its schema."""
        return cls(document["class"], document["above"])
