"""Names of classes that raise a doubt: spellings of one name, and texts for a missing value."""

import re
import unicodedata
from collections.abc import Collection, Iterator

from trellis_contracts.withheld import quoted

MISSING = (
    *("NA", "N/A", "n/a", "na", "<NA>", "#N/A", "#NA", "NULL", "null", "Null", "NIL", "nil"),
    *("NaN", "nan", "NAN", "-nan", "-NaN", "None", "none", "NONE", "?", ".", "-", "--"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!", "1.#QNAN", "-1.#IND", "NaT"),
)
"""Texts that stand for a missing value among numbers, dates and booleans."""

UNLABELLED = (
    *("unlabeled", "unlabelled", "not labeled", "not labelled", "no label", "unclassified"),
    *("unknown", "not known", "undefined", "unassigned", "missing", "not available"),
    *("unsorted", "to do", "todo", "tbd"),
)
"""Names, in small letters and with blanks between words, that examples without a label get."""

_SHOWN = 5


def folded(name: str) -> str:
    """The name without what people do not see as a difference: case, blanks, and how a letter with
    an accent is encoded.
    """
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()


def doubts(classes: Collection[str]) -> Iterator[str]:
    """A sentence for each doubt. Each class is learned as it is spelled all the same."""
    spellings: dict[str, list[str]] = {}
    for name in sorted(classes):
        spellings.setdefault(folded(name), []).append(name)
    if several := [names for names in spellings.values() if len(names) > 1]:
        pairs = [" and ".join(map(repr, names)) for names in several]
        yield (
            "classes differ in case, blanks or accents' encoding alone: "
            f"{quoted(_list(pairs), f'{len(pairs)} names')}; each spelling is a class of its own"
        )
    if blank := [repr(n) for n in sorted(classes) if _says_nothing(n)]:
        yield (
            f"{quoted(_list(blank), 'a label')} may stand for a missing label, and counts as a "
            "class: if it is none, leave these examples out"
        )


def _says_nothing(name: str) -> bool:
    plain = folded(re.sub("[_-]", " ", name))
    return name in MISSING or plain in UNLABELLED or bool(name and not name.strip())


def _list(found: list[str]) -> str:
    return ", ".join(found[:_SHOWN]) + ", ..." * (len(found) > _SHOWN)
