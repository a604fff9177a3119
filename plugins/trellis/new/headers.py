"""The header of a text file: a name for each value of the lines below it."""

import re
from pathlib import Path

from trellis.new.described import DataError, Note

NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")

_OTHER_SEPARATORS = {
    r"\s+": "blanks",
    ":": "colons",
    r"\^": "^",
    "~": "~",
    "\x1f": "U+001F",
    "\x01": "U+0001",
}


def check(
    path: Path | str, header: list[str], sample: list[list[str]], line: int
) -> tuple[list[str], list[Note]]:
    """The header's names, one for each value of the lines below it."""
    _check_quotes(path, header, line)
    if len(header) == 1:
        _check_divided(path, header[0], sample, line)
    wider = [record for record in sample if len(record) == len(header) + 1]
    if sample and len(wider) == len(sample) and not any(record[-1] for record in wider):
        header = [*header, ""]  # lines that end in a separator, and a header that does not
    elif sample and len(wider) == len(sample) and len(header) > 1:
        raise DataError(
            f"{path}: the header (line {line}) has {len(header)} names and every line below it "
            f"{len(header) + 1} values: add the name that is missing (R's write.table leaves the "
            "first one out unless col.names=NA)"
        )
    numbers = [name.strip() for name in header if NUMBER.fullmatch(name.strip())]
    if len(set(numbers)) < len(numbers) or (numbers and len(numbers) >= len(header) - 1 > 0):
        raise DataError(
            f"{path}: line {line} has numbers where the columns' names are expected "
            f"({', '.join(numbers[:5])}): write a line with the names above it"
        )
    notes = []
    if numbers:
        notes.append(
            Note("names that are numbers; is there a header?", ", ".join(map(repr, numbers)))
        )
    return header, notes


def _check_quotes(path: Path | str, header: list[str], line: int) -> None:
    """Raises DataError if the names stand in quotes that a CSV does not know."""
    for quote in ("'", "`", "\u201c", "\u201e", "\u00ab"):
        if all(len(name.strip()) > 2 and name.strip().startswith(quote) for name in header):
            raise DataError(
                f"{path}: line {line}: the names stand in {quote}, as in {header[0].strip()}; a "
                'value is quoted with ": replace them'
            )


def _check_divided(path: Path | str, name: str, sample: list[list[str]], line: int) -> None:
    """Raises DataError if the lines of a file with one column are divided evenly by another sign
    than one of SEPARATORS.
    """
    if not sample or any(len(record) > 1 for record in sample):
        return
    texts = [record[0] for record in sample]
    for pattern, shown in _OTHER_SEPARATORS.items():
        width = len(re.split(pattern, name.strip()))
        if width > 1 and all(len(re.split(pattern, text.strip())) == width for text in texts):
            raise DataError(
                f"{path}: line {line} and those below it seem to be {width} values each, "
                f"separated by {shown}; separate them by commas, semicolons, tabs or vertical bars"
            )
