"""The rules of a storm (fault injection), and their decision for each request.

The rules are a file in the home, so a storm continues after a restart of the server, and can be set
before the first start. The fault of the n-th request of a method since the server's start depends
only on the seed.
"""

from __future__ import annotations

import collections
import dataclasses
import fnmatch
import json
import logging
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from local_gcp.home import write_atomically

log = logging.getLogger(__name__)

Fault = Literal["503", "429", "lost"]


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule. The shares are fractions, with a sum of at most 1."""

    methods: Sequence[str] = ()
    """Patterns, see `matches`; empty: every request."""
    latency: float = 0.0
    """Delay of each request in seconds."""
    unavailable: float = 0.0
    """Share that is refused with 503, UNAVAILABLE."""
    exhausted: float = 0.0
    """Share that is refused with 429, RESOURCE_EXHAUSTED."""
    lost: float = 0.0
    """Share that is executed, and whose connection then closes without a response."""
    seed: int = 0
    until: float | None = None
    """End in Unix seconds; None: until it is removed."""

    def matches(self, name: str) -> bool:
        """Return whether a request's name contains one of the patterns (shell wildcards, any
        case).
        """
        patterns = [f"*{pattern.lower()}*" for pattern in self.methods] or ["*"]
        return any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in patterns)

    def over(self) -> bool:
        return self.until is not None and time.time() >= self.until

    def fault(self, draw: float) -> Fault | None:
        """The fault for a random number from [0, 1)."""
        shares: list[tuple[Fault, float]] = [
            ("503", self.unavailable),
            ("429", self.exhausted),
            ("lost", self.lost),
        ]
        for fault, share in shares:
            if draw < share:
                return fault
            draw -= share
        return None


@dataclasses.dataclass(frozen=True)
class Fate:
    """The decision for a request: a delay of `latency` seconds, then the fault, if any."""

    latency: float = 0.0
    fault: Fault | None = None


def read(file: Path) -> list[Rule]:
    """The rules that have not expired."""
    try:
        rules = [Rule(**rule) for rule in json.loads(file.read_text())]
    except FileNotFoundError:
        return []
    return [rule for rule in rules if not rule.over()]


def write(file: Path, rules: Sequence[Rule]) -> None:
    """Replace the rules; a running server applies them from the next request on."""
    write_atomically(file, json.dumps([dataclasses.asdict(rule) for rule in rules]))


class Storm:
    """Applies the rules in a file. Thread-safe."""

    def __init__(self, file: Path):
        self._file = file
        self._version: int | None = None
        self._rules: list[Rule] = []
        self._counts: list[collections.Counter[str]] = []
        self._calls: collections.Counter[tuple[int, str]] = collections.Counter()
        self._lock = threading.Lock()

    def fate(self, name: str, group: str | None = None) -> Fate:
        """Decide about a request. `name`: matched with patterns. `group`: requests that are counted
        together (default: those with the same name).
        """
        with self._lock:
            self._refresh()
            latency, fault = 0.0, None
            for number, rule in enumerate(self._rules):
                if fault or rule.over() or not rule.matches(name):
                    continue
                call = (number, group or name)
                self._calls[call] += 1
                drawn = random.Random(f"{rule.seed} {call} {self._calls[call]}").random()
                latency, fault = latency + rule.latency, rule.fault(drawn)
                self._counts[number].update(["requests", *filter(None, [fault])])
        if fault:
            log.info("chaos: %s: %s", name, fault)
        return Fate(latency, fault)

    def describe(self) -> list[dict[str, Any]]:
        """The rules that have not expired, with their numbers of requests by fault."""
        with self._lock:
            self._refresh()
            return [
                {**dataclasses.asdict(rule), "met": dict(counts)}
                for rule, counts in zip(self._rules, self._counts, strict=True)
                if not rule.over()
            ]

    def _refresh(self) -> None:
        try:
            version = self._file.stat().st_mtime_ns
        except FileNotFoundError:
            version = None
        if version == self._version:
            return
        rules = read(self._file)
        if self._rules and rules[: len(self._rules)] == self._rules:  # rules were added
            self._counts += [collections.Counter() for _ in rules[len(self._rules) :]]
        else:
            self._counts = [collections.Counter() for _ in rules]
            self._calls.clear()
        self._version, self._rules = version, rules
        log.warning("chaos: %d rules", len(rules))
