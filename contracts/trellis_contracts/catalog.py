"""The models and hyperparameters that an experiment may name: the trainer's, and a group's own."""

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trellis_contracts import hyperparameters
from trellis_contracts.hyperparameter_field import Value
from trellis_contracts.hyperparameter_schema import fits
from trellis_contracts.model_file import Declaration
from trellis_contracts.models import MODELS, Model, OfFile


@dataclass(frozen=True)
class Hyperparameter:
    """One flag of the trainer, with its bounds in JSON Schema's words."""

    name: str
    schema: Mapping[str, Any]

    @property
    def type(self) -> str:
        """number, integer, string or boolean."""
        return str(self.schema["type"])

    def problem_with(self, value: Any) -> str | None:
        """Return why the trainer would refuse `value`; None if it takes it."""
        if not _is(value, self.type) or not fits(self.schema, value):
            return f"expected {self.expected}"
        return None

    @property
    def expected(self) -> str:
        """`a number above 0 and at most 1`; `one of adam, sgd`; ... in the trainer's words."""
        return str(self.schema["expected"])

    @property
    def only(self) -> str:
        """`only for images`, `only for the tasks ...`; nothing where it has an effect on all."""
        inputs = " and ".join(f"{kind}s" for kind in self.schema.get("inputs", ()))
        parts = [inputs, _listed("task", self.schema.get("tasks", ()))]
        return " and ".join(f"only for {part}" for part in parts if part)

    def has_effect(self, inputs: Collection[str], task: str) -> bool:
        """Return whether a value changes anything for this task. inputs: what the source's examples
        hold, "image", "table" or both.
        """
        tasks = self.schema.get("tasks", [task])
        return not {*inputs}.isdisjoint(self.schema.get("inputs", inputs)) and task in tasks

    def unfit(self, values: Collection[str], task: str) -> str | None:
        """Return which of these words is for other tasks alone, and for which; None if none is."""
        of_tasks = self.schema.get("of_tasks", {})
        wrong = [value for value in values if task not in of_tasks.get(value, [task])]
        if not wrong:
            return None
        return f"{wrong[0]} is only for {_listed('task', of_tasks[wrong[0]])}"

    @property
    def idle_with(self) -> Mapping[str, list[str]]:
        """Other hyperparameters, each with the words with which this one has no effect."""
        found: Mapping[str, list[str]] = self.schema.get("idle_with", {})
        return found

    def cast(self, value: Any) -> Value:
        """A tuner's value as the trainer's type: Vertex keeps every number as a double, 2.0 for 2,
        and a category as text, "true" for true. Raises ValueError for what is none of its type.
        """
        if self.type == "integer":
            number = float(value)
            if number != int(number):
                raise ValueError(f"{self.name} is a whole number, the tuner gave {value!r}")
            return int(number)
        if self.type == "number":
            return float(value)
        if self.type == "boolean":
            return value if isinstance(value, bool) else {"true": True, "false": False}[str(value)]
        return str(value)


@dataclass(frozen=True)
class Catalog:
    """models: by name; of_models: the hyperparameters that each reads, by name, in their order. A
    file's may be called as another model's and be something else. hyperparameters: those of the
    trainer's models.
    """

    models: Mapping[str, Model]
    of_models: Mapping[str, Mapping[str, Hyperparameter]]
    hyperparameters: Mapping[str, Hyperparameter]

    def of_model(self, model: str) -> Mapping[str, Hyperparameter]:
        """The hyperparameters that a model has."""
        return self.of_models[model]

    def with_file(self, name: str, declaration: Declaration) -> "Catalog":
        """Return a catalog with one more model: a group's own file, and the hyperparameters that it
        declares.
        """
        declared = {n: Hyperparameter(n, s) for n, s in declaration.hyperparameters.items()}
        common = {n: self.hyperparameters[n] for n in declaration.common(COMMON)}
        return replace(
            self,
            models={**self.models, name: OfFile(declaration.description, declaration.inputs)},
            of_models={**self.of_models, name: {**common, **declared}},
        )


COMMON = tuple(hyperparameters.schema(hyperparameters.Common))
"""The hyperparameters of every Keras model."""


@functools.cache
def load() -> Catalog:
    """The trainer's models and hyperparameters."""
    known = {name: Hyperparameter(name, words) for name, words in hyperparameters.schema().items()}
    of_models = {
        model: {name: known[name] for name in hyperparameters.of_model(model)} for model in MODELS
    }
    return Catalog(MODELS, of_models, known)


def flag(value: Value) -> str:
    """A value as the trainer's command line and Vertex's categories write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(word: str, names: Sequence[str]) -> str:
    return f"the {word}{'s' * (len(names) > 1)} {', '.join(names)}" if names else ""


def _is(value: Any, kind: str) -> bool:
    if kind == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    kinds: dict[str, tuple[type, ...]] = {
        "integer": (int,),
        "number": (int, float),
        "string": (str,),
    }
    return isinstance(value, kinds[kind])
