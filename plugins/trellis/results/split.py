"""`trellis export-split`: a run's frozen rows as files, to train on them elsewhere.

    FOLDER/train.parquet, validation.parquet, test.parquet    key, the features under their names in
                                       the source, and `label`; of the test split only if asked for
    FOLDER/dataset.json                kinds, vocabularies and statistics of the features, classes

The rows are those that BigQuery froze for the run, before the export converts them: predictions of
the test split's keys compete as `baselines.files`.
"""

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trellis.results.files import frozen_rows, read
from trellis.results.selection import NoRunError
from trellis_contracts.columns import WEIGHT
from trellis_contracts.dataset import FILE_NAME, SPLITS, DatasetDescription
from trellis_contracts.plan import PlanFile

_LABEL = "label"


def export(client: Any, plan: PlanFile, folder: Path, *, answers: bool) -> list[str]:
    """Write the files; returns a line for each. folder: must not exist, or be empty. answers: write
    the labels of the test split, too.

    Images are addresses. Raises NoRunError if the rows are gone, or the folder has files.
    """
    if folder.exists() and any(folder.iterdir()):
        raise NoRunError(f"{folder} has files already: name an empty folder, or a new one")
    text = read(client, f"{plan.dataset.uri}{FILE_NAME}")
    if text is None:
        raise NoRunError(f"there is no dataset in {plan.dataset.uri}: the export has not ended")
    dataset = DatasetDescription.from_json(text.decode(), plan.dataset.uri)
    rows = [*frozen_rows(client, plan)]
    if not rows:
        raise NoRunError(f"the rows of this dataset are no longer in {plan.dataset.uri}source/")
    folder.mkdir(parents=True, exist_ok=True)
    files = {split: _file(dataset, split, answers) for split in SPLITS}
    counts = dict.fromkeys(SPLITS, 0)
    with contextlib.ExitStack() as stack:
        writers: dict[str, pq.ParquetWriter] = {}
        for blob in rows:
            table = pq.read_table(pa.BufferReader(blob.download_as_bytes()))
            for split, columns in files.items():
                part = table.filter(pc.equal(table["split"].cast(pa.string()), split))
                part = part.select(list(columns)).rename_columns(list(columns.values()))
                if split not in writers:
                    writer = pq.ParquetWriter(folder / f"{split}.parquet", part.schema)
                    writers[split] = stack.enter_context(writer)
                writers[split].write_table(part)
                counts[split] += len(part)
    (folder / FILE_NAME).write_bytes(text)
    without = "" if answers else ", without labels"
    return [
        f"{folder / split}.parquet: {counts[split]:,} rows{without if split == 'test' else ''}"
        for split in SPLITS
    ]


def _file(dataset: DatasetDescription, split: str, answers: bool) -> dict[str, str]:
    """The columns of a split's file: names in the snapshot, and in the file."""
    columns = {"key": "key"}
    columns |= {feature.column: feature.name for feature in dataset.features}
    if dataset.weight:
        columns[WEIGHT] = dataset.weight.column
    if split != "test" or answers:
        columns[_LABEL] = _LABEL
    return columns
