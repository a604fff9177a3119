"""Loads files of Cloud Storage into a table of BigQuery, from which a run takes its rows.

A load job costs nothing: https://cloud.google.com/bigquery/pricing#free. The table is named by the
files' generations and expires; what lasts is the snapshot that a run freezes. Called by tasks only.
"""

import copy
import csv
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow
from google.api_core.exceptions import GoogleAPICallError, NotFound
from google.cloud.bigquery import LoadJobConfig, ParquetOptions, SchemaField
from google.cloud.storage import Blob, Client
from pyarrow import parquet

from trellis import lineage
from trellis.bigquery.outcome import may_pass
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import storage
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.problems import did_you_mean
from trellis_contracts.withheld import quoted

# Raise when the same files would give another table.
LOAD_VERSION = 1

CSV, _JSON, _PARQUET, _AVRO = "CSV", "NEWLINE_DELIMITED_JSON", "PARQUET", "AVRO"
_FORMATS = {
    ".csv": CSV,
    ".tsv": CSV,
    ".jsonl": _JSON,
    ".ndjson": _JSON,
    ".json": _JSON,
    ".parquet": _PARQUET,
    ".avro": _AVRO,
}
_TEXTS = (CSV, _JSON)

# Addresses that a load job takes: https://cloud.google.com/bigquery/quotas#load_jobs
_MOST_FILES = 10_000

_KEPT = timedelta(days=30)
_READERS = 16
_CHUNK = 1 << 20
_DELIMITERS = (",", ";", "\t", "|")
_SHOWN = 3


@dataclass(frozen=True)
class Files:
    """Files of one format. address: as the experiment names them. blobs: in the order of their
    names.
    """

    address: str
    format: str
    blobs: Sequence[Blob]

    @property
    def client(self) -> Client:
        """The client that found them."""
        return self.blobs[0].client

    @property
    def version(self) -> list[dict[str, Any]]:
        """Identifies their content: a generation changes with every upload."""
        return [{"file": _uri(blob), "generation": blob.generation} for blob in self.blobs]


def find(client: Client, address: str) -> Files:
    """List the files at gs://..., which may be a pattern. Raises SourceError if there are none, or
    they cannot be loaded together.
    """
    bucket, _, pattern = address.removeprefix("gs://").partition("/")
    blobs = sorted(storage.matching(client, bucket, pattern), key=lambda blob: blob.name)
    if not blobs:
        raise SourceError(
            f"There is no file {address} (source.files), or this project may not see it."
        )
    if len(blobs) > _MOST_FILES:
        raise SourceError(
            f"{address} (source.files) names {len(blobs):,} files, and BigQuery loads up to "
            f"{_MOST_FILES:,}: write larger ones"
        )
    if empty := [_uri(blob) for blob in blobs if not blob.size]:
        raise SourceError(
            f"{len(empty)} of {len(blobs)} files of source.files are empty: {_listed(empty)}. "
            "Remove them, or upload them again"
        )
    formats: dict[str | None, str] = {}
    packed: dict[bool, str] = {}
    for blob in blobs:
        formats.setdefault(format_of(blob.name), _uri(blob))
        packed.setdefault(blob.name.lower().endswith(".gz"), _uri(blob))
    if None in formats:
        raise SourceError(
            f"{formats[None]} (source.files): the name of a file ends in one of "
            f"{', '.join(_FORMATS)}, texts also with .gz after it"
        )
    if len(formats) > 1:
        raise SourceError(
            f"source.files names files of several formats, as {_listed(list(formats.values()))}: "
            "name those of one"
        )
    if len(packed) > 1:
        raise SourceError(
            f"source.files names compressed and plain files, as {_listed(list(packed.values()))}, "
            "which BigQuery does not load together: compress all or none"
        )
    (format_,) = formats
    assert format_ is not None
    return Files(address, format_, blobs)


def load(client: Any, platform: Platform, files: Files, types: Mapping[str, str]) -> Any:
    """Load the files, unless they were loaded before; returns BigQuery's Table.

    client: google.cloud.bigquery.Client. types: of columns of texts that the experiment gives.
    Raises SourceError for files that do not fit together, or that BigQuery refuses.
    """
    if types and files.format not in _TEXTS:
        raise SourceError(
            f"source.types: {files.format.capitalize()} files have types of their own; CAST the "
            "column in a query, or leave `types` out"
        )
    content = {"files": files.version, "types": dict(types)}
    name = platform.own_table(f"files_{digest(content)}")
    return loaded(
        client,
        name,
        files.address,
        lambda: _run(client, files, name, _config(client, types, files, f"{name}_detected")),
        lambda: find(files.client, files.address).version == files.version,
    )


def loaded(
    client: Any,
    name: str,
    address: str,
    load_it: Callable[[], None],
    is_same: Callable[[], bool],
) -> Any:
    """BigQuery's Table of this name, which `load_it` makes if it is not there; it expires after the
    run.

    address: gs://... of what is in it. is_same: whether that is still what the name says. Raises
    SourceError if it is not.
    """
    try:
        known = client.get_table(name)
    except NotFound:
        load_it()
        if not is_same():
            client.delete_table(name)
            raise SourceError(
                f"{address} changed while BigQuery read it: trigger a new run"
            ) from None
        known = client.get_table(name)
    lineage.note_loaded([address], name)
    known.expires = datetime.now(UTC) + _KEPT
    return client.update_table(known, ["expires"])


def digest(content: Any) -> str:
    """The part of a loaded table's name that says what is in it. content: fit for JSON."""
    text = json.dumps([content, LOAD_VERSION], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _config(client: Any, types: Mapping[str, str], files: Files, detected: str) -> LoadJobConfig:
    """How to load the files. detected: table to find the types of texts with."""
    config = LoadJobConfig(
        source_format=files.format,
        write_disposition="WRITE_TRUNCATE",
        # Names as they are: without it, BigQuery replaces characters.
        column_name_character_map="STRICT",
    )
    if files.format == _PARQUET:
        _refuse_other_columns(files, [_parquet_columns(*pair) for pair in _each(files, _schema)])
        options = ParquetOptions()
        options.enable_list_inference = True
        config.parquet_options = options
        return config
    if files.format == _AVRO:
        # DATE and TIMESTAMP instead of the integers that hold them.
        config.use_avro_logical_types = True
        return config
    header: list[str] = []
    if files.format == CSV:
        starts = [line for _, line in _each(files, _first_line)]
        delimiter = max(_DELIMITERS, key=starts[0].count)
        headers = [next(csv.reader([line], delimiter=delimiter), []) for line in starts]
        _refuse_other_columns(files, [dict.fromkeys(found, "") for found in headers], ordered=True)
        header = headers[0]
        if len({name.lower() for name in header}) < len(header) or not all(header):
            raise SourceError(
                f"{_uri(files.blobs[0])} (source.files): each column needs a name of its own in "
                f"the first line{quoted(f', which is {starts[0][:200]!r}', '')}"
            )
        config.field_delimiter = delimiter
        config.skip_leading_rows = 1
        config.allow_quoted_newlines = True
    if not header and not types:
        config.autodetect = True
        return config
    config.schema = _detect(client, types, files, header, config, detected)
    return config


def _detect(
    client: Any,
    types: Mapping[str, str],
    files: Files,
    header: list[str],
    config: LoadJobConfig,
    name: str,
) -> list[SchemaField]:
    """The columns of texts: as BigQuery detects them in the first file, but those that the
    experiment gives a type, and a CSV file's by its header. A header of texts alone would be a row
    to BigQuery.
    """
    first = Files(files.address, files.format, files.blobs[:1])
    trial = copy.deepcopy(config)
    trial.autodetect = True
    # A value that contradicts the type given by the experiment is the reason to give it.
    trial.max_bad_records = 2**31 - 1
    _run(client, first, name, trial)
    found = list(client.get_table(name).schema)
    client.delete_table(name, not_found_ok=True)
    names = header or [field.name for field in found]
    given = {column.lower(): type_ for column, type_ in types.items()}
    if unknown := sorted(set(given) - {column.lower() for column in names}):
        hint = did_you_mean(unknown[0], names)
        raise SourceError(f"source.types: there is no column '{unknown[0]}'; {hint}")
    fields = []
    for place, column in enumerate(names):
        detected = found[place] if place < len(found) else SchemaField(column, "STRING")
        type_ = given.get(column.lower())
        fields.append(
            SchemaField(column, type_ or detected.field_type, mode="NULLABLE")
            if header or type_
            else detected
        )
    return fields


def _run(client: Any, files: Files, name: str, config: LoadJobConfig) -> None:
    remedy = "Correct the files"
    if files.format in _TEXTS:
        remedy += (
            ", or give the column a type that holds all its values (source.types: {COLUMN: STRING})"
        )
    where = f"{files.address} (source.files)"
    run(client, [_uri(blob) for blob in files.blobs], name, config, where, remedy)


def run(
    client: Any, uris: Sequence[str], name: str, config: LoadJobConfig, where: str, remedy: str
) -> None:
    """Load objects into a table. Raises SourceError, with the remedy, if BigQuery refuses them."""
    job = client.load_table_from_uri(uris, name, job_config=config)
    try:
        job.result()
    except GoogleAPICallError as error:
        if may_pass(error):
            raise
        # The first says only that there are others.
        found = [entry["message"] for entry in job.errors or () if entry.get("message")]
        messages = list(dict.fromkeys(found))
        said = "\n  ".join((messages[1:] or messages or [str(error)])[:_SHOWN])
        said = quoted(f":\n  {said}\n", f", for {len(messages)} reasons that may quote rows. ")
        raise SourceError(f"BigQuery cannot load {where}{said}{remedy}") from None


def _refuse_other_columns(
    files: Files, columns: Sequence[Mapping[str, str]], ordered: bool = False
) -> None:
    """Raise SourceError unless all files have the first one's columns. columns: of each, the types
    by name. ordered: in the same order, by which BigQuery takes the values of CSV files.
    """
    first = columns[0]
    for blob, found in zip(files.blobs, columns, strict=True):
        differences = [f"it lacks '{name}'" for name in first if name not in found]
        differences += [f"it has '{name}'" for name in found if name not in first]
        differences += [
            f"'{name}' is {found[name]}, not {type_}"
            for name, type_ in first.items()
            if found.get(name, type_) != type_
        ]
        if not differences and ordered and list(found) != list(first):
            differences = ["the order of its columns differs"]
        if differences:
            # Of a file without a header, the first line is a row.
            named = quoted(f": {'; '.join(differences[:_SHOWN])}", "")
            raise SourceError(
                f"{_uri(blob)} (source.files) does not have the columns of "
                f"{_uri(files.blobs[0])}{named}"
            )


def _each(files: Files, read: Any) -> Iterator[tuple[Blob, Any]]:
    """What `read` finds in each file, several at once."""
    with ThreadPoolExecutor(_READERS) as pool:
        yield from zip(files.blobs, pool.map(read, files.blobs), strict=True)


def _schema(blob: Blob) -> Any:
    """The schema in a Parquet file's footer."""
    try:
        with blob.open("rb", chunk_size=_CHUNK) as file:
            return parquet.read_schema(file)
    except pyarrow.ArrowException as error:
        raise SourceError(
            f"{_uri(blob)} (source.files) is no Parquet file: {str(error).splitlines()[0]}"
        ) from None


def _parquet_columns(_: Blob, schema: Any) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema}


def _first_line(blob: Blob) -> str:
    """The header of a CSV file. Raises SourceError if it is no text in UTF-8."""
    data = blob.download_as_bytes(end=_CHUNK - 1)
    try:
        if blob.name.lower().endswith(".gz"):
            data = zlib.decompressobj(wbits=31).decompress(data, _CHUNK)
        line = data.partition(b"\n")[0].rstrip(b"\r")
        return line.decode("utf-8-sig")
    except (zlib.error, UnicodeDecodeError) as error:
        raise SourceError(
            f"{_uri(blob)} (source.files) is no text in UTF-8: {error}; save it as UTF-8"
        ) from None


def format_of(name: str) -> str | None:
    """The format that a file's name says; None: none that can be loaded."""
    plain = name.lower().removesuffix(".gz")
    format_ = _FORMATS.get(plain[plain.rfind(".") :])
    return format_ if plain == name.lower() or format_ in _TEXTS else None


def _uri(blob: Blob) -> str:
    return f"gs://{blob.bucket.name}/{blob.name}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
