"""The terminal that the demo speaks to."""

import sys

from rich.console import Console

# Where nobody sees it at once (a file, a pipe), nothing is cut to a terminal's 80 columns.
_file = None if sys.stdout.isatty() else 120
console = Console(highlight=False, soft_wrap=_file is not None, width=_file)


def say(line: str = "") -> None:
    """One plain line, whatever brackets it holds, and not broken: it may be there to be copied."""
    console.print(line, markup=False, soft_wrap=True)
