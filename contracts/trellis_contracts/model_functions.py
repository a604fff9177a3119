"""Mistakes in the functions of a model's file, found without executing it: each line with a
message.
"""

import ast
import difflib
from collections.abc import Collection, Iterator, Mapping

HYPERPARAMETERS = {"build": 1, "loss": 2, "metrics": 2, "train_step": 2, "fit": 1}
"""Place of the argument `hyperparameters` in each function, from 0."""

_SHOWN = 40


def repeated(tree: ast.Module, names: Collection[str]) -> Iterator[tuple[int, str]]:
    """Functions that are defined twice: Python takes the last."""
    first: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            if node.name in first:
                yield node.lineno, f"{node.name}: defined twice, first on line {first[node.name]}"
            first.setdefault(node.name, node.lineno)


def unknown(
    defined: Mapping[str, ast.FunctionDef], known: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Hyperparameters that a function reads and the model does not have.

    known: names of those that it has. A function that gives its argument another value is not
    judged.
    """
    for name, place in HYPERPARAMETERS.items():
        taken = defined[name].args if name in defined else None
        names = [arg.arg for arg in (*taken.posonlyargs, *taken.args)] if taken else []
        if len(names) <= place:
            continue
        nodes = [*ast.walk(defined[name])]
        if _rebound(nodes, names[place]):
            continue
        for node in nodes:
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == names[place]
                and node.attr not in known
                and not node.attr.startswith("_")
            ):
                yield node.lineno, _no_such(node.attr, known)


def _rebound(nodes: Collection[ast.AST], name: str) -> bool:
    """Return whether a name of a function has another meaning somewhere in its nodes."""
    args = [node for node in nodes if isinstance(node, ast.arg) and node.arg == name]
    stored = (
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in nodes
    )
    return len(args) > 1 or any(stored)


def _no_such(name: str, known: Collection[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{nearest[0]}'? " if nearest else ""
    shown = ", ".join(sorted(known)[:_SHOWN]) or "none"
    return f"the model has no hyperparameter '{name}'; {hint}Known: {shown}"
