"""`trellis export-split`: a run's frozen rows as files, to train on them elsewhere.

    FOLDER/train.parquet, validation.parquet, test.parquet    key, the features under their names in
                                       the source, and `label`; of the test split only if asked for
    FOLDER/dataset.json                kinds, vocabularies and statistics of the features, classes
    FOLDER/images/BUCKET/OBJECT        of gs://BUCKET/OBJECT: the files of the images, if asked for

The rows are those that BigQuery froze for the run, before the export converts them: predictions of
the test split's keys compete as `baselines.files`.
"""

import contextlib
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trellis.results.files import blob, frozen_rows, read
from trellis.results.selection import NoRunError
from trellis_contracts.columns import REJECTED, WEIGHT
from trellis_contracts.dataset import (
    FILE_NAME,
    REJECTED_FILE_NAME,
    SPLITS,
    DatasetDescription,
    rejected_keys,
)
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.plan import PlanFile

_LABEL = "label"
_AT_ONCE = 1000
"""Images between two lines of progress."""


def export(
    client: Any, plan: PlanFile, folder: Path, *, answers: bool, images: bool = False
) -> list[str]:
    """Write the files; returns a line for each. folder: must not exist, or be empty. answers: write
    the labels of the test split, too. images: and the files of the images, whose addresses the rows
    have.

    Raises NoRunError if the rows or an image are gone, or the folder has files.
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
    pictures = [feature.column for feature in dataset.features_of(IMAGE)] if images else []
    addresses: set[str] = set()
    rejected = read(client, f"{plan.dataset.uri}{REJECTED_FILE_NAME}") or b""
    unusable = pa.array(rejected_keys(rejected.decode()), pa.string())
    with contextlib.ExitStack() as stack:
        writers: dict[str, pq.ParquetWriter] = {}
        for file in rows:
            table = _examples(file, unusable)
            for name in pictures:
                addresses.update(table[name].drop_null().to_pylist())
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
    lines = [
        f"{folder / split}.parquet: {counts[split]:,} rows{without if split == 'test' else ''}"
        for split in SPLITS
    ]
    if images:
        _download(client, sorted(addresses), folder / "images")
        lines.append(f"{folder / 'images'}: {len(addresses):,} images")
    return lines


def _examples(file: Any, unusable: pa.Array) -> pa.Table:
    """The rows of a file that are examples. unusable: keys of others."""
    table = pq.read_table(pa.BufferReader(file.download_as_bytes()))
    if REJECTED in table.column_names:
        table = table.filter(pc.is_null(table[REJECTED]))
    return table.filter(pc.invert(pc.is_in(table["key"], unusable)))


def _download(client: Any, addresses: Iterable[str], folder: Path) -> None:
    """Write the images to FOLDER/BUCKET/OBJECT. Raises NoRunError for one that cannot be read."""
    from google.cloud.storage import transfer_manager

    done, rest = 0, iter(addresses)
    while some := [*itertools.islice(rest, _AT_ONCE)]:
        files = [folder / address.removeprefix("gs://") for address in some]
        for address, file in zip(some, files, strict=True):
            if ".." in file.parts:
                raise NoRunError(f"{address} would be written outside of {folder}: leave it out")
            file.parent.mkdir(parents=True, exist_ok=True)
        pairs = [(blob(client, a), str(file)) for a, file in zip(some, files, strict=True)]
        found = transfer_manager.download_many(pairs, worker_type=transfer_manager.THREAD)
        for address, result in zip(some, found, strict=True):
            if isinstance(result, Exception):
                raise NoRunError(f"{address} cannot be read: {result}") from result
        done += len(some)
        print(f"{done:,} images", flush=True)


def _file(dataset: DatasetDescription, split: str, answers: bool) -> dict[str, str]:
    """The columns of a split's file: names in the snapshot, and in the file."""
    columns = {"key": "key"}
    columns |= {feature.column: feature.name for feature in dataset.features}
    if dataset.weight:
        columns[WEIGHT] = dataset.weight.column
    if split != "test" or answers:
        columns[_LABEL] = _LABEL
    return columns
