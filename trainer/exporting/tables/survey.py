"""Combines the reports of all workers: splits, classes and shards of a table.

Runs in one place; the reports are small, whatever the number of rows. Refuses a table on which no
model could be trained.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trainer.exporting import ExportError
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import labels
from trainer.exporting.tables.findings import Findings
from trainer.exporting.tables.layout import Layout, ShardWork, SortedFile, cut
from trainer.exporting.tables.parquet import Report
from trainer.exporting.tables.rejected import RejectedRow
from trellis_contracts.columns import Columns
from trellis_contracts.dataset import SPLITS, Counts


@dataclass(frozen=True)
class Survey:
    """Facts about all rows. classes: () for regression; of masks those that are named, which are
    counted when the masks are read. nans: number of NaNs by column. rejected:
    lines of a manifest that are no rows.
    """

    layout: Layout
    classes: tuple[str, ...]
    counts: dict[str, Counts]
    work: tuple[ShardWork, ...]
    nans: dict[str, int]
    rejected: tuple[RejectedRow, ...] = ()


def survey(settings: ExportSettings, columns: Columns, reports: Iterable[Report]) -> Survey:
    """Combine the reports.

    Raises ExportError if a row is unusable, a split is empty, or the classes cannot be learned.
    """
    files: list[SortedFile] = []
    findings = Findings()
    nans: dict[str, int] = {}
    named: dict[str, np.ndarray] = {}
    rejected: list[RejectedRow] = []
    for report in reports:
        files += report.files
        findings.merge(report.findings)
        rejected += report.rejected
        for column, count in report.nans.items():
            nans[column] = nans.get(column, 0) + count
        for name, by_split in report.labels.items():
            named[name] = named.get(name, 0) + by_split
    findings.refuse(settings.source)
    layout = Layout(tuple(sorted(files, key=lambda file: file.name)))
    rows = {name: int(layout.rows(index).sum()) for index, name in enumerate(SPLITS)}
    for name in columns.needed:
        if not rows[name]:
            why = "the table is too small for its share of " if columns.split.ranges else ""
            raise ExportError(
                f"the {name} split has no row ({rows}); {why}"
                f"{dict(columns.split.ranges) or columns.split.rule}: take more rows, or give that "
                "split a larger share"
            )
    classes = labels.of(columns).classes(named)
    counts = {
        name: Counts(rows[name], {c: int(named[c][index]) for c in classes if c in named})
        for index, name in enumerate(SPLITS)
    }
    # With their bytes there may be more, see Steps.plan.
    shards = min(settings.shards, rows["train"]) if settings.by_bytes else settings.shards
    return Survey(layout, classes, counts, tuple(cut(rows, shards)), nans, tuple(rejected))
