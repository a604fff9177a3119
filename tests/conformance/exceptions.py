"""Differences that are known, each with its reason: one file of exceptions/ each.

    reason: why local_gcp answers otherwise
    differences:
      - {service: storage, difference: "* timeFinalized: extra"}

Of `service`, `origin`, `method`, `url` and `difference`, those that are given must match (shell
wildcards). An exception that matches nothing has to go.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "exceptions"
_KEYS = {"service", "origin", "method", "url", "difference"}


@dataclass
class Exceptions:
    """All of them, and which have matched so far."""

    rules: list[tuple[str, dict[str, str]]]
    used: set[int] = field(default_factory=set)

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Exceptions:
        """Read the exceptions in the files of a folder; ValueError for a key that means nothing."""
        rules = []
        for path in sorted(folder.glob("*.yaml")):
            document = yaml.safe_load(path.read_text())
            if not document["reason"].strip():
                raise ValueError(f"{path.name} gives no reason")
            for rule in document["differences"]:
                if wrong := rule.keys() - _KEYS:
                    raise ValueError(f"{path.name}: unknown {wrong}")
                rules.append((path.stem, rule))
        return cls(rules)

    def of(self, origin: str, call: dict[str, Any], difference: str) -> str | None:
        """The name of the exception that a difference falls under."""
        facts = {
            "service": call["service"],
            "origin": origin,
            "method": call["method"],
            "url": call["url"],
            "difference": difference,
        }
        for number, (name, rule) in enumerate(self.rules):
            if all(fnmatch.fnmatchcase(facts[key], wanted) for key, wanted in rule.items()):
                self.used.add(number)
                return name
        return None

    def unused(self) -> list[str]:
        """Rules that have matched nothing, for people."""
        return [f"{n}: {r}" for i, (n, r) in enumerate(self.rules) if i not in self.used]
