"""Objects.list over folders, lazily: names in order, prefixes, pages, globs.

https://cloud.google.com/storage/docs/json_api/v1/objects/list
"""

from __future__ import annotations

import base64
import binascii
import bisect
import dataclasses
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from local_gcp.rest import ApiError
from local_gcp.storage import folders

MAX_RESULTS = 1000


@dataclasses.dataclass(frozen=True)
class Query:
    """A query of a listing. Defaults list everything."""

    prefix: str = ""
    delimiter: str | None = None
    start: str = ""
    """First name (startOffset), inclusive."""
    end: str | None = None
    """End of the names (endOffset), exclusive."""
    glob: str | None = None
    trailing_delimiter: bool = False
    """Also list an object whose name ends with the delimiter as an item."""
    page_token: str | None = None
    max_results: int = MAX_RESULTS


@dataclasses.dataclass
class Page:
    """One page: names of objects, prefixes up to the delimiter, and the next page's token."""

    names: list[str] = dataclasses.field(default_factory=list)
    prefixes: list[str] = dataclasses.field(default_factory=list)
    next_page_token: str | None = None


def list_page(folder: Path, query: Query, placeholders: Collection[str] = ()) -> Page:
    """One page of the objects in `folder`, in UTF-8 order.

    `placeholders`: folders that are objects themselves, each with a trailing slash.
    """
    page = Page()
    after = _decode_token(query.page_token) if query.page_token else ""
    matches = glob_pattern(query.glob).fullmatch if query.glob else None
    last_prefix = None
    last = ""
    for name in walk(folder, query.prefix, max(query.start, after), placeholders):
        if query.end is not None and name >= query.end:
            break
        prefix = _common_prefix(name, query)
        if matches and not matches(prefix or name):
            continue
        is_item = prefix is None or (query.trailing_delimiter and name == prefix)
        # A page ends after the name `after`, or after the prefix `after` and all names below it.
        is_new_prefix = prefix is not None and prefix not in (last_prefix, after)
        if not (is_item and name > after) and not is_new_prefix:
            continue
        if len(page.names) + len(page.prefixes) >= query.max_results:
            page.next_page_token = _encode_token(last)
            break
        if is_new_prefix:
            last_prefix = prefix
            page.prefixes.append(prefix)
        if is_item:
            page.names.append(name)
        last = prefix or name
    return page


def walk(
    folder: Path, prefix: str, start: str = "", placeholders: Collection[str] = ()
) -> Iterator[str]:
    """Names of objects below `folder` that begin with `prefix`, from `start` on.

    In order; folders without such names are not read.
    """
    head, slash, _ = prefix.rpartition("/")
    first = f"{head}/" if head else ""
    # No object has such a name (see `naming`), and as a path it would leave the bucket.
    if "\0" in prefix or (slash and not {"", ".", ".."}.isdisjoint(head.split("/"))):
        return
    # Names with the prefix stand together in the order, and the prefix before them.
    start = max(start, prefix)
    if not start.startswith(prefix):  # they are all before it
        return
    names = _walk(folder / first, first, prefix, start, placeholders)
    later = itertools.dropwhile(lambda name: name < start, names)
    yield from itertools.takewhile(lambda name: name.startswith(prefix), later)


def _walk(
    folder: Path, path: str, prefix: str, start: str, placeholders: Collection[str]
) -> Iterator[str]:
    if path in placeholders:
        yield path
    try:
        children = folders.children(folder)
    except (FileNotFoundError, NotADirectoryError):  # no such prefix, or deleted in the meantime
        return
    below = start[len(path) :] if start.startswith(path) else ""
    for child in children[_first(children, below) :]:
        name = path + child
        if not child.endswith("/"):
            yield name
        elif name.startswith(prefix) or prefix.startswith(name):
            yield from _walk(folder / child, name, prefix, start, placeholders)


def _first(children: Sequence[str], start: str) -> int:
    """The first child that is not before `start`, or the folder that holds `start`."""
    found = bisect.bisect_left(children, start)
    return found - 1 if found and start.startswith(children[found - 1]) else found


def _common_prefix(name: str, query: Query) -> str | None:
    if not query.delimiter:
        return None
    head, found, _ = name[len(query.prefix) :].partition(query.delimiter)
    return query.prefix + head + found if found else None


def glob_pattern(glob: str) -> re.Pattern[str]:
    """The regular expression of a matchGlob: `*` within a path segment, `**` across, ?, [], {}.

    https://cloud.google.com/storage/docs/json_api/v1/objects/list#list-objects-and-prefixes-using-glob
    """
    tokens = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|\{[^{}]*\}|\\.|.", re.DOTALL)
    try:
        return re.compile("".join(_translate(token) for token in tokens.findall(glob)), re.DOTALL)
    except re.error:
        raise ApiError(400, f"Invalid matchGlob {glob!r}.") from None


def _translate(token: str) -> str:
    fixed = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if token in fixed:
        return fixed[token]
    if len(token) > 1 and token[0] == "[":
        negated = token[1] in "!^"
        body = token[2 if negated else 1 : -1].replace("\\", r"\\")
        return f"[{'^' if negated else ''}{body}]"
    if len(token) > 1 and token[0] == "{":
        return "(?:" + "|".join(glob_pattern(part).pattern for part in token[1:-1].split(",")) + ")"
    if len(token) > 1 and token[0] == "\\":
        return re.escape(token[1])
    return re.escape(token)


def _encode_token(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _decode_token(token: str) -> str:
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise ApiError(400, f"Invalid pageToken {token!r}.") from None
