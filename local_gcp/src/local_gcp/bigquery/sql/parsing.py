"""Parses GoogleSQL to a syntax tree, with the positions of its nodes.

sqlglot's BigQuery parser rewrites many functions to nodes that other dialects share; here every
function stays as written, so that the translation sees its name.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.bigquery import BigQueryParser
from sqlglot.tokens import Token, TokenType

from local_gcp.bigquery.errors import BigQueryError, invalid_query


class ModelArgument(exp.Expression):
    """`MODEL name` as an argument of a table function."""

    arg_types = {"this": True}  # noqa: RUF012 - sqlglot's own convention


class TableArgument(exp.Expression):
    """`TABLE name` as an argument of a table function."""

    arg_types = {"this": True}  # noqa: RUF012


def _with_position(parse: Callable) -> Callable:
    def parse_here(self: BigQueryParser, token: Token) -> exp.Expression:
        return parse(self, token).update_positions(token)

    return parse_here


def _parameter_with_position(self: BigQueryParser) -> exp.Expression | None:
    at = self._prev
    found = BigQueryParser.PLACEHOLDER_PARSERS[TokenType.PARAMETER](self)
    return found and found.update_positions(at)


class _Parser(BigQueryParser):
    FUNCTIONS = {}  # noqa: RUF012
    NO_PAREN_FUNCTIONS = {}  # noqa: RUF012
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: parse
        for name, parse in BigQueryParser.FUNCTION_PARSERS.items()
        if name in ("CAST", "SAFE_CAST", "EXTRACT", "ARRAY")
    }
    PRIMARY_PARSERS = {  # noqa: RUF012
        kind: _with_position(parse) for kind, parse in BigQueryParser.PRIMARY_PARSERS.items()
    }
    PLACEHOLDER_PARSERS = {  # noqa: RUF012
        **BigQueryParser.PLACEHOLDER_PARSERS,
        TokenType.PARAMETER: _parameter_with_position,
        # A positional parameter is identified by its position in the text.
        TokenType.PLACEHOLDER: lambda self: exp.Placeholder().update_positions(self._prev),
    }

    PROPERTY_PARSERS = {  # noqa: RUF012
        **BigQueryParser.PROPERTY_PARSERS,
        "OPTIONS": lambda self: self._parse_options(),
    }
    CONSTRAINT_PARSERS = {  # noqa: RUF012
        **BigQueryParser.CONSTRAINT_PARSERS,
        "OPTIONS": lambda self: exp.Properties(expressions=self._parse_options()),
    }

    def _parse_options(self) -> list[exp.Expression]:
        """`(name = expression, ...)` with any names."""
        return self._parse_wrapped_csv(self._parse_option, optional=False)

    def _parse_option(self) -> exp.Expression | None:
        name = self._parse_var(any_token=True)
        if name is None:
            return None
        if not self._match(TokenType.EQ):
            self.raise_error("Expected = after the name of an option")
        return exp.Property(this=name, value=self._parse_disjunction())

    def _parse_lambda(self, alias: bool = False) -> exp.Expression | None:
        if self._curr.token_type == TokenType.MODEL and self._next.token_type != TokenType.L_PAREN:
            self._advance()
            return ModelArgument(this=self._parse_table_parts())
        if self._curr.token_type == TokenType.TABLE:
            self._advance()
            return TableArgument(this=self._parse_table_parts())
        return super()._parse_lambda(alias)


class GoogleSQL(BigQuery):
    """sqlglot's BigQuery dialect with the parser above."""

    Parser = _Parser

    class Tokenizer(BigQuery.Tokenizer):
        """BigQuery's tokenizer, with the keywords of scripts as plain words."""

        # sqlglot reads the text after BEGIN, WHILE, ... as one token up to the semicolon.
        COMMANDS: frozenset = frozenset()
        KEYWORDS = {  # noqa: RUF012
            word: kind
            for word, kind in BigQuery.Tokenizer.KEYWORDS.items()
            if kind not in (TokenType.COMMAND, TokenType.EXECUTE)
        }


_DIALECT = GoogleSQL()


def tokenize(text: str) -> list[Token]:
    """The tokens of a text; raises BigQueryError(invalidQuery) for an unclosed quote or comment."""
    try:
        return _DIALECT.tokenize(text)
    except TokenError as error:
        raise _unclosed(text, error) from None


def parse(text: str, whole: bool = True) -> exp.Expression:
    """Parse one statement or, if not `whole`, one expression.

    Raises BigQueryError(invalidQuery) with BigQuery's "Syntax error: ...".
    """
    tokens = tokenize(text)
    _check_clauses(text, tokens)
    parser = _DIALECT.parser()
    try:
        if whole:
            found = parser.parse(tokens, text)
        else:
            found = parser.parse_into(exp.Condition, tokens, text)
        trees = [tree for tree in found if tree is not None]
    except ParseError as error:
        raise _syntax_error(text, tokens, error) from None
    if len(trees) != 1:
        raise invalid_query("Syntax error: Unexpected end of script", _end(text))
    for name in trees[0].find_all(exp.Identifier):
        # sqlglot accepts many reserved words as names.
        if not name.quoted and name.name.upper() in _RESERVED and "start" in name.meta:
            if text[: name.meta["start"]].rstrip().endswith("."):
                continue  # after a dot any word is a name
            at = position_at(text, name.meta["start"])
            raise invalid_query(f"Syntax error: Unexpected keyword {name.name.upper()}", at)
    return trees[0]


def _check_clauses(text: str, tokens: list[Token]) -> None:
    """Reject `FROM FROM t` and a query that begins with FROM: sqlglot accepts other dialects'."""
    begins = True  # a clause or a query begins, so FROM must not follow
    after_dot = False  # any word is a name there
    for token in tokens:
        clause = token.token_type == TokenType.FROM and not after_dot
        if clause and begins:
            raise invalid_query(
                "Syntax error: Unexpected keyword FROM", position_at(text, token.start)
            )
        begins = clause or token.token_type == TokenType.L_PAREN
        after_dot = token.token_type == TokenType.DOT


def position_at(text: str, offset: int) -> tuple[int, int]:
    """(line, column) of an offset, both from 1."""
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1


def start_of(node: exp.Expression) -> int | None:
    """The offset of a node's first token with a position."""
    starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(starts, default=None)


def _end(text: str) -> tuple[int, int]:
    return position_at(text, len(text.rstrip()))


def _unclosed(text: str, error: TokenError) -> BigQueryError:
    message = str(error)
    what = "Unclosed string literal" if "Missing" in message else "Illegal input character"
    return invalid_query(f"Syntax error: {what}", _end(text))


def _syntax_error(text: str, tokens: list[Token], error: ParseError) -> BigQueryError:
    """BigQuery's message for the unexpected token."""
    found = error.errors[0] if error.errors else {}
    described = str(found.get("description"))
    # sqlglot's line and column are those of a token's last character.
    place = (found.get("line"), found.get("col"))
    at = next((t for t in tokens if (t.line, t.col) == place), None)
    unexpected = described.startswith("Invalid expression / Unexpected token")
    if at is None or (at is tokens[-1] and not unexpected):
        return invalid_query("Syntax error: Unexpected end of script", _end(text))
    position = position_at(text, at.start)
    if unexpected and at.text not in (")", "]"):
        return invalid_query(f"Syntax error: Expected end of input but got {_named(at)}", position)
    return invalid_query(f"Syntax error: Unexpected {_named(at)}", position)


def _named(token: Token) -> str:
    if token.token_type == TokenType.STRING:
        return f'string literal "{token.text}"'
    if token.token_type == TokenType.NUMBER:
        kind = "integer" if token.text.isdigit() else "floating point"
        return f'{kind} literal "{token.text}"'
    if token.token_type == TokenType.IDENTIFIER:
        return f"identifier `{token.text}`"
    if token.text.upper() in _RESERVED:
        return f"keyword {token.text.upper()}"
    if token.text[:1].isalpha() or token.text[:1] == "_":
        return f'identifier "{token.text}"'
    return f'"{token.text}"'


# https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical#reserved_keywords
_RESERVED = frozenset(
    [
        "ALL",
        "AND",
        "ANY",
        "ARRAY",
        "AS",
        "ASC",
        "ASSERT_ROWS_MODIFIED",
        "AT",
        "BETWEEN",
        "BY",
        "CASE",
        "CAST",
        "COLLATE",
        "CONTAINS",
        "CREATE",
        "CROSS",
        "CUBE",
        "CURRENT",
        "DEFAULT",
        "DEFINE",
        "DESC",
        "DISTINCT",
        "ELSE",
        "END",
        "ENUM",
        "ESCAPE",
        "EXCEPT",
        "EXCLUDE",
        "EXISTS",
        "EXTRACT",
        "FALSE",
        "FETCH",
        "FOLLOWING",
        "FOR",
        "FROM",
        "FULL",
        "GROUP",
        "GROUPING",
        "GROUPS",
        "HASH",
        "HAVING",
        "IF",
        "IGNORE",
        "IN",
        "INNER",
        "INTERSECT",
        "INTERVAL",
        "INTO",
        "IS",
        "JOIN",
        "LATERAL",
        "LEFT",
        "LIKE",
        "LIMIT",
        "LOOKUP",
        "MERGE",
        "NATURAL",
        "NEW",
        "NO",
        "NOT",
        "NULL",
        "NULLS",
        "OF",
        "ON",
        "OR",
        "ORDER",
        "OUTER",
        "OVER",
        "PARTITION",
        "PRECEDING",
        "PROTO",
        "QUALIFY",
        "RANGE",
        "RECURSIVE",
        "RESPECT",
        "RIGHT",
        "ROLLUP",
        "ROWS",
        "SELECT",
        "SET",
        "SOME",
        "STRUCT",
        "TABLESAMPLE",
        "THEN",
        "TO",
        "TREAT",
        "TRUE",
        "UNBOUNDED",
        "UNION",
        "UNNEST",
        "USING",
        "WHEN",
        "WHERE",
        "WINDOW",
        "WITH",
        "WITHIN",
    ]
)
