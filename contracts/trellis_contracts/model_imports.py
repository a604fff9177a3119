"""Imports of a research group's own model, found without executing the file."""

import ast
import sys
from collections.abc import Callable, Iterator

IMPORTABLE = (
    "PIL",
    "cv2",
    "joblib",
    "keras",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "sklearn",
    "tensorflow",
    "trainer",
)
"""Modules that the training image has for a model's file, beside Python's own modules."""


def in_our_image(name: str) -> bool:
    """Return whether the training image has a module. name: without those below it."""
    return name in sys.stdlib_module_names or name in IMPORTABLE


def imported(text: str) -> set[str]:
    """The packages that a file imports in the job."""
    return {name for node in _executed(ast.parse(text)) for name in _imported(node)}


def failing(tree: ast.Module, importable: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """Imports that fail in the job, wherever in the file they stand: line and problem.

    importable: returns whether the job's image has a module.
    """
    for node in _executed(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield (
                node.lineno,
                "a relative import: only this one file is sent to the job, so put everything into "
                "it",
            )
            continue
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            continue
        for name in dict.fromkeys(_imported(node)):
            if not importable(name):
                yield (
                    node.lineno,
                    f"imports {name}, which the image does not have; ours has Python's own "
                    f"modules, {', '.join(IMPORTABLE)}. A package that you need beside these "
                    "makes an image of your own: list it in images/NAME.txt, and write `image: "
                    "NAME`. Only this one file is sent to the job: put what it needs of a file "
                    "beside it into it",
                )


def _imported(node: ast.AST) -> Iterator[str]:
    """The packages that a statement or call imports."""
    names: list[object] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module]
    elif isinstance(node, ast.Call) and _name(node.func) in ("__import__", "import_module"):
        names = [part.value for part in node.args[:1] if isinstance(part, ast.Constant)]
    for name in names:
        if isinstance(name, str) and (package := name.partition(".")[0]):
            yield package


_LEAVES = (ast.Name, ast.Constant, ast.alias, ast.expr_context, ast.operator)
"""Most of a file's nodes: none below them imports."""


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """The file's nodes, but those of which its author says that they may fail, or are not for the
    job: the body of a `try` that catches a failed import, of `if TYPE_CHECKING`, and of
    `if __name__ == "__main__"`.
    """
    nodes: list[ast.AST] = [tree]  # no recursion: a long sum is a deep tree
    while nodes:
        node = nodes.pop()
        yield node
        if isinstance(node, ast.Try) and any(map(_catches_imports, node.handlers)):
            nodes += [*node.handlers, *node.orelse, *node.finalbody]
        elif isinstance(node, ast.If) and _not_in_the_job(node.test):
            nodes += node.orelse
        elif not isinstance(node, _LEAVES):
            nodes += ast.iter_child_nodes(node)


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught] if caught else []
    all_ = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
    return caught is None or any(_name(name) in all_ for name in names)


def _not_in_the_job(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        return _name(test.left) == "__name__" and isinstance(test.ops[0], ast.Eq)
    return _name(test) == "TYPE_CHECKING"


def _name(node: ast.expr) -> str | None:
    """The last part of a name: `b` of `a.b`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
