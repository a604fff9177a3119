"""Functions by signature: `NAME(PARAMETERS) -> RESULT = TEMPLATE`, one per line.

Parameters are types, `T` for any type (all T of a signature coerce to one) or `N` for any number;
`ARRAY<T>` for an array of it; the last one may be repeated if `*` follows it. In the template,
`{0}`, `{1}` are the arguments, `{*}` is all of them. A template that begins with `!` means that
the signature is not emulated. An indented line continues the previous one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from local_gcp.bigquery.sql.context import Context
from local_gcp.bigquery.sql.types import (
    FLOAT64,
    INT64,
    NUMBERS,
    STRING,
    Type,
    Value,
    array_of,
    coerce,
    supertype,
)

_LINE = re.compile(r"(\w[\w.]*)\((.*?)\) -> ([\w<>]+) = (.+)")


@dataclass(frozen=True)
class Signature:
    """One way to call a function."""

    parameters: tuple[str, ...]
    variadic: bool
    result: str
    template: str


def table(text: str) -> dict[str, list[Signature]]:
    """Signatures by function, from lines as above."""
    found: dict[str, list[Signature]] = {}
    for line in filter(None, map(str.strip, text.replace("\n    ", " ").splitlines())):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"not a signature: {line}")
        name, parameters, result, template = match.groups()
        variadic = parameters.endswith("*")
        listed = tuple(p for p in parameters.rstrip("*").split(", ") if p)
        found.setdefault(name, []).append(Signature(listed, variadic, result, template))
    return found


def apply(
    ctx: Context,
    name: str,
    signatures: Sequence[Signature],
    values: Sequence[Value],
    node: exp.Expression,
) -> Value:
    """The call by the signature with the fewest conversions; raises an error if none fits."""
    best = None
    for signature in signatures:
        bound = _bind(signature, values)
        if bound is not None and (best is None or bound[0] < best[0]):
            best = (*bound, signature)
    if best is None:
        raise no_signature(ctx, name, values, node)
    _, arguments, kind, signature = best
    if signature.template.startswith("!"):
        raise ctx.not_emulated(f"{name} {signature.template[1:].strip()}", node)
    sql = signature.template.replace("{*}", ", ".join(arguments))
    for index in range(len(arguments)):
        sql = sql.replace(f"{{{index}}}", f"\0{index}\0")
    for index, argument in enumerate(arguments):
        sql = sql.replace(f"\0{index}\0", argument)
    return Value(sql, _type(signature.result, kind))


def no_signature(
    ctx: Context, name: str, values: Sequence[Value], node: exp.Expression
) -> Exception:
    """BigQuery's error for arguments that fit no signature."""
    if not values:
        return ctx.error(f"No matching signature for function {name} with no arguments", node)
    listed = ", ".join(str(v.type) for v in values)
    return ctx.error(
        f"No matching signature for function {name} for argument types: {listed}", node
    )


def _bind(signature: Signature, values: Sequence[Value]) -> tuple[int, list[str], Type] | None:
    """(number of conversions, SQL of the arguments, type T); None if it does not fit."""
    parameters = list(signature.parameters)
    if signature.variadic and len(values) >= len(parameters):
        parameters += [parameters[-1]] * (len(values) - len(parameters))
    if len(parameters) != len(values):
        return None
    kind = _variable(parameters, values)
    if kind is None:
        return None
    conversions, arguments = 0, []
    for parameter, value in zip(parameters, values, strict=True):
        target = _type(parameter, kind)
        sql = coerce(value, target)
        if sql is None:
            return None
        # A literal prefers its own type to one that it can be coerced to.
        conversions += 0 if value.type == target else (1 if not value.null else 0)
        if parameter == "FLOAT64" and value.type not in (FLOAT64, INT64):
            conversions += 1
        arguments.append(sql)
    return conversions, arguments, kind


def _variable(parameters: Sequence[str], values: Sequence[Value]) -> Type | None:
    """The type of T (or N)."""
    bound: list[Value] = []
    for parameter, value in zip(parameters, values, strict=True):
        if parameter in ("T", "N"):
            bound.append(value)
        elif parameter == "ARRAY<T>":
            if value.null:
                continue
            if value.type.element is None:
                return None
            bound.extend(value.items or [Value("", value.type.element)])
    kind = supertype(bound) if bound else STRING
    if "N" in parameters and kind not in NUMBERS:
        return None
    return kind


def _type(name: str, variable: Type) -> Type:
    if name in ("T", "N"):
        return variable
    if name.startswith("ARRAY<"):
        return array_of(_type(name[6:-1], variable))
    return Type(name)
