"""Validates the entries of `slices` against one another."""

import math
from collections.abc import Iterator, Sequence

from trellis.workflow.spec.problems import Problem
from trellis.workflow.validation.columns import folded
from trellis_contracts.slices import MOST_VALUES, SliceBy


def problems(entries: Sequence[SliceBy]) -> Iterator[Problem]:
    """List the entries that are there twice, or make too many slices."""
    seen = set()
    for n, entry in enumerate(entries):
        columns = [(folded(one.column), one.edges) for one in entry.columns]
        if len({name for name, _ in columns}) < len(columns):
            yield Problem(("slices", n), f"pairs '{entry.names[0]}' with itself")
        elif frozenset(columns) in seen:
            yield Problem(("slices", n), "is listed twice")
        seen.add(frozenset(columns))
        # Of columns without edges, only the rows tell.
        bins = math.prod(len(edges) + 1 for _, edges in columns)
        if bins > MOST_VALUES:
            yield Problem(("slices", n), f"makes {bins} slices, at most {MOST_VALUES}")
