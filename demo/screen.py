"""The terminal that the demo writes to."""

import sys

from rich.console import Console

# Output to a file or pipe is not cut to a terminal's 80 columns.
_file = None if sys.stdout.isatty() else 120
console = Console(highlight=False, soft_wrap=_file is not None, width=_file)


def say(line: str = "") -> None:
    """Print one line without markup or wrapping: people may copy it."""
    console.print(line, markup=False, soft_wrap=True)
