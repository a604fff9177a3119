"""Exports a table on this machine; the steps are those of the Beam pipeline."""

import dataclasses
from functools import partial

from trainer.exporting.objects import Objects
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables.parquet import Source
from trainer.exporting.tables.steps import Steps
from trainer.exporting.tables.summaries import Tree
from trainer.exporting.workers import Workers


def steps_of(settings: ExportSettings) -> Steps:
    """The steps, for one process."""
    return Steps(settings, Objects())


def run(settings: ExportSettings, sha256: str, processes: int) -> None:
    """Export a table. sha256: of the columns.json that was checked. Raises ExportError."""
    steps = steps_of(settings)
    source = steps.list_row_groups(sha256)
    # A table that fits into one range is written before other processes have started.
    useful = min(processes, len(source.work)) if source.range_bits else 1
    with Workers(partial(steps_of, settings), steps, useful) as workers:
        write(source, steps, workers)


def write(source: Source, steps: Steps, workers: Workers[Steps]) -> None:
    """Write the dataset of a source's row groups. Raises ExportError."""
    header = dataclasses.replace(source, work=())
    reports = workers.map(Steps.sort_rows, source.work, header)
    surveyed = steps.survey(header, reports)
    tree = Tree()
    numbers = range(surveyed.layout.ranges)
    summaries = workers.map(Steps.summarise, numbers, header, surveyed)
    for number, summary in zip(numbers, summaries, strict=True):
        tree.add(summary, 0, number)
    table = steps.plan(header, surveyed, tree.whole)
    shards = list(workers.map(Steps.write_shard, table.survey.work, table))
    steps.commit(table, shards)
