"""Looks at a few images before any is exported: a paid job need not read all to refuse them."""

import re
from collections.abc import Iterator, Sequence

import pyarrow.parquet as pq

from trainer.exporting import ExportError
from trainer.exporting.images.convert import convert
from trainer.exporting.images.reading import Read
from trainer.exporting.objects import Objects
from trainer.exporting.tables import labels
from trainer.exporting.tables.parquet import Source
from trainer.images import DeepImageError
from trellis_contracts.columns import REJECTED
from trellis_contracts.dataset_features import BUCKET, Feature
from trellis_contracts.withheld import quoted

_ROWS = 1000
_IMAGES = 8


def probe(source: Source, objects: Objects) -> None:
    """Look at a few images, and labels that are files, spread over the first rows.

    Raises ExportError if there is no such bucket, if all images of a column need a scale and none
    is given, or if none of the labels' files can be one. Other faults are reported one by one in
    rejected.jsonl.
    """
    for column, feature in source.columns.images().items():
        refuse_deep(_known(source, column.column, objects), feature, objects.read)
    label = labels.of(source.columns)
    if label.of_files:
        label.refuse(_some(_known(source, "label", objects)), objects.read)


def _known(source: Source, column: str, objects: Objects) -> list[str]:
    """Addresses of a column, whose buckets are there."""
    addresses = list(_addresses(source, column, objects))
    places = (re.match(BUCKET, address) for address in addresses)
    for bucket in sorted({place[0] for place in places if place}):
        objects.require_bucket(bucket)
    return addresses


def _addresses(source: Source, column: str, objects: Objects) -> Iterator[str]:
    columns = [column, *([REJECTED] if source.columns.of_manifest else [])]
    with objects.open(source.work[0].uri) as stream:
        file = pq.ParquetFile(stream)
        batch = next(file.iter_batches(_ROWS, columns=columns, use_threads=False))
    for row in batch.to_pylist():
        if row[column] and row.get(REJECTED) is None:
            yield row[column]


def refuse_deep(addresses: Sequence[str], feature: Feature, read: Read) -> None:
    """Raise ExportError if all of a few images need a scale and the feature has none."""
    reason = ""
    for address in _some(addresses):
        try:
            convert(read(address), feature, "test")
        except DeepImageError as error:
            reason = reason or f"{quoted(address, 'an image')} is {error}"
        except (ValueError, FileNotFoundError):
            return  # the export says of each what it is
        else:
            return
    if reason:
        raise ExportError(f"{reason}. So are the others that were looked at")


def _some(addresses: Sequence[str]) -> Sequence[str]:
    return addresses[:: max(1, len(addresses) // _IMAGES)][:_IMAGES]
