"""The terminal that the demo speaks to."""

import sys

from rich.console import Console

console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def say(line: str = "") -> None:
    """One plain line, whatever brackets it holds."""
    console.print(line, markup=False)
