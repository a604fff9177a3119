"""What tests read from the Markdown of a write-up."""

import re


def cells(text, first):
    """The rows of a text's table whose first head is this: a list of lists."""
    (found,) = re.findall(rf"^\| {re.escape(first)} \|.*\n\| ---.*\n((?:\|.*\n?)*)", text, re.M)
    return [[cell.strip() for cell in row.strip()[1:-1].split("|")] for row in found.splitlines()]
