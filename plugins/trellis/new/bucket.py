"""Files in Cloud Storage: a manifest of images, or rows, described as a run reads them."""

import dataclasses
import zlib
from typing import Any

from trellis.new import bigquery
from trellis.new.described import DataError, Rows
from trellis.results.files import blob
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
    from google.api_core.exceptions import GoogleAPICallError

    if address.endswith("/"):
        raise DataError(
            f"{address} is a folder: name a manifest of images in it, or its tables by a pattern, "
            f"{address}*.parquet (also .csv, .jsonl, .avro)"
        )
    if "*" in address or not bucket_files.format_of(address):
        return "*" not in address
    if bucket_files.format_of(address) != bucket_files.CSV:
        return False
    try:
        start = blob(client, address).download_as_bytes(end=_START - 1)
        if address.lower().endswith(".gz"):
            start = zlib.decompressobj(wbits=31).decompress(start, _START)
    except (GoogleAPICallError, ValueError, zlib.error) as error:
        raise DataError(f"{address} cannot be read: {error}") from None
    return not start.strip() or b"gs://" in start.lstrip().partition(b"\n")[0]


def describe(group: Platform, storage: Any, client: Any, address: str) -> tuple[Rows, str]:
    """The rows of files, and the table of BigQuery that has them for some days.

    storage, client: of Cloud Storage and of BigQuery. address: gs://..., which may be a pattern.
    Raises DataError.
    """
    try:
        files = bucket_files.find(storage, address)
        own_dataset.create(group, client)
        known = bucket_files.load(client, group, files, {})
    except SourceError as error:
        raise DataError(shown(error.text)) from None
    except PlatformError as error:
        raise DataError(str(error)) from None
    table = f"{known.project}.{known.dataset_id}.{known.table_id}"
    rows = bigquery.describe(client, table)
    return dataclasses.replace(rows, address=address, of_files=True), table
