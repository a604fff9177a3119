"""Keeps keys and values of rows out of logs, alerts, exceptions and Airflow's database.

A message marks what it quotes of rows (`quoted`, `some_of`), with words that stand for it
elsewhere, mostly a count. `withheld` is the message for everybody, `shown` the whole one, which
only a file in the group's bucket has: who may read that may read the rows. An error of rows
(`RowsError`) is withheld wherever it is printed.

    text = f"key 'id' repeats: {some_of(['p1', 'p2'], 'key')}"
    withheld(text)    key 'id' repeats: 2 keys
    shown(text)       key 'id' repeats: 'p1', 'p2'
"""

import re
from collections.abc import Callable, Iterable

# Noncharacters, which Unicode leaves to a program's own use and no exchanged text has:
# https://www.unicode.org/faq/private_use.html#nonchar4
_OPEN, _INSTEAD, _CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"
_MARKS = re.compile(f"[{_OPEN}{_INSTEAD}{_CLOSE}]")
# A text that was cut may have lost the end of what it quotes.
_QUOTED = re.compile(
    f"{_OPEN}(?P<shown>[^{_INSTEAD}{_CLOSE}]*)(?:{_INSTEAD}(?P<instead>[^{_CLOSE}]*))?(?:{_CLOSE}|$)"
)

WITHHELD = "(withheld)"
"""What stands for a quotation without words of its own."""


def quoted(text: str, instead: str = WITHHELD) -> str:
    """Mark what a message quotes of rows.

    instead: stands for it in logs and alerts; it has no value of a row.
    """
    return f"{_OPEN}{_MARKS.sub('', shown(text))}{_INSTEAD}{_MARKS.sub('', instead)}{_CLOSE}"


def some_of(values: Iterable[object], one: str, many: str = "", most: int = 5) -> str:
    """Mark the first of these values; their number stands for them elsewhere.

    one, many: what they are; many is `one` with an s if it is left out.
    """
    values = list(values)
    text = ", ".join(map(repr, values[:most])) + ", ..." * (len(values) > most)
    noun = one if len(values) == 1 else many or f"{one}s"
    return quoted(text, f"{len(values):,} {noun}")


def at_keys(keys: Iterable[object]) -> str:
    """The end of a message on rows, with the keys of some of them; nothing elsewhere."""
    keys = list(keys)
    return quoted(f", as at the key{'s' * (len(keys) != 1)} {some_of(keys, 'key')}", "")


def withheld(text: str) -> str:
    """The message without what it quotes of rows."""
    return _QUOTED.sub(
        lambda found: WITHHELD if found["instead"] is None else found["instead"], text
    )


def shown(text: str) -> str:
    """The whole message, for a file in the bucket."""
    return _QUOTED.sub(lambda found: found["shown"], text)


def for_log(texts: Iterable[str], write: Callable[[bytes], str]) -> list[str]:
    """The messages for a log. If one of them quotes rows, all of them are written as they are, as
    lines of UTF-8, and a last message says where.

    write: writes a file in the bucket, and returns its address.
    """
    texts = list(texts)
    public = [withheld(text) for text in texts]
    whole = [shown(text) for text in texts]
    if public == whole:
        return public
    address = write("".join(f"{text}\n" for text in whole).encode())
    return [*public, f"Keys and values of these rows: {address}"]


class RowsError(Exception):
    """An error of rows. Printed, it is withheld."""

    def __str__(self) -> str:
        return withheld(self.text)

    @property
    def text(self) -> str:
        """The message with its marks, to be part of another one, or for `shown`."""
        return " ".join(map(str, self.args))
