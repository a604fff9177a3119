"""Statistics of ranges of fingerprints, which merge to statistics of the whole table.

Floating-point sums depend on their order. So neighbouring ranges are merged in pairs, then pairs of
pairs and so on (Tree), in whatever order they arrive: the same rows give the same last digit.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from trainer.exporting.number_statistics import Numbers
from trainer.exporting.tables.findings import Findings
from trellis_contracts.dataset_features import Statistics

# Distinct terms counted per categorical feature; beyond that, the rarest are dropped.
MAX_TERMS = 1 << 16


@dataclass(frozen=True)
class Lengths:
    """Statistics of sequences: their number, their lengths, and all their elements.

    min, max: of the lengths, 0 without sequences.
    """

    rows: int = 0
    min: int = 0
    max: int = 0
    total: int = 0
    elements: Numbers = field(default_factory=Numbers)

    @classmethod
    def of(cls, lists: pa.LargeListArray) -> "Lengths":
        """Summarise lists without NULL."""
        lengths = pc.list_value_length(lists).to_numpy()
        if not len(lengths):
            return cls()
        elements = Numbers.of(pc.list_flatten(lists).to_numpy())
        total = int(lengths.sum())
        return cls(len(lengths), int(lengths.min()), int(lengths.max()), total, elements)

    def merge(self, other: "Lengths") -> "Lengths":
        """The statistics of the sequences of both."""
        if not self.rows or not other.rows:
            return self if self.rows else other
        return Lengths(
            self.rows + other.rows,
            min(self.min, other.min),
            max(self.max, other.max),
            self.total + other.total,
            self.elements.merge(other.elements),
        )

    def statistics(self) -> Statistics:
        """The statistics for dataset.json. There must be an element that is not NaN."""
        return dataclasses.replace(
            self.elements.statistics(),
            min_length=self.min,
            max_length=self.max,
            mean_length=self.total / self.rows,
        )


@dataclass(frozen=True)
class Terms:
    """Number of occurrences of each term, and of NULL (missing).

    Beyond MAX_TERMS distinct terms the rarest are dropped: a count may then be too low, by at most
    `forgotten`.
    """

    counts: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    missing: int = 0
    forgotten: int = 0

    @classmethod
    def of(cls, column: pa.LargeStringArray) -> "Terms":
        """Count a column of terms."""
        counted = column.drop_null().value_counts()
        counts = dict(
            zip(
                counted.field("values").to_pylist(),
                counted.field("counts").to_pylist(),
                strict=True,
            )
        )
        return _forget_rare(counts, len(column), column.null_count, 0)

    def merge(self, other: "Terms") -> "Terms":
        """The statistics of the rows of both."""
        counts = dict(self.counts)
        for term, count in other.counts.items():
            counts[term] = counts.get(term, 0) + count
        return _forget_rare(
            counts,
            self.rows + other.rows,
            self.missing + other.missing,
            self.forgotten + other.forgotten,
        )

    def most_frequent(self, number: int) -> list[tuple[str, int]]:
        """The most frequent terms with their counts; equal counts in the order of the terms."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:number]


def _forget_rare(counts: dict[str, int], rows: int, missing: int, forgotten: int) -> Terms:
    if len(counts) > MAX_TERMS:
        order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        counts = dict(order[:MAX_TERMS])
        forgotten += order[MAX_TERMS][1]
    return Terms(counts, rows, missing, forgotten)


Summary = Numbers | Lengths | Terms


@dataclass(frozen=True)
class RangeSummary:
    """Statistics of the rows of some ranges.

    train: the train split's summaries by column of a block ("numeric/3": the fourth of the
    vector). elsewhere: terms of the other splits. findings: keys that occur more than once.
    weights: sums over the train split by class, of a classification with weights.
    """

    train: dict[str, Summary] = field(default_factory=dict)
    elsewhere: dict[str, Terms] = field(default_factory=dict)
    findings: Findings = field(default_factory=Findings)
    weights: dict[str, float] = field(default_factory=dict)

    def merge(self, other: "RangeSummary") -> "RangeSummary":
        """The statistics of the rows of both."""
        findings = Findings()
        findings.merge(self.findings)
        findings.merge(other.findings)
        return RangeSummary(
            _merge_by_name(self.train, other.train),
            _merge_by_name(self.elsewhere, other.elsewhere),
            findings,
            {
                name: self.weights.get(name, 0.0) + other.weights.get(name, 0.0)
                for name in sorted({*self.weights, *other.weights})
            },
        )


def _merge_by_name(these: dict, others: dict) -> dict:
    return {
        name: these[name].merge(others[name])
        if name in these and name in others
        else these.get(name, others.get(name))
        for name in sorted({*these, *others})
    }


@dataclass
class Tree:
    """Summaries of ranges, merged as soon as both neighbours are present.

    nodes: (level, place) -> summary of the ranges from place * 2**level on, 2**level of them.
    """

    nodes: dict[tuple[int, int], RangeSummary] = field(default_factory=dict)

    def add(self, summary: RangeSummary, level: int, place: int) -> "Tree":
        """Add a summary, and merge it with its neighbour if that is present."""
        while (neighbour := self.nodes.pop((level, place ^ 1), None)) is not None:
            left, right = (summary, neighbour) if place % 2 == 0 else (neighbour, summary)
            summary, level, place = left.merge(right), level + 1, place // 2
        self.nodes[level, place] = summary
        return self

    def merge(self, others: Iterable["Tree"]) -> "Tree":
        """Add all nodes of other trees."""
        for other in others:
            for (level, place), summary in other.nodes.items():
                self.add(summary, level, place)
        return self

    @property
    def whole(self) -> RangeSummary:
        """The summary of all ranges, once all of them, a power of two, have been added."""
        (summary,) = self.nodes.values()
        return summary
