"""Every key of an experiment file and of platform.yaml, printed from the classes that check it."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic.fields import FieldInfo

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.quantities import duration_text
from trellis.workflow.spec.sections import (
    Section,
    Variant,
    expected,
    fields,
    is_mapping,
    one_of,
    sections_of,
)
from trellis_contracts import metrics
from trellis_contracts.catalog import Catalog, Hyperparameter, flag
from trellis_contracts.tasks import TASKS

# Characters of a name, of which a longer one stands on a line of its own, and of what it means.
_NAME = 35
_WIDTH = 62

# Kinds of the author's own keys below a key; else names.
_CHOSEN = {"search": "HYPERPARAMETER"}


@dataclass(frozen=True)
class Entry:
    """One name of the reference. title: the name, with a star if it is a required key."""

    title: str
    meaning: str
    rule: str = ""


@dataclass(frozen=True)
class Chapter:
    """Entries of the reference under one heading."""

    heading: str
    entries: tuple[Entry, ...]


def lines(catalog: Catalog) -> Iterator[str]:
    """The reference, line by line."""
    for n, chapter in enumerate(chapters(catalog)):
        yield from [""] * (n > 0)
        yield chapter.heading
        yield from [""] * (n == 0)
        for entry in chapter.entries:
            yield from _lines(entry)


def chapters(catalog: Catalog) -> Iterator[Chapter]:
    """The reference, part by part. The catalog has what the trainer offers."""
    yield Chapter(
        "Keys of an experiment file, dags/experiments/NAME.yaml. A star marks required keys.",
        tuple(_keys((Experiment,), "")),
    )
    yield Chapter(
        "Keys of platform.yaml, the group's file beside its DAG files. A star marks required keys.",
        tuple(_keys((Platform,), "")),
    )
    yield Chapter(
        "Models, with the hyperparameters that each has",
        tuple(
            Entry(name, model.description, ", ".join(catalog.of_models[name]))
            for name, model in catalog.models.items()
        ),
    )
    yield Chapter(
        "Hyperparameters, to fix in `hyperparameters` or to vary in `tune.search`",
        tuple(_hyperparameter(name, known) for name, known in catalog.hyperparameters.items()),
    )
    yield Chapter(
        "Tasks, with the metrics that each has",
        tuple(Entry(task, ", ".join(metrics.of_task(task))) for task in TASKS),
    )
    yield Chapter(
        "Metrics, to tune for and to bound in `deploy.gate.require`",
        tuple(Entry(name, m.description, m.goal) for name, m in metrics.METRICS.items()),
    )


def _hyperparameter(name: str, known: Hyperparameter) -> Entry:
    only = f"{known.only}; " if known.only else ""
    rule = f"{only}{known.expected}; default {flag(known.schema['default'])}"
    return Entry(name, known.schema["description"], rule)


def _keys(kinds: tuple[type[Section], ...], prefix: str) -> Iterator[Entry]:
    """The keys of a section; if it has variants, of all of them."""
    having: dict[tuple[str, str | None], list[type[Section]]] = {}
    for kind in kinds:
        for name, info in fields(kind):
            # Variants may mean different things by the same key.
            having.setdefault((name, info.description), []).append(kind)
    # First the keys that select a variant, last those that all variants have.
    order = sorted(having, key=lambda k: (not _selects(having[k][0], k[0]), len(having[k])))
    for name, meaning in order if len(kinds) > 1 else having:
        some = having[name, meaning]
        only = "" if len(some) == len(kinds) else _only(some, name)
        yield from _key(dict(fields(some[0]))[name], name, prefix, only, _selects(some[0], name))


def _key(info: FieldInfo, name: str, prefix: str, only: str, selects: bool) -> Iterator[Entry]:
    inner, choice = sections_of(info.annotation), one_of(info)
    # A key that selects a variant is not required: another one may take its place.
    title = f"{prefix}{name}{'*' if info.is_required() and not selects else ''}"
    rule = (choice.text if choice else "") if inner else _rule(info)
    yield Entry(title, info.description or "", f"{only}{rule}")
    if inner:
        chosen = f"{_CHOSEN.get(name, 'NAME')}." if is_mapping(info) else ""
        yield from _keys(inner, f"{prefix}{name}.{chosen}")


def _selects(kind: type[Section], name: str) -> bool:
    return issubclass(kind, Variant) and name in kind.opening


def _only(kinds: list[type[Section]], name: str) -> str:
    """`only for images; `: the variants that have a key, unless it is the key that selects one."""
    titles = [
        kind.title for kind in kinds if issubclass(kind, Variant) and name not in kind.opening
    ]
    return f"only for {' and '.join(titles)}; " if titles else ""


def _rule(info: FieldInfo) -> str:
    if info.is_required() or info.default is None:
        return expected(info)
    return f"{expected(info)}; default {_default(info.default)}"


def _default(value: Any) -> str:
    if isinstance(value, timedelta):
        return duration_text(value)
    if isinstance(value, tuple):
        return str(list(value))
    return "none" if value in ({}, []) else flag(value)


def _lines(entry: Entry) -> Iterator[str]:
    wrapped = [line for text in (entry.meaning, entry.rule) for line in textwrap.wrap(text, _WIDTH)]
    title = entry.title
    if len(title) > _NAME:
        yield f"  {title}"
        title = ""
    for n, line in enumerate(wrapped):
        yield f"  {title if n == 0 else '':<{_NAME}} {line}"
