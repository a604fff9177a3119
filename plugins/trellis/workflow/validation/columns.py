"""Roles of a source's columns that exclude one another.

BigQuery ignores case in the names of columns, so every comparison of names here goes through
`folded`: https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical#case_sensitivity
"""

from collections.abc import Iterator, Mapping, Sequence

from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.problems import Problem, did_you_mean
from trellis.workflow.spec.source import RowSource
from trellis.workflow.spec.split import StratifiedSplit, TimeSplit

_LISTS = ("features", "categorical", "text", "image_columns")


def folded(name: str | None) -> str:
    """A column's name as BigQuery compares it; empty for none."""
    return (name or "").lower()


def problems(source: RowSource) -> Iterator[Problem]:
    """List the columns of a file that exclude one another."""
    label, *more = source.label_columns.items()
    others = dict([label, ("partition", source.partition), *more])
    for role, column in (("key", source.key_), label, *more):
        for other, name in others.items():
            if other != role and folded(name) == folded(column):
                where = ("source", "label", other) if other in dict(more) else ("source", other)
                yield Problem(where, f"'{name}' is the {role} already")
        message = f"is the {role}; as a feature it would give the answer away"
        yield from _listed(source, column, message)
    yield from _split(source)
    yield from _weight(source)
    yield from _kinds(source)
    yield from _images(source)
    yield from _kept(source)


def _listed(source: RowSource, column: str, message: str) -> Iterator[Problem]:
    """A problem wherever a column is named as a feature, or as one of a kind."""
    for role in _LISTS:
        for n, name in enumerate(getattr(source, role) or []):
            if folded(name) == folded(column):
                place = name if role == "image_columns" else n
                yield Problem(("source", role, place), f"'{name}' {message}")


def _kinds(source: RowSource) -> Iterator[Problem]:
    """Columns that are named twice, or for a kind of feature."""
    features = {folded(name) for name in source.features or []}
    kinds: Mapping[str, Sequence[str]] = {"categorical": source.categorical, "text": source.text}
    for role, columns in {"features": source.features or [], **kinds}.items():
        for n, column in enumerate(columns):
            if folded(column) in map(folded, columns[:n]):
                yield Problem(("source", role, n), f"'{column}' is listed twice")
    for role, columns in kinds.items():
        for n, column in enumerate(columns):
            if source.features is not None and folded(column) not in features:
                hint = did_you_mean(column, source.features)
                yield Problem(("source", role, n), f"'{column}' is not one of the features; {hint}")
    for n, column in enumerate(source.text):
        if folded(column) in map(folded, source.categorical):
            message = f"'{column}' is one of `categorical` too; a column is either"
            yield Problem(("source", "text", n), message)


def _images(source: RowSource) -> Iterator[Problem]:
    """Columns of images that are none, or named for another kind of feature."""
    features = {folded(name) for name in source.features or []}
    if source.max_rejected is not None and not source.image_columns:
        message = "is for images, and there are no `image_columns`: leave it out"
        yield Problem(("source", "max_rejected"), message)
    for column in source.image_columns:
        where = ("source", "image_columns", column)
        if source.features is not None and folded(column) not in features:
            hint = did_you_mean(column, source.features)
            yield Problem(where, f"'{column}' is not one of the features; {hint}")
        for role in ("categorical", "text"):
            if folded(column) in map(folded, getattr(source, role)):
                yield Problem(where, f"'{column}' is one of `{role}` too; a column is either")


def _kept(source: RowSource) -> Iterator[Problem]:
    """Columns to keep that a run has in any case, or that are named twice."""
    label, *more = source.label_columns.items()
    had = dict([("key", source.key_), label, ("weight", source.weight), *more])
    for n, column in enumerate(source.keep):
        where = ("source", "keep", n)
        for role, name in had.items():
            if folded(name) == folded(column):
                yield Problem(where, f"'{column}' is the {role}, which every run keeps")
        if folded(column) in map(folded, source.keep[:n]):
            yield Problem(where, f"'{column}' is listed twice")
        for role in _LISTS:
            if folded(column) in map(folded, getattr(source, role) or []):
                yield Problem(where, f"'{column}' is one of `{role}`; features are kept anyway")


def _weight(source: RowSource) -> Iterator[Problem]:
    """Roles that the column of weights cannot have beside."""
    if source.weight is None:
        return
    roles = {
        "key": source.key_,
        **source.label_columns,
        "partition": source.partition,
        "split": source.split.decided_by,
    }
    for role, column in roles.items():
        if folded(column) == folded(source.weight):
            yield Problem(("source", "weight"), f"'{column}' is the column of `{role}` already")
    yield from _listed(source, source.weight, "is the weight, and no feature")


def _split(source: RowSource) -> Iterator[Problem]:
    """Roles that the column which decides an example's split cannot have."""
    split = source.split
    if split.decided_by is None:
        return
    name, where = folded(split.decided_by), _opening(split)
    if folded(source.key_) == name:
        yield Problem(where, f"'{source.key_}' is the key, which decides where no rule is given")
    if isinstance(split, StratifiedSplit):
        return
    if folded(source.label_column) == name:
        yield Problem(
            where, f"'{source.label_column}' is the label; to divide each class, `stratify` it"
        )
    if isinstance(split, TimeSplit):
        if folded(source.partition) == name:
            message = f"'{source.partition}' is the partition: a run's interval is of one split"
            yield Problem(where, message)
        return
    message = f"decides the split ({', '.join(split.opening)}), and is no feature"
    yield from _listed(source, split.decided_by, message)


def _opening(split: object) -> Where:
    return ("source", "split", *getattr(split, "opening", ()))
