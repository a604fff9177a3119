"""Files in Cloud Storage: a manifest of images, or rows, described as a run reads them."""

import dataclasses
import zlib
from pathlib import PurePosixPath
from typing import Any

from trellis.new import bigquery, delimited, kinds, names
from trellis.new.described import DataError, Rows, listed
from trellis.results.files import blob, each_blob
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import bucket_files, own_dataset
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis_contracts.withheld import shown

_START = 64 * 1024


def is_manifest(client: Any, address: str) -> bool:
    """Return whether the object at a gs:// address is a manifest of images: its first line has an
    address, as no header has.

    client: google.cloud.storage.Client. Raises DataError for a folder.
    """
    folder = address.rstrip("/")
    named = bucket_files.format_of(address)
    if address != folder or (not named and any(each_blob(client, f"{folder}/"))):
        raise DataError(
            f"{folder}/ is a folder: name a manifest of images in it, or its tables by a pattern, "
            f"{folder}/*.parquet (also .csv, .jsonl, .avro)"
        )
    if kinds.is_records(PurePosixPath(address)):
        raise DataError(
            f"{address}: TFRecords are read from files here: get them (`gcloud storage cp`), and "
            "`trellis upload` makes a table of them"
        )
    if "*" in address or not named:
        return "*" not in address
    if named != bucket_files.CSV:
        return False
    start = _start(client, address)
    return not start.strip() or b"gs://" in start.lstrip().partition(b"\n")[0]


def _check_header(address: str, start: bytes) -> None:
    """Raise DataError for names that BigQuery does not take: a run loads the files as they are."""
    _, renamed = names.of_columns(delimited.header_of(address, start))
    if renamed:
        raise DataError(
            f"{address}: BigQuery does not take all names in the first line "
            f"({listed([note.of for note in renamed])}). Rename them, or write a line of names "
            "above the rows if it has none"
        )


def _start(client: Any, address: str) -> bytes:
    """The first lines of a text. Raises DataError."""
    from google.api_core.exceptions import GoogleAPICallError

    try:
        start: bytes = blob(client, address).download_as_bytes(end=_START - 1)
        if address.lower().endswith(".gz"):
            start = zlib.decompressobj(wbits=31).decompress(start, _START)
    except (GoogleAPICallError, ValueError, zlib.error) as error:
        raise DataError(f"{address} cannot be read: {error}") from None
    return start if len(start) < _START else start[: start.rfind(b"\n") + 1]


def describe(group: Platform, storage: Any, client: Any, address: str) -> tuple[Rows, str]:
    """The rows of files, and the table of BigQuery that has them for some days.

    storage, client: of Cloud Storage and of BigQuery. address: gs://..., which may be a pattern.
    Raises DataError.
    """
    try:
        files = bucket_files.find(storage, address)
        if files.format == bucket_files.CSV:
            first = f"gs://{files.blobs[0].bucket.name}/{files.blobs[0].name}"
            _check_header(first, _start(storage, first))
        own_dataset.create(group, client)
        known = bucket_files.load(client, group, files, {})
    except SourceError as error:
        raise DataError(shown(error.text)) from None
    except PlatformError as error:
        raise DataError(str(error)) from None
    table = f"{known.project}.{known.dataset_id}.{known.table_id}"
    rows = bigquery.describe(client, table)
    return dataclasses.replace(rows, address=address, of_files=True), table
