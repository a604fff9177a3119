"""The settings of an export."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExportSettings:
    """The flags of trainer.export, checked; `python -m trainer.export --help` explains them.

    source: address of the rows' columns.json. output: address of the dataset's folder. shards:
    number of train shards. by_bytes: at least so many, and more for files of 150 MB. dry_run: only
    say what would be written. part: of the source's folds; None: its own splits.
    """

    source: str
    output: str
    fingerprint: str
    shards: int
    dry_run: bool = False
    part: str | None = None
    by_bytes: bool = False
