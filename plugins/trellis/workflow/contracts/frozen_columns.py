"""The columns of a source that are frozen with its rows and are no features: those to keep, and
those that the test split is divided by.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from trellis.workflow.spec.experiment import Experiment

_NUMBERS = ("INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC")
_VALUES = (*_NUMBERS, "BOOL", "STRING", "DATE", "DATETIME", "TIMESTAMP")

# Types by use, and why. A Parquet file holds these as they are.
_KEPT = (
    (*_VALUES, "ARRAY<INT64>", "ARRAY<FLOAT64>"),
    "what is kept is a plain value or an ARRAY of numbers; CAST it in a query",
)
_SLICED = (_VALUES, "a slice is of one plain value; CAST it in a query")
_BINNED = (_NUMBERS, "only numbers have bins")


class _Column(Protocol):
    @property
    def name(self) -> str: ...


C = TypeVar("C", bound=_Column)


def find(experiment: Experiment, column: Callable[..., C], texts: Mapping[str, bool]) -> list[C]:
    """The columns to freeze beside the features and the label.

    column: finds one by its key in the file, its name, its types and why; it notes what is wrong.
    texts: the features and the label, by name in lower case, and whether the frozen rows have them
    as text.
    """
    kept = [
        column(f"source.keep[{n}]", name, *_KEPT) for n, name in enumerate(experiment.source.keep)
    ]
    sliced = [
        (one, column(f"slices[{n}]", one.column, *(_BINNED if one.edges else _SLICED)))
        for n, entry in enumerate(experiment.slices)
        for one in entry.columns
    ]
    found = {one.name.lower(): one for one in kept}
    for wanted, one in sliced:
        name = one.name.lower()
        # Bins are of the number.
        if name not in texts or (wanted.edges and texts[name]):
            found.setdefault(name, one)
    return list(found.values())
