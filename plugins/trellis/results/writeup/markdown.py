"""Parts of Markdown."""

from collections.abc import Iterable
from typing import Any


def open_(what: str) -> str:
    """A place for what no file of a run tells."""
    return f"[OPEN: {what}]"


def code(text: Any) -> str:
    """A name from the data or the files, as code."""
    plain = " ".join(str(text).split())
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([*row] for row in rows)]
    cells = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def listed(items: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = [*items] or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def count(number: int, noun: str) -> str:
    """`1 epoch`, `2 epochs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
