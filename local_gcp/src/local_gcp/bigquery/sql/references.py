"""The datasets that a script names, which determine its job's location before translation.

A name counts where a table, model or schema is expected. The caller ignores names of other things
(an alias of FROM, a column in EXTRACT(YEAR FROM t.day)).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from sqlglot.tokens import Token, TokenType

from local_gcp.bigquery.errors import BigQueryError

from .parsing import tokenize

_BEFORE = {
    *("FROM", "JOIN", "INTO", "INSERT", "UPDATE", "DELETE", "MERGE", "USING"),
    *("TABLE", "VIEW", "MODEL", "SCHEMA", "EXISTS", "COPY", "CLONE", "LIKE"),
}
_PATH = re.compile(r"(?:`[^`]*`|[\w-]+)(?:\s*\.\s*(?:`[^`]*`|[\w-]+))*")


def datasets_named(script: str) -> Iterator[tuple[str, str]]:
    """Candidates (dataset, table), in the order of the script."""
    tokens = _tokens(script)
    for before, token in pairwise(tokens):
        if before.text.upper() not in _BEFORE or before.token_type == TokenType.IDENTIFIER:
            continue
        if token.text.upper() == "IF":  # [NOT] EXISTS, then the name
            continue
        path = _PATH.match(script, token.start)
        if path is None:
            continue
        parts = re.split(r"[.:]", re.sub(r"[\s`]", "", path[0]))
        # From the end: project.dataset.table, dataset.INFORMATION_SCHEMA.view.
        yield from reversed(list(pairwise(parts)))
        if before.text.upper() in ("SCHEMA", "EXISTS"):
            yield parts[-1], ""


def schema_location(script: str) -> str | None:
    """The location in CREATE SCHEMA ... OPTIONS(location='EU'); None without one."""
    tokens = _tokens(script)
    if [t.text.upper() for t in tokens[:2]] != ["CREATE", "SCHEMA"]:
        return None
    for name, equals, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.text.lower() == "location" and equals.token_type == TokenType.EQ:
            return value.text
    return None


def _tokens(script: str) -> list[Token]:
    try:
        return tokenize(script)
    except BigQueryError:
        return []  # the job reports the error
