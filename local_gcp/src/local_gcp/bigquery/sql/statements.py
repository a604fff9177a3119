"""Splits a script into statements and determines their kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from sqlglot.tokens import Token, TokenType

from .parsing import position_at, tokenize

# The first words of a statement, and BigQuery's statementType.
_KINDS = (
    ("SELECT", "SELECT"),
    ("WITH", "SELECT"),
    ("(", "SELECT"),
    ("FROM", "SELECT"),
    ("INSERT", "INSERT"),
    ("UPDATE", "UPDATE"),
    ("DELETE", "DELETE"),
    ("MERGE", "MERGE"),
    ("TRUNCATE", "TRUNCATE_TABLE"),
    ("CREATE MODEL", "CREATE_MODEL"),
    ("CREATE VIEW", "CREATE_VIEW"),
    ("CREATE MATERIALIZED VIEW", "CREATE_MATERIALIZED_VIEW"),
    ("CREATE EXTERNAL TABLE", "CREATE_EXTERNAL_TABLE"),
    ("CREATE SNAPSHOT TABLE", "CREATE_SNAPSHOT_TABLE"),
    ("CREATE SCHEMA", "CREATE_SCHEMA"),
    ("CREATE FUNCTION", "CREATE_FUNCTION"),
    ("CREATE TABLE FUNCTION", "CREATE_TABLE_FUNCTION"),
    ("CREATE PROCEDURE", "CREATE_PROCEDURE"),
    ("CREATE TABLE", "CREATE_TABLE"),
    ("DROP TABLE", "DROP_TABLE"),
    ("DROP VIEW", "DROP_VIEW"),
    ("DROP SCHEMA", "DROP_SCHEMA"),
    ("DROP MODEL", "DROP_MODEL"),
    ("ALTER TABLE", "ALTER_TABLE"),
    ("ALTER MODEL", "ALTER_MODEL"),
    ("EXPORT DATA", "EXPORT_DATA"),
    ("LOAD DATA", "LOAD_DATA"),
    ("EXPLAIN", "EXPLAIN"),
    ("DECLARE", "DECLARE"),
    ("SET", "SET"),
    ("ASSERT", "ASSERT"),
    ("IF", "IF"),
    ("BEGIN", "BEGIN"),
    ("LOOP", "LOOP"),
    ("WHILE", "WHILE"),
    ("REPEAT", "REPEAT"),
    ("FOR", "FOR"),
    ("CASE", "CASE"),
    ("CALL", "CALL"),
    ("EXECUTE IMMEDIATE", "EXECUTE_IMMEDIATE"),
    ("RETURN", "RETURN"),
    ("RAISE", "RAISE"),
    ("BREAK", "BREAK"),
    ("LEAVE", "BREAK"),
    ("CONTINUE", "CONTINUE"),
    ("ITERATE", "CONTINUE"),
    ("COMMIT", "COMMIT_TRANSACTION"),
    ("ROLLBACK", "ROLLBACK_TRANSACTION"),
    ("GRANT", "GRANT"),
    ("REVOKE", "REVOKE"),
)
_NOISE = ("OR", "REPLACE", "TEMP", "TEMPORARY")
SCRIPT_KINDS = frozenset(
    {"DECLARE", "SET", "ASSERT", "IF", "BEGIN", "LOOP", "WHILE", "REPEAT", "FOR", "CASE", "CALL",
     "EXECUTE_IMMEDIATE", "RETURN", "RAISE", "BREAK", "CONTINUE"}
)  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """One statement. `line`, `column`: of its first token in the script, both from 1.

    `kind`: BigQuery's statementType; "UNKNOWN" if its first words are no statement's.
    """

    text: str
    line: int
    column: int
    kind: str


@lru_cache(maxsize=64)  # a job asks twice, and its dry run did before
def split(script: str) -> tuple[Statement, ...]:
    """The statements of a script; a block (IF ... END IF, BEGIN ... END) is one statement.

    Raises BigQueryError(invalidQuery) for unclosed quotes and comments.
    """
    return tuple(
        Statement(
            script[tokens[0].start : tokens[-1].end + 1],
            *position_at(script, tokens[0].start),
            kind_of(tokens),
        )
        for tokens in groups(tokenize(script))
    )


def kind_of(tokens: list[Token]) -> str:
    """BigQuery's statementType, from the first words."""
    # Some tokens have two words: BEGIN TRANSACTION.
    words = " ".join(t.text.upper() for t in tokens[:8]).split() or [""]
    if words[0] == "CREATE":
        words = [w for w in words if w not in _NOISE]
    if words[:2] == ["BEGIN", "TRANSACTION"] or words == ["BEGIN"]:
        return "BEGIN_TRANSACTION"
    text = " ".join(words) + " "
    kind = next((k for start, k in _KINDS if text.startswith(start + " ")), "UNKNOWN")
    if kind == "CREATE_TABLE" and _has_query(tokens):
        return "CREATE_TABLE_AS_SELECT"
    return kind


def _has_query(tokens: list[Token]) -> bool:
    """Return whether AS outside of parentheses begins a query."""
    depth = 0
    for token, following in pairwise(tokens):
        depth += nesting(token)
        if depth == 0 and token.text.upper() == "AS" and token.token_type != TokenType.IDENTIFIER:
            return following.text.upper() in ("SELECT", "WITH", "(", "FROM")
    return False


def nesting(token: Token) -> int:
    """1 for an opening bracket, -1 for a closing one, else 0."""
    opening = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
    closing = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
    return 1 if token.token_type in opening else -1 if token.token_type in closing else 0


BLOCKS = ("IF", "BEGIN", "LOOP", "WHILE", "REPEAT", "FOR", "CASE")


def groups(tokens: list[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement. Blocks open at the start of a statement, CASE anywhere."""
    group: list[Token] = []
    blocks: list[str] = []
    parentheses, begins = 0, True
    for index, token in enumerate(tokens):
        word = token.text.upper() if token.token_type != TokenType.IDENTIFIER else ""
        if token.token_type == TokenType.SEMICOLON and parentheses == 0:
            if not blocks:
                if group:
                    yield group
                group, begins = [], True
                continue
            begins = True
            group.append(token)
            continue
        parentheses += nesting(token)
        previous = tokens[index - 1].text.upper() if index else ""
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if word == "END":
            if blocks:
                blocks.pop()
        elif previous == "END" and word in BLOCKS:
            pass  # the IF of END IF
        elif word == "CASE" or (begins and word in BLOCKS and opens(word, following)):
            blocks.append(word)
        begins = word in ("THEN", "ELSE", "DO", "LOOP", "REPEAT", "BEGIN") and bool(blocks)
        group.append(token)
    if group:
        yield group


def opens(word: str, following: Token | None) -> bool:
    """Return whether a word opens a block; BEGIN TRANSACTION and a bare BEGIN do not."""
    if word != "BEGIN":
        return True
    return (
        following is not None
        and following.token_type != TokenType.SEMICOLON
        and following.text.upper() != "TRANSACTION"
    )
