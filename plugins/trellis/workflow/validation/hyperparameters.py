"""Hyperparameters of an experiment, fixed and searched, against the trainer's."""

from collections.abc import Collection, Iterator
from typing import Any

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.problems import Problem, did_you_mean
from trellis.workflow.spec.sections import unexpected
from trellis.workflow.spec.source import Source
from trellis.workflow.spec.tuning import Choices, Range, Span
from trellis_contracts.catalog import Catalog, Hyperparameter
from trellis_contracts.models import words_for
from trellis_contracts.tasks import TASKS


def problems(experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    """List the values that the trainer would refuse, or that would have no effect."""
    if experiment.model not in catalog.models:
        return
    known = catalog.of_model(experiment.model)
    tune, search = experiment.tune, experiment.search
    for name, value in experiment.hyperparameters.items():
        where = ("hyperparameters", name)
        if name not in known:
            yield Problem(where, _unknown(name, known, experiment.model))
        elif name in search:
            yield Problem(where, "fixed here and searched in `tune`: remove one of the two")
        elif idle := _without_effect(known[name], experiment, catalog):
            yield Problem(where, idle)
        elif wrong := known[name].problem_with(value):
            yield Problem(where, unexpected(value, wrong.removeprefix("expected ")))
    for name, range_ in search.items():
        place = ("tune", "search", name)
        if name not in known:
            yield Problem(place, _unknown(name, known, experiment.model))
        elif idle := _without_effect(known[name], experiment, catalog):
            yield Problem(place, idle)
        elif tune is not None:
            for part, message in _range(range_, known[name], tune.algorithm):
                yield Problem((*place, *part), message)


def _unknown(name: str, known: Any, model: str) -> str:
    return f"the model '{model}' has no hyperparameter '{name}'; {did_you_mean(name, known)}"


def _without_effect(
    parameter: Hyperparameter, experiment: Experiment, catalog: Catalog
) -> str | None:
    """Return why the setting would have no effect, or cannot have one."""
    model, task = catalog.models[experiment.model], experiment.task
    inputs = model.reads(experiment.source.inputs)
    if task in TASKS and not parameter.has_effect(inputs, task):
        source = words_for(inputs)
        return f"has no effect for {task} on a source of {source}, {parameter.only}: leave it out"
    given = possible(experiment, catalog, parameter.name)
    if task in TASKS and (wrong := parameter.unfit(given, task)):
        return f"{wrong}: choose another {parameter.name}"
    # A file of another library may call something else so.
    mixed = parameter is catalog.hyperparameters.get("mix") and {
        *possible(experiment, catalog, "mix")
    } != {"none"}
    if mixed and (why := _unmixable(experiment.source, inputs)):
        return why
    for other, words in parameter.idle_with.items():
        given = possible(experiment, catalog, other)
        if given and {*given} <= {*words}:
            return (
                f"has no effect with {other} {' or '.join(given)}: leave it out, or choose "
                f"another {other}"
            )
    return None


def _unmixable(source: Source, read: Collection[str]) -> str | None:
    """Return why examples cannot be mixed of two, as the trainer's check of data does."""
    if len(read) > 1:
        return "images are mixed, and the columns beside them cannot be: leave it out"
    if len(source.image_columns) > 1:
        return f"mixes one image, and an example has {len(source.image_columns)}: leave it out"
    return "an image mixed of two has no weight: leave it out" if source.weight else None


def possible(experiment: Experiment, catalog: Catalog, name: str) -> list[str]:
    """The values, as text, that a hyperparameter may have in a run: those to choose from, the ends
    of a range, the fixed one, or the default.
    """
    searched = experiment.search.get(name)
    if isinstance(searched, Choices):
        return [str(word) for word in searched.choose]
    if searched is not None:
        return [str(end) for end in (searched.from_, searched.to)]
    known = {**catalog.hyperparameters, **catalog.of_models.get(experiment.model, {})}
    default = known[name].schema["default"]
    return [str(experiment.hyperparameters.get(name, default))]


def _range(range_: Range, parameter: Hyperparameter, algorithm: str) -> Iterator[tuple[Where, str]]:
    """Problems, each with its place below the range."""
    if isinstance(range_, Choices):
        return _choices(range_.choose, parameter)
    return _span(range_, parameter, algorithm)


def _span(span: Span, parameter: Hyperparameter, algorithm: str) -> Iterator[tuple[Where, str]]:
    if parameter.type not in ("number", "integer") or "enum" in parameter.schema:
        yield (), f"{parameter.name} is {parameter.expected}: use {{choose: [...]}}"
        return
    low, high = span.from_, span.to
    for end, value in (("from", low), ("to", high)):
        if wrong := parameter.problem_with(value):
            yield (end,), unexpected(value, wrong.removeprefix("expected "))
    if low >= high:
        yield ("from",), f"got {low!r}, which is not below `to: {high!r}`"
    elif span.scale == "log" and low <= 0:
        yield ("from",), f"got {low!r}; a log scale starts above 0"
    if algorithm == "grid" and parameter.type == "number":
        yield (), "a grid needs discrete values: use {choose: [...]}, or another algorithm"


def _choices(choices: list[Any], parameter: Hyperparameter) -> Iterator[tuple[Where, str]]:
    if len(choices) < 2 or len(set(choices)) < len(choices):
        yield ("choose",), "expected at least two different values"
    for n, value in enumerate(choices):
        if wrong := parameter.problem_with(value):
            yield ("choose", n), unexpected(value, wrong.removeprefix("expected "))
