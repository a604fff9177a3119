"""Problems of rows, collected over all rows, so that one error reports all of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from trainer.exporting import ExportError
from trellis_contracts.withheld import quoted

_EXAMPLES = 5
_EXAMPLE_LENGTH = 100
_NAMES_SHOWN = 10


@dataclass
class Findings:
    """Number of rows for each problem, with the first few of their keys in order.

    The result of merging does not depend on its order.
    """

    counts: dict[str, int] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)

    def add(self, what: str, keys: Iterable[str | None]) -> None:
        """Record the keys of rows with a problem (what: "the label is NULL")."""
        keys = list(keys)
        if keys:
            self._add(what, len(keys), [key for key in keys if key])

    def merge(self, other: "Findings") -> None:
        """Add the findings from other rows."""
        for what, count in other.counts.items():
            self._add(what, count, other.keys[what])

    def _add(self, what: str, count: int, keys: list[str]) -> None:
        self.counts[what] = self.counts.get(what, 0) + count
        self.keys[what] = sorted([*self.keys.get(what, []), *keys])[:_EXAMPLES]

    def __bool__(self) -> bool:
        return bool(self.counts)

    def refuse(self, address: str) -> None:
        """Raise ExportError with all findings, if there are any."""
        if not self:
            return
        lines = []
        for what, count in sorted(self.counts.items()):
            s = "s" if count > 1 else ""
            shown = ", ".join(repr(_shorten(key)) for key in self.keys[what])
            more = ", ..." if count > len(self.keys[what]) else ""
            examples = f", key{s} {shown}{more}" if shown else ""
            lines.append(f"\n  {what}: in {count} row{s}{quoted(examples, '')}")
        raise ExportError(f"{address} cannot become a dataset:{''.join(lines)}")


def _shorten(key: str) -> str:
    return key if len(key) <= _EXAMPLE_LENGTH else f"{key[:_EXAMPLE_LENGTH]}..."


def listed(names: Iterable[str]) -> str:
    """The first names of a list of columns for a message."""
    names = list(names)
    more = f", and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(repr(name[:100]) for name in names[:_NAMES_SHOWN]) + more


def values(names: Iterable[str]) -> str:
    """The first of a column's values for a message; elsewhere their number."""
    names = list(names)
    return quoted(listed(names), f"{len(names):,} of them")
