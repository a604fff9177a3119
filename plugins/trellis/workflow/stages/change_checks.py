"""Finds changes between two datasets beyond the limits of `source.changes`, in words.

Their texts have marks around what they quote of rows: trellis_contracts.withheld.
"""

from collections.abc import Iterator

from trellis.workflow.spec.changes import Changes, Limits
from trellis_contracts import drift
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.drift import Difference, Drift, Share
from trellis_contracts.finding import Finding
from trellis_contracts.withheld import quoted, some_of

_OF_KIND = {"label": "class {}", "categorical": "'{}'"}


def judge(before: DatasetDescription, now: DatasetDescription, limits: Changes) -> list[Finding]:
    """List the changes beyond the limits, by keys of `source.changes`, or "columns"."""
    label, *features = drift.measure(before, now)
    return [
        *_examples(before, now, limits.examples),
        *of_label(label, f"label '{label.name}'", limits),
        *(change for one in features for change in _columns(one)),
        *(change for one in features for change in of_feature(one, limits)),
    ]


def _examples(
    before: DatasetDescription, now: DatasetDescription, limit: float
) -> Iterator[Finding]:
    old, new = (dataset.examples("train") for dataset in (before, now))
    ratio = max(old, new) / max(min(old, new), 1)
    if ratio > limit:
        more = "more" if new > old else "fewer"
        text = f"{old:,} train examples then, {new:,} now: {ratio:.1f} times {more}"
        yield Finding("examples", None, f"{text}, and the limit is {limit:g}")


def of_label(label: Drift, title: str, limits: Limits) -> Iterator[Finding]:
    """List what is beyond the limits of a label, or of answers. title: what they are."""
    if label.remark:
        yield Finding("classes", label.name, f"{title} {label.remark}")
    if label.came:
        came = some_of(label.came, "class", "classes")
        yield Finding("classes", label.name, f"{title} has new classes: {came}")
    if label.went:
        went = some_of(label.went, "class", "classes")
        yield Finding("classes", label.name, f"{title} no longer has: {went}")
    yield from _distances(label, title, limits)


def _columns(one: Drift) -> Iterator[Finding]:
    title = f"feature '{one.name}'"
    if one.remark in ("new", "no longer there"):
        yield Finding("columns", one.name, f"{title} is {one.remark}")
    elif one.remark.startswith("was "):
        yield Finding("columns", one.name, f"{title} {one.remark}, and is {one.kind}")


def of_feature(one: Drift, limits: Limits) -> Iterator[Finding]:
    """List what is beyond the limits of a feature's values."""
    title = f"feature '{one.name}'"
    if one.missing and one.missing.beyond(limits.missing):
        moved = _moved(one.missing, limits.missing, one.missing.name)
        yield Finding("missing", one.name, f"{title}: {moved}")
    yield from _distances(one, title, limits)


def _distances(one: Drift, title: str, limits: Limits) -> Iterator[Finding]:
    if one.shift and one.shift.beyond(limits.mean):
        yield Finding("mean", one.name, f"{title} {_shifted(one.shift, limits.mean)}")
    if one.distance is None:
        return
    limit: float = getattr(limits, one.limit)
    if not one.distance.beyond(limit):
        return
    if isinstance(one.distance, Share):
        name = _OF_KIND.get(one.kind, "{}").format(one.distance.name)
        text = f"{title}: {_moved(one.distance, limit, quoted(name, 'one value'))}"
    else:
        text = (
            f"{title} has another distribution than before: Jensen-Shannon divergence "
            f"{one.distance.value:.2f} bits, and the limit is {limit:g}"
        )
    yield Finding(one.limit, one.name, text)


def _moved(share: Share, limit: float, what: str) -> str:
    return (
        f"the share of {what} was {share.before:.1%}, and is {share.now:.1%}; the limit is "
        f"{limit * 100:g} points"
    )


def _shifted(shift: Difference, limit: float) -> str:
    if abs(shift.value) == float("inf"):
        return "had the same value everywhere, and has another mean now"
    side = "above" if shift.value > 0 else "below"
    return (
        f"has a mean {abs(shift.value):.2f} standard deviations {side} that of before; the limit "
        f"is {limit:g}"
    )
