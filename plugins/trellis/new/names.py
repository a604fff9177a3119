"""Names of columns, as a file spells them and as BigQuery takes them."""

import unicodedata
from collections.abc import Sequence

from trellis.new.described import Note

LONGEST = 300
"""Characters: https://docs.cloud.google.com/bigquery/docs/schemas#column_names"""

# Beyond letters, digits, marks, dashes and connectors of any script, and blanks.
# https://docs.cloud.google.com/bigquery/docs/schemas#flexible-column-names
_OTHERS = frozenset("&%=+:'<>#|")
_CATEGORIES = ("L", "N", "M", "Pc", "Pd")
_RESERVED = ("_TABLE_", "_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "__ROOT__", "_COLIDENTIFIER")


def of_columns(headers: Sequence[str]) -> tuple[list[str], list[Note]]:
    """A name for each header: itself if BigQuery takes it, and a note of every other one.

    Names differ in more than case, as BigQuery compares them.
    """
    found: list[str] = []
    notes = []
    for number, header in enumerate(headers, 1):
        name = _accepted(header)
        taken, wanted, count = {each.lower() for each in found}, name, 2
        while name.lower() in taken:
            name, count = f"{wanted}_{count}", count + 1
        found.append(name)
        if name != header:
            spelled = repr(header) if header.strip() else f"the name of column {number}, empty,"
            notes.append(Note("renamed", f"{spelled} is {name}"))
    return found, notes


def _accepted(header: str) -> str:
    """The header, or the most of it that BigQuery takes."""
    name = unicodedata.normalize("NFC", header).strip()
    if not name or not all(map(_allowed, name)):
        # Blanks beside what is left out would look like a mistake: `size (cm)` is size_cm.
        words = "".join(c if _allowed(c) and not c.isspace() else " " for c in name).split()
        name = "_".join(words).strip("_") or "column"
    if name[0].isdigit():
        name = f"c_{name}"
    if name.upper().startswith(_RESERVED):
        name = f"c{name}"
    return name[: LONGEST - 10] if len(name) > LONGEST else name


def _allowed(character: str) -> bool:
    category = unicodedata.category(character)
    return category.startswith(_CATEGORIES) or character in _OTHERS or character == " "
