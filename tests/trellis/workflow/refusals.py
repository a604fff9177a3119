"""Collects every refusal of the export and the trainer from their source, without importing it."""

import ast
from collections.abc import Iterator

from tests.airflow_side import ROOT

PLACES = (
    "trainer/estimators",
    "trainer/exporting",
    "trainer/training",
    "trainer/models",
    "trainer/dataset_description.py",
    "trainer/folds.py",
    "trainer/stored.py",
    "contracts/trellis_contracts/dataset.py",
    "contracts/trellis_contracts/records.py",
)
"""Parts that run in the jobs which a run pays for."""

# Calls that refuse, beside `raise`: of rows, of a dataset's content.
_CALLS = ("add", "refuse")
# What callers and people at a command line are told: in a run, both are programs of ours.
_NOT_OF_USERS = {
    "NotImplementedError",
    "TypeError",
    "FileNotFoundError",
    "KeyError",
    "argparse.ArgumentTypeError",
}


def messages() -> dict[str, list[str]]:
    """The refusals of each function, as their source says them, in order."""
    found: dict[str, list[str]] = {}
    for module, function, text in _all():
        found.setdefault(f"{module}:{function}", []).append(text)
    return found


def _all() -> Iterator[tuple[str, str, str]]:
    for place in PLACES:
        root = ROOT / place
        for file in sorted(root.rglob("*.py")) if root.is_dir() else [root] * root.exists():
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts[1:])
            for function, node in _functions(ast.parse(file.read_text())):
                for text in _refusals(node):
                    yield module, function, text


def _functions(tree: ast.AST, name: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Each outermost function or method; what is defined inside one belongs to it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield name + node.name, node


def _refusals(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            called = ast.unparse(node.exc.func)
            if called.endswith("Error") and called not in _NOT_OF_USERS:
                yield _text(node.exc)
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if (called.rpartition(".")[2] in _CALLS and "finding" in called) or called == "refuse":
                yield _text(node)


def _text(call: ast.Call) -> str:
    return " ".join(ast.unparse(call).split())


def of_text(text: str) -> list[str]:
    """The refusals in a module's text."""
    return [found for _, node in _functions(ast.parse(text)) for found in _refusals(node)]
