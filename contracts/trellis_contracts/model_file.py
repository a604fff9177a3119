"""A research group's own model: what its Python file declares, read without executing it.

    HYPERPARAMETERS = {                      # optional; JSON Schema's words, as literals
        "width": {"default": 64, "minimum": 8, "maximum": 512, "description": "units of a layer"},
        "gate":  {"default": "relu", "enum": ["relu", "gelu"], "description": "activation"},
    }
    INPUTS = ["table"]                       # optional: of images or columns alone; else of all

    def build(dataset, hyperparameters): ...             # returns a Keras model
    def loss(labels, outputs, hyperparameters): ...      # optional
    def metrics(labels, outputs, hyperparameters): ...   # optional
    def train_step(model, batch, hyperparameters): ...   # optional, in place of loss

or, of any other library, in place of these

    def fit(data, hyperparameters, report): ...          # a predictor; may take `run` as fourth
    def load(folder): ...                                # the predictor that was saved there
    SEVERAL_WORKERS = True                               # optional: fit trains with run.workers

or none of these functions, if the experiment's `image` is not ours: then the program of the image
trains, on several workers if SEVERAL_WORKERS says so; see trellis_contracts.program.

trainer/models/own.py and trainer/estimators/own_file.py explain the functions. Airflow's side
checks the file where there is no TensorFlow, and where executing it would run a stranger's code in
Airflow.
"""

import ast
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from trellis_contracts import hyperparameter_schema, model_functions, model_imports

KINDS = ("image", "table")

_INPUTS = (
    'expected ["image"] or ["table"], if it learns from images or columns alone; left out, it '
    "learns from all that a dataset has"
)
_OF_KERAS = {
    "build": ("dataset", "hyperparameters"),
    "loss": ("labels", "outputs", "hyperparameters"),
    "metrics": ("labels", "outputs", "hyperparameters"),
    "train_step": ("model", "batch", "hyperparameters"),
}
_OF_ESTIMATOR = {"fit": ("data", "hyperparameters", "report"), "load": ("folder",)}
_FUNCTIONS = (*_OF_KERAS, *_OF_ESTIMATOR)
_MORE = {"fit": 1}
"""Arguments that a function may take beyond those: `run`."""


@dataclass(frozen=True)
class Mistake:
    """A problem of a model's file, with its line (from 1)."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


class ModelFileError(ValueError):
    """A model's file cannot be used as it is; `mistakes` are in the order of the file."""

    def __init__(self, mistakes: list[Mistake]):
        self.mistakes = sorted(mistakes, key=lambda mistake: mistake.line)
        super().__init__("; ".join(map(str, self.mistakes)))


@dataclass(frozen=True)
class Declaration:
    """The declarations of a model's file.

    description: the docstring's first line. inputs: kinds of dataset that it reads.
    hyperparameters: its own, by name, each in JSON Schema's words with `type` and `expected` filled
    in. loss, metrics, train_step: whether it has a loss, metrics, and a training step, of its own.
    estimator: whether it defines `fit` and `load`, in place of a Keras model's `build`, or a
    program in an image of the group's own trains (`program`). several_workers: whether its `fit`,
    or the program, trains one model on several machines.
    """

    description: str = ""
    inputs: tuple[str, ...] = KINDS
    hyperparameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    loss: bool = False
    metrics: bool = False
    train_step: bool = False
    estimator: bool = False
    several_workers: bool = False
    program: bool = False

    @property
    def without(self) -> tuple[str, ...]:
        """Hyperparameters of every Keras model that have no effect on this one."""
        of_loss = ("loss", "focal_gamma", "label_smoothing")
        # Mixed images have two labels.
        return (*of_loss, "mix", "mix_alpha") if self.train_step else of_loss if self.loss else ()

    def common(self, names: Iterable[str]) -> list[str]:
        """Return which hyperparameters it has beside its own. names: those of every Keras model."""
        return [] if self.estimator else [name for name in names if name not in self.without]


def read(
    text: str | bytes,
    common: Collection[str],
    importable: Callable[[str], bool] = model_imports.in_our_image,
    *,
    program: bool = False,
) -> Declaration:
    """The declaration in a file's text. common: hyperparameters of every Keras model. importable:
    returns whether the job's image has a module. program: the image is not ours, and what trains is
    in it: the file has the declaration alone.

    Raises ModelFileError with everything that is wrong.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        message = getattr(error, "msg", None) or str(error)
        raise ModelFileError([Mistake(line, f"not Python: {message}")]) from None
    wrong = [*model_imports.failing(tree, importable), *model_functions.repeated(tree, _FUNCTIONS)]
    mistakes = [Mistake(line, text) for line, text in wrong]
    defined = {function.name: function for function in tree.body if _is_function(function)}
    estimator = program or "fit" in defined
    mistakes += _of_program(defined) if program else _functions(defined)
    names = _assigned(tree)
    common = [] if estimator else common
    hyperparameters: dict[str, dict[str, Any]] = {}
    if node := names.get("HYPERPARAMETERS"):
        for name, line, words in _entries(node, mistakes):
            if found := list(hyperparameter_schema.problems(name, words, common)):
                mistakes += [Mistake(line, f"{name}: {problem}") for problem in found]
            else:
                hyperparameters[name] = hyperparameter_schema.complete(words)
    inputs = KINDS
    if node := names.get("INPUTS"):
        value = _literal(node, "INPUTS", mistakes)
        if isinstance(value, list | tuple) and value and all(kind in KINDS for kind in value):
            inputs = tuple(value)
        elif value is not None:
            mistakes.append(Mistake(node.lineno, f"INPUTS: {_INPUTS}"))
    several_workers = False
    if node := names.get("SEVERAL_WORKERS"):
        several_workers = _literal(node, "SEVERAL_WORKERS", mistakes) is True
        mistakes += _several_workers(node, defined, program)
    if not mistakes:
        known = {*common, *hyperparameters}
        mistakes = [Mistake(*found) for found in model_functions.unknown(defined, known)]
    if mistakes:
        raise ModelFileError(mistakes)
    about = (ast.get_docstring(tree) or "").partition("\n")[0]
    own = {name: name in defined and not estimator for name in ("loss", "metrics", "train_step")}
    return Declaration(
        about,
        inputs,
        hyperparameters,
        **own,
        estimator=estimator,
        several_workers=several_workers,
        program=program,
    )


def _is_function(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef)


def _functions(defined: Mapping[str, ast.FunctionDef]) -> Iterator[Mistake]:
    if not {"build", "fit"} & {*defined}:
        either = " or ".join(map(_signature, (_OF_KERAS, _OF_ESTIMATOR), ("build", "fit")))
        yield Mistake(1, f"there is no function {either}")
    if {"build", "fit"} <= {*defined}:
        line = max(defined[name].lineno for name in ("build", "fit"))
        message = "build is of a Keras model, and fit of any other library: define one of them"
        yield Mistake(line, message)
    expected = _OF_ESTIMATOR if "fit" in defined else _OF_KERAS
    if "fit" not in defined and {"loss", "train_step"} <= {*defined}:
        line = max(defined[name].lineno for name in ("loss", "train_step"))
        yield Mistake(line, "train_step returns all losses: leave `loss` out, or train_step")
    if "fit" in defined and "load" not in defined:
        message = f"there is no function {_signature(_OF_ESTIMATOR, 'load')}, which reads what the "
        yield Mistake(defined["fit"].lineno, message + "predictor of fit has saved")
    for name in expected:
        if name in defined and not _takes(defined[name].args, len(expected[name]), _MORE.get(name)):
            more = " (or with `run` as fourth)" if name in _MORE else ""
            yield Mistake(defined[name].lineno, f"expected {_signature(expected, name)}{more}")


def _of_program(defined: Mapping[str, ast.FunctionDef]) -> Iterator[Mistake]:
    for name in _FUNCTIONS:
        if name in defined:
            message = f"{name} is not called, since the program of the image trains: remove it"
            yield Mistake(defined[name].lineno, message)


def _several_workers(
    node: ast.expr, defined: Mapping[str, ast.FunctionDef], program: bool
) -> Iterator[Mistake]:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, bool)):
        yield Mistake(node.lineno, "SEVERAL_WORKERS: expected True or False")
    elif program:
        return
    elif "fit" not in defined:
        message = "SEVERAL_WORKERS: is of a file with fit; a Keras model always trains on several"
        yield Mistake(node.lineno, message)
    elif node.value and not _takes(defined["fit"].args, len(_OF_ESTIMATOR["fit"]) + 1, None):
        message = "SEVERAL_WORKERS: fit takes no fourth argument `run`, which says who they are"
        yield Mistake(defined["fit"].lineno, message)


def _signature(functions: Mapping[str, tuple[str, ...]], name: str) -> str:
    return f"`def {name}({', '.join(functions[name])})`"


def _takes(taken: ast.arguments, count: int, more: int | None) -> bool:
    """Return whether a function can be called with so many arguments, or with some more."""
    required = len(taken.args) + len(taken.posonlyargs) - len(taken.defaults)
    most = math.inf if taken.vararg else len(taken.args) + len(taken.posonlyargs)
    named_only = [a for a, d in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if not d]
    counts = (count, count + (more or 0))
    return not named_only and any(required <= n <= most for n in counts)


def _assigned(tree: ast.Module) -> dict[str, ast.expr]:
    """Values of the module's names, the last assignment of each."""
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        targets: list[ast.expr]
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        found |= {target.id: value for target in targets if isinstance(target, ast.Name)}
    return found


def _entries(node: ast.expr, mistakes: list[Mistake]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Name, line and words of each hyperparameter that can be read."""
    if not isinstance(node, ast.Dict):
        mistakes.append(
            Mistake(node.lineno, 'HYPERPARAMETERS: expected {"name": {"default": ...}, ...}')
        )
        return
    seen = set()
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            line = (key or value).lineno
            mistakes.append(Mistake(line, "HYPERPARAMETERS: a name must be a text in quotes"))
            continue
        if key.value in seen:
            mistakes.append(Mistake(key.lineno, f"{key.value}: declared twice"))
        seen.add(key.value)
        words = _literal(value, key.value, mistakes)
        if isinstance(words, dict):
            yield key.value, key.lineno, words
        elif words is not None:
            mistakes.append(
                Mistake(key.lineno, f'{key.value}: expected {{"default": ..., "description": ...}}')
            )


def _literal(node: ast.expr, name: str, mistakes: list[Mistake]) -> Any:
    """The value of a literal; None, and a mistake, if it would have to be computed."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        message = (
            f"{name}: `{_written(node)}` would have to be computed, and the file is read "
            "without executing it: write literals"
        )
        mistakes.append(Mistake(node.lineno, message))
        return None


def _written(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:60]
    except RecursionError:
        return "..."
