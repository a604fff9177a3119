"""What Trellis and the programs beside it use of others, and when that ends: endings.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import yaml

FILE = Path(__file__).with_name("endings.yaml")


@dataclass(frozen=True, kw_only=True)
class Ending:
    """An entry of endings.yaml; the head of the file explains the fields. Texts are Markdown."""

    what: str
    ends: date | None = None
    deprecated: date | None = None
    when: str = ""
    used_for: str = ""
    unused: str = ""
    do: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def time(self) -> str:
        """When it ends, in words."""
        days = [f"deprecated {day_text(self.deprecated)}"] if self.deprecated else []
        if self.ends:
            days.append(f"ends {day_text(self.ends)}" if days else day_text(self.ends))
        return "; ".join(filter(None, [", ".join(days), self.when]))


def load(file: Path = FILE) -> tuple[Ending, ...]:
    """Read all entries, in the order of the file.

    Raises ValueError for an entry with neither a day nor words for it, or that both is used and is
    not; TypeError for an unknown field.
    """
    endings = tuple(Ending(**entry) for entry in yaml.safe_load(file.read_text()))
    for ending in endings:
        if not ending.time or (ending.used_for and ending.unused):
            raise ValueError(f"{file}, {ending.what}: give `ends` or `when`, and one use")
    return endings


def day_text(day: date) -> str:
    """A day as in "16 March 2027"."""
    return f"{day.day} {day:%B %Y}"
