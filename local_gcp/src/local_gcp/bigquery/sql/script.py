"""Scripts: several statements, variables and conditions.

https://cloud.google.com/bigquery/docs/reference/standard-sql/procedural-language
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa
from sqlglot.tokens import Token, TokenType

from local_gcp.bigquery.errors import BigQueryError, invalid_query, not_emulated

from . import statements
from .catalog import Catalog
from .parsing import position_at, tokenize
from .settings import Settings, Variable
from .statements import Statement
from .translate import expression, translate, type_of
from .translated import Translated
from .types import BOOL, Type


class Executor(Protocol):
    """Runs the statements of a script."""

    def execute(self, translated: Translated) -> None:
        """Run a statement of the script (in BigQuery: a child job)."""

    def evaluate(self, translated: Translated) -> pa.Table:
        """The rows of a query within an expression (DECLARE, SET, IF, ASSERT, ...)."""


def run(text: str, executor: Executor, catalog: Catalog, settings: Settings) -> None:
    """Run a whole script; statements before an error stay committed, as in BigQuery.

    Raises the BigQueryError of the statement that failed; notImplemented for loops, CASE, RETURN,
    RAISE, EXECUTE IMMEDIATE, CALL, transactions and exception handlers.
    """
    _Script(text, executor, catalog, settings).block(tokenize(text), {})


class _Script:
    def __init__(self, text: str, executor: Executor, catalog: Catalog, settings: Settings):
        self.text, self.executor = text, executor
        self.catalog, self.settings = catalog, settings

    def block(self, tokens: Sequence[Token], outer: dict[str, Variable]) -> None:
        """Run a list of statements. Its DECLAREs come first, and are local to it."""
        variables, declaring = _Variables(outer), True
        for group in statements.groups(list(tokens)):
            kind = statements.kind_of(group)
            if kind == "DECLARE":
                if not declaring:
                    raise self.error(
                        "Variable declarations are allowed only at the start of a block or script",
                        group[0],
                    )
                self.declare(group, variables)
                continue
            declaring = False
            self.statement(kind, group, variables)

    def statement(self, kind: str, group: list[Token], variables: _Variables) -> None:
        """Run a statement other than DECLARE."""
        method = {
            "SET": self.set,
            "ASSERT": self.assert_,
            "IF": self.if_,
            "BEGIN": self.begin,
        }.get(kind)
        if method is not None:
            method(group, variables)
        elif kind in statements.SCRIPT_KINDS:
            raise not_emulated(f"{kind.replace('_', ' ')} in scripts")
        else:
            start, end = group[0].start, group[-1].end + 1
            statement = Statement(self.text[start:end], *position_at(self.text, start), kind)
            settings = self.settings.at_this_moment()
            self.executor.execute(translate(statement, self.catalog, settings, variables.all))

    # Expressions ---------------------------------------------------------------------------------

    def value(
        self, tokens: Sequence[Token], variables: _Variables, to: Type | None, where: Token
    ) -> Variable:
        """An expression's value, as type `to` if given."""
        if not tokens:
            raise self.error("Syntax error: Expected an expression", where)
        start, end = tokens[0].start, tokens[-1].end + 1
        translated = expression(
            self.text[start:end],
            position_at(self.text, start),
            self.catalog,
            self.settings.at_this_moment(),
            variables.all,
            to,
        )
        column = self.executor.evaluate(translated).column(0)
        return Variable(translated.fields[0], column[0].as_py())

    def condition(self, tokens: Sequence[Token], variables: _Variables, where: Token) -> bool:
        """A BOOL expression; NULL is false."""
        return bool(self.value(tokens, variables, BOOL, where).value)

    def error(self, message: str, token: Token) -> BigQueryError:
        return invalid_query(message, position_at(self.text, token.start))

    # Statements ----------------------------------------------------------------------------------

    def declare(self, group: list[Token], variables: _Variables) -> None:
        """DECLARE a, b TYPE [DEFAULT expression]."""
        names, place = [], 1
        while place < len(group):
            names.append(group[place])
            place += 1
            if place >= len(group) or group[place].token_type != TokenType.COMMA:
                break
            place += 1
        at = _find(group, "DEFAULT", place)
        written, default = group[place:at], group[at + 1 :]
        if not names or (not written and not default):
            raise self.error("Syntax error: Expected a type or DEFAULT", group[-1])
        to = None
        if written:
            text = self.text[written[0].start : written[-1].end + 1]
            to = type_of(text, position_at(self.text, written[0].start), self.catalog)
        if default:
            found = self.value(default, variables, to, group[0])
        else:
            found = Variable(to.field(""), [] if to.element else None)
        for name in names:
            if name.text.lower() in variables.own:
                raise self.error(f"Variable '{name.text}' redeclaration", name)
            variables.own[name.text.lower()] = found

    def set(self, group: list[Token], variables: _Variables) -> None:
        """SET a = expression; SET (a, b) = (expression, expression) or a STRUCT."""
        if group[1].token_type == TokenType.L_PAREN:
            close = _closing(group, 1)
            targets = [t for t in group[2:close] if t.token_type != TokenType.COMMA]
        else:
            close, targets = 1, group[1:2]
        if close + 1 >= len(group) or group[close + 1].token_type != TokenType.EQ:
            if group[1].token_type == TokenType.PARAMETER:
                raise not_emulated("SET of system variables")
            raise self.error('Syntax error: Expected "="', group[min(close + 1, len(group) - 1)])
        rest = group[close + 2 :]
        for target in targets:
            if target.text.lower() not in variables.all:
                raise self.error(f"Undeclared variable: {target.text}", target)
        if close == 1:
            name = targets[0].text
            found = self.value(rest, variables, variables.type(name), group[0])
            variables.assign(name, found.value)
            return
        value = self.value(rest, variables, None, group[0])
        if value.type.type != "STRUCT" or len(value.type.fields) != len(targets):
            raise self.error(
                f"SET of {len(targets)} variables needs a STRUCT of as many fields", group[0]
            )
        inner = [Type.of(f) for f in value.type.fields]
        cells = list((value.value or {}).values()) or [None] * len(targets)
        for target, kind, cell in zip(targets, inner, cells, strict=True):
            if kind != variables.type(target.text):
                raise self.error(
                    f"Cannot coerce expression of type {kind} to type "
                    f"{variables.type(target.text)}",
                    target,
                )
            variables.assign(target.text, cell)

    def assert_(self, group: list[Token], variables: _Variables) -> None:
        """ASSERT expression [AS 'description']."""
        at = _find(group, "AS", 1)
        if self.condition(group[1:at], variables, group[0]):
            return
        described = group[at + 1 :]
        raise BigQueryError(
            "invalidQuery",
            f"Assertion failed: {described[0].text}" if described else "Assertion failed",
            "query",
        )

    def if_(self, group: list[Token], variables: _Variables) -> None:
        """IF c THEN ... ELSEIF c THEN ... ELSE ... END IF."""
        marks = _marks(group, ("THEN", "ELSEIF", "ELSE", "END"))
        position = 0
        while True:
            word = group[position].text.upper()
            if word == "END":
                return
            following = [m for m in marks if m > position]
            if word == "ELSE":
                self.block(group[position + 1 : following[0]], variables.all)
                return
            then = following[0]
            if group[then].text.upper() != "THEN" or len(following) < 2:
                raise self.error("Syntax error: Expected keyword THEN", group[then])
            if self.condition(group[position + 1 : then], variables, group[position]):
                self.block(group[then + 1 : following[1]], variables.all)
                return
            position = following[1]

    def begin(self, group: list[Token], variables: _Variables) -> None:
        """BEGIN ... END."""
        marks = _marks(group, ("EXCEPTION", "END"))
        if group[marks[0]].text.upper() == "EXCEPTION":
            raise not_emulated("EXCEPTION handlers in scripts")
        self.block(group[1 : marks[-1]], variables.all)


class _Variables:
    """The variables of a block (`own`) and of the blocks around it."""

    def __init__(self, outer: dict[str, Variable]):
        self.outer = outer
        self.own: dict[str, Variable] = {}

    @property
    def all(self) -> Any:
        return _Chain(self.own, self.outer)

    def type(self, name: str) -> Type:
        return Type.of(self.all[name.lower()].type)

    def assign(self, name: str, value: Any) -> None:
        chain = self.all
        chain[name.lower()] = Variable(chain[name.lower()].type, value)


class _Chain(dict):
    """A block's variables over those of outer blocks; assignment changes the declaring block's."""

    def __init__(self, own: dict[str, Variable], outer: dict[str, Variable]):
        super().__init__({**outer, **own})
        self._own, self._outer = own, outer

    def __setitem__(self, name: str, value: Variable) -> None:
        super().__setitem__(name, value)
        (self._own if name in self._own else self._outer)[name] = value


def _find(group: Sequence[Token], word: str, start: int) -> int:
    """The index of a word outside of parentheses and CASE; the length if it is not there."""
    return next((m for m in _marks(group, (word,)) if m >= start), len(group))


def _marks(group: Sequence[Token], words: Sequence[str]) -> list[int]:
    """Indexes of words outside of parentheses and inner blocks; a block opens at the start."""
    found, depth = [], 0
    blocks: list[str] = []
    for i, token in enumerate(group):
        depth += statements.nesting(token)
        word = token.text.upper() if token.token_type not in _NO_WORDS else ""
        previous = group[i - 1].text.upper() if i else ""
        if depth == 0 and not blocks and word in words and i:
            found.append(i)
            continue
        if word == "END" and blocks:
            blocks.pop()
        elif i and word in statements.BLOCKS and previous != "END":
            starts = previous in (";", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "BEGIN")
            following = group[i + 1] if i + 1 < len(group) else None
            if word == "CASE" or (starts and statements.opens(word, following)):
                blocks.append(word)
    return found


_NO_WORDS = (TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING)


def _closing(group: Sequence[Token], start: int) -> int:
    depth = 0
    for i in range(start, len(group)):
        depth += statements.nesting(group[i])
        if depth == 0:
            return i
    return len(group) - 1
