"""Hyperparameters as parameters of a single run, with the trainer's bounds.

The form shows what a run without changes has: the file's value, or the trainer's default. One that
is searched is empty there; a value fixes it for this run, and the others are searched.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from airflow.sdk import Param

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import FileError, Problem
from trellis.workflow.spec.tuning import Choices, Range
from trellis.workflow.validation.file import catalog_of, known_to
from trellis_contracts.catalog import Hyperparameter

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum")


def params(experiment: Experiment, taken: Iterable[str]) -> dict[str, Param]:
    """The parameters by name. taken: names of the run's other parameters."""
    found = {}
    for name, known in _known(experiment, taken).items():
        value = _shown(known, experiment)
        searched = experiment.search.get(known.name)
        schema = {key: known.schema[key] for key in _BOUNDS if key in known.schema}
        schema["type"] = known.type
        if "by_class" in known.schema:
            schema["examples"] = schema.pop("enum")
        without = ""
        if searched is not None:
            schema["type"] = ["null", known.type]
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
            without = f"; empty: searched, {_range(searched)}"
        found[name] = Param(
            value,
            title=known.name.replace("_", " ").capitalize(),
            description=f"{known.schema['description']}{without} (hyperparameters.{known.name})",
            section="Hyperparameters",
            **schema,
        )
    return found


def changes(
    experiment: Experiment, values: Mapping[str, Any], taken: Iterable[str]
) -> dict[tuple[str, ...], Any]:
    """Return the changes of the file, in the form of `with_changes`.

    Raises FileError if nothing is left to be searched.
    """
    found: dict[tuple[str, ...], Any] = {}
    left = set(experiment.search)
    for name, known in _known(experiment, taken).items():
        if values[name] == _shown(known, experiment):
            continue
        found["hyperparameters", known.name] = values[name]
        if known.name in left:
            found["tune", "search", known.name] = None
            left.remove(known.name)
    if experiment.search and not left:
        fixed = ", ".join(experiment.search)
        message = f"every hyperparameter that is searched has a value ({fixed}): leave one empty"
        raise FileError(
            f"The parameters of this run of {experiment.name}", [Problem(("tune",), message)]
        )
    return found


def _known(experiment: Experiment, taken: Iterable[str]) -> dict[str, Hyperparameter]:
    """Return the hyperparameters that have an effect, by the parameter's name.

    A group's own model may call one as a parameter of the run is called.
    """
    task, taken = experiment.task, frozenset(taken)
    inputs = catalog_of(experiment).models[experiment.model].reads(experiment.source.inputs)
    return {
        f"model_{name}" if name in taken else name: known
        for name, known in known_to(experiment).items()
        if known.has_effect(inputs, task)
    }


def _shown(known: Hyperparameter, experiment: Experiment) -> Any:
    if known.name in experiment.search:
        return None
    return experiment.hyperparameters.get(known.name, known.schema["default"])


def _range(searched: Range) -> str:
    if isinstance(searched, Choices):
        return f"one of {', '.join(map(str, searched.choose))}"
    return f"{searched.from_:g} to {searched.to:g}"
