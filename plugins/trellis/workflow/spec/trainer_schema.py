"""What the workflow knows of the trainer: tasks, metrics, models, hyperparameters.

trainer_schema.json, beside this module, is printed by `python -m trainer.task --schema` in the job
image's environment; a test fails when the two differ. So an experiment is checked in full by a
process that has no TensorFlow.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trellis_contracts.model_file import Declaration, fits

PATH = Path(__file__).with_suffix(".json")
VERSION = 1

Value = bool | int | float | str


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
        """Why the trainer would refuse `value`; None if it takes it."""
        if not _is(value, self.type) or not fits(self.schema, value):
            return f"expected {self.expected}"
        return None

    @property
    def expected(self) -> str:
        """`a number above 0 and at most 1`; `one of adam, sgd`; ... in the trainer's words."""
        return self.schema["expected"]

    @property
    def only(self) -> str:
        """`only for images`, `only for the tasks ...`; nothing where it has an effect on all."""
        inputs = " and ".join(f"{kind}s" for kind in self.schema.get("inputs", ()))
        parts = [inputs, _listed("task", self.schema.get("tasks", ()))]
        return " and ".join(f"only for {part}" for part in parts if part)

    def has_effect(self, kind: str, task: str) -> bool:
        """Whether a value changes anything with this kind of source, for this task. `metrics` may
        limit it further.
        """
        return kind in self.schema.get("inputs", [kind]) and task in self.schema.get(
            "tasks", [task]
        )

    @property
    def metrics(self) -> list[str]:
        """The only metrics on which it has an effect; none: it has one on all."""
        return self.schema.get("metrics", [])

    @property
    def is_tunable(self) -> bool:
        """Whether trials can be compared by it."""
        return bool(self.schema.get("tunable", True))

    @property
    def idle_with(self) -> Mapping[str, list[str]]:
        """Other hyperparameters, each with the words with which this one has no effect."""
        return self.schema.get("idle_with", {})

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
            return value if isinstance(value, bool) else {"true": True, "false": False}[value]
        return str(value)


@dataclass(frozen=True)
class TrainerSchema:
    """The trainer's side of the contract, as it stands in trainer_schema.json.

    image_rule: number of the rule by which image files become a dataset's records. own_model: what
    holds of every model's own file.
    """

    image_tag: str
    image_rule: int
    commands: Mapping[str, list[str]]
    tasks: Mapping[str, Mapping[str, Any]]
    metrics: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, Mapping[str, Any]]
    own_model: Mapping[str, Any]
    hyperparameters: Mapping[str, Hyperparameter]

    def of_model(self, model: str) -> dict[str, Hyperparameter]:
        """The hyperparameters that a model has."""
        return {name: self.hyperparameters[name] for name in self.models[model]["hyperparameters"]}

    @property
    def common(self) -> list[str]:
        """The hyperparameters of every model."""
        return list(self.own_model["hyperparameters"])

    def with_file(self, name: str, declaration: Declaration) -> "TrainerSchema":
        """With one more model: a group's own file, and the hyperparameters that it declares."""
        declared = {n: Hyperparameter(n, s) for n, s in declaration.hyperparameters.items()}
        common = [n for n in self.common if n not in declaration.without]
        model = {
            "description": declaration.description,
            "inputs": list(declaration.inputs),
            "hyperparameters": [*common, *declared],
        }
        return replace(
            self,
            models={**self.models, name: model},
            hyperparameters={**self.hyperparameters, **declared},
        )


def flag(value: Value) -> str:
    """A value as the trainer's command line and Vertex's categories write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@functools.cache
def load(path: Path = PATH) -> TrainerSchema:
    """The schema of the trainer. Raises ValueError if it is of another version."""
    raw = json.loads(path.read_text())
    if raw["version"] != VERSION:
        raise ValueError(
            f"{path} has version {raw['version']}, this workflow reads version {VERSION}: "
            "deploy DAGs and job image of one release"
        )
    hyperparameters = {n: Hyperparameter(n, s) for n, s in raw["hyperparameters"].items()}
    parts = ("image_tag", "image_rule", "commands", "tasks", "metrics", "models", "own_model")
    return TrainerSchema(**{p: raw[p] for p in parts}, hyperparameters=hyperparameters)


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
