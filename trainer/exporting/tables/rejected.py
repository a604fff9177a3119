"""Rows that become no example, since an image of theirs is unusable."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trainer.exporting import ExportError
from trellis_contracts.columns import Columns
from trellis_contracts.dataset import REJECTED_FILE_NAME, Counts
from trellis_contracts.withheld import quoted

_SHOWN = 5


class RejectedRow(NamedTuple):
    """One row without an example: a line of rejected.jsonl. feature, uri: of its first unusable
    image. label: as the snapshot has it.
    """

    key: str
    feature: str
    uri: str
    label: str
    reason: str
    split: str

    def to_json(self) -> str:
        """One line of JSON, without the line break."""
        return json.dumps(self._asdict(), ensure_ascii=False)


def without(
    counts: Mapping[str, Counts], rejected: Sequence[RejectedRow], columns: Columns
) -> dict[str, Counts]:
    """Counts of the splits without these rows. counts: with them."""
    examples = Counter(row.split for row in rejected)
    classes = Counter(
        (row.split, name)
        for row in rejected
        for name in (columns.classes_in(row.label) if columns.has_names else [])
    )
    return {
        split: Counts(
            given.examples - examples[split],
            {name: count - classes[split, name] for name, count in given.classes.items()},
        )
        for split, given in counts.items()
    }


def check_rejected(
    rejected: Sequence[RejectedRow], counts: Mapping[str, Counts], columns: Columns
) -> None:
    """Raise ExportError if more rows were rejected than columns.json allows, or nothing is left of
    a split, or of a class in train. counts: without the rejected rows.
    """
    if not rejected:
        return
    rows = len(rejected) + sum(split.examples for split in counts.values())
    if len(rejected) > columns.max_rejected * rows:
        raise ExportError(
            f"{len(rejected)} of {rows} rows are rejected ({len(rejected) / rows:.1%}; the limit "
            f"is {columns.max_rejected:.1%}):{_listed(rejected)}\n"
            "Correct the addresses or the images, leave these rows out in a query, or raise "
            "source.max_rejected"
        )
    for split in columns.needed:
        if not counts[split].examples:
            raise ExportError(
                f"every row of the {split} split was rejected:{_listed(rejected, split)}"
            )
    if absent := {name for name, count in counts["train"].classes.items() if not count}:
        of_absent = [row for row in rejected if absent.intersection(columns.classes_in(row.label))]
        raise ExportError(
            f"all train rows were rejected of {len(absent)} of {len(counts['train'].classes)} "
            f"classes:{_listed(of_absent, 'train')}"
        )


def _listed(rejected: Sequence[RejectedRow], split: str | None = None) -> str:
    rows = [row for row in rejected if split in (None, row.split)]
    shown = "".join(
        f"\n  key {row.key!r}, {row.feature} {row.uri or 'without an address'}: {row.reason}"
        for row in rows[:_SHOWN]
    )
    more = len(rows) - _SHOWN
    shown += f"\n  and {more} more, all in {REJECTED_FILE_NAME}" if more > 0 else ""
    return quoted(shown, _reasons(rows))


def _reasons(rows: Sequence[RejectedRow]) -> str:
    """The reasons, the most frequent first: they tell of files' formats, nothing of rows."""
    found = Counter(f"{row.feature}: {row.reason}" for row in rows).most_common()
    lines = [f"\n  {count} with {reason}" for reason, count in found[:_SHOWN]]
    more = sum(count for _, count in found[_SHOWN:])
    lines += [f"\n  {more} for other reasons"] if more else []
    return "".join([*lines, f"\n  see {REJECTED_FILE_NAME}"])
