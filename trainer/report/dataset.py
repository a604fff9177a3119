"""Facts of the report's dataset section beyond dataset.json: groups, and why lines were left
out.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer import storage
from trainer.comparison.held_out_split import HeldOutSplit
from trainer.comparison.run_folder import Run
from trellis_contracts.changes import DatasetChanges
from trellis_contracts.dataset import REJECTED_FILE_NAME

_REASONS = 10
_LINES = 100_000
# The parts that differ between two lines with the same trouble: numbers, and what is quoted.
_PARTICULAR = re.compile(r"'[^']*'|\d+")


@dataclass(frozen=True)
class Reason:
    """A reason why lines of the source became no example. uri: of the first of them."""

    text: str
    count: int
    uri: str


@dataclass(frozen=True)
class DatasetSection:
    """groups: of the test split; None unless groups decide the split. reasons: by falling count.

    left_out: lines with a rarer reason than those shown. changes: the content of changes.json,
    None of a run without one.
    """

    groups: int | None
    reasons: Sequence[Reason]
    left_out: int
    changes: DatasetChanges | None


def dataset_section(run: Run, split: HeldOutSplit) -> DatasetSection:
    """Lay out what is known of the run's dataset."""
    rejected = _rejected(storage.join(run.dataset_uri, REJECTED_FILE_NAME))
    counts: Counter[str] = Counter()
    first: dict[str, Mapping] = {}
    for line in rejected:
        kind = _PARTICULAR.sub("…", line["reason"])
        counts[kind] += 1
        first.setdefault(kind, line)
    reasons = [
        # A reason that only one line has needs no abbreviation.
        Reason(first[kind]["reason"] if count == 1 else kind, count, first[kind]["uri"])
        for kind, count in counts.most_common(_REASONS)
    ]
    return DatasetSection(
        groups=split.groups.count if split.groups else None,
        reasons=reasons,
        left_out=len(rejected) - sum(reason.count for reason in reasons),
        changes=run.changes,
    )


def _rejected(uri: str) -> list[Mapping]:
    """The first lines of rejected.jsonl; none if it was deleted."""
    try:
        with storage.local_path(uri).open(encoding="utf-8") as lines:
            return [json.loads(line) for line, _ in zip(lines, range(_LINES), strict=False)]
    except FileNotFoundError:
        return []
