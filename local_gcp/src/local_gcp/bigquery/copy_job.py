"""Copy jobs: copy tables, or partitions of them, into another table."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import streaming_buffer
from .catalog import PARTITION_TIME, Catalog, TableRecord
from .database import quoted
from .destination import Disposition, insert, prepare
from .encryption import checked
from .errors import invalid, not_emulated
from .jobs import Job
from .locations import same
from .locks import TableLocks
from .partition_times import appending
from .partitions import condition
from .refs import TableRef


class CopyWork:
    """Runs one copy job."""

    def __init__(self, locks: TableLocks):
        self._locks = locks

    def __call__(self, job: Job) -> dict[str, Any]:
        configuration = job.configuration["copy"]
        given = configuration.get("sourceTables") or [configuration.get("sourceTable")]
        if not given[0]:
            raise invalid("Required parameter is missing: sourceTable")
        sources = [TableRef.from_api(source) for source in given]
        target = TableRef.from_api(configuration["destinationTable"])
        job.begin(self._locks, [target])
        disposition = Disposition.of(configuration, write="WRITE_EMPTY")
        for source in sources:
            _check_locations(job, source, target, disposition)
        records = [job.catalog.get(source) for source in sources]
        for record in records:
            if record.view_query is not None:
                raise invalid(
                    f"{record.ref} is not allowed for this operation because it is a VIEW."
                )
            streaming_buffer.refuse(job.cursor, record, "copies")
            if record.fields != records[0].fields:
                raise invalid(f"Cannot copy tables with different schemas: {record.ref}")
        first = records[0]
        if target.partition is None:
            disposition = dataclasses.replace(
                disposition,
                partitioning=first.partitioning,
                clustering=first.resource.get("clustering"),
            )
        if sources == [target] and disposition.write == "WRITE_TRUNCATE":
            record = first  # its encryption key may have changed
            rows = job.execute(f"SELECT count(*) FROM {first.sql}").fetchall()[0][0]
        else:
            record = prepare(job.catalog, target, first.fields, disposition)
            rows = sum(
                _copy(job, record, source, ref, target.partition)
                for source, ref in zip(records, sources, strict=True)
            )
        if disposition.write == "WRITE_TRUNCATE" and target.partition is None:
            record = _with_key(job.catalog, record, disposition.key)
        job.catalog.save(record.changed())
        return {"copy": {"copiedRows": str(rows)}}


def _check_locations(
    job: Job, source: TableRef, target: TableRef, disposition: Disposition
) -> None:
    """BigQuery copies tables to other locations, but cannot append there."""
    begin, end = (job.catalog.everywhere.location_of(ref) for ref in (source, target))
    if begin is None or end is None or same(begin, end):
        return
    if disposition.write == "WRITE_APPEND":
        raise invalid(
            "Cross-region table copy with append mode (--append_table or WRITE_APPEND) is "
            "unsupported. Use copy without the append mode."
        )
    raise not_emulated(f"copy jobs between locations ({begin} to {end})")


def _with_key(catalog: Catalog, record: TableRecord, key: dict[str, Any] | None) -> TableRecord:
    """Give a replaced table the key of the job or the dataset instead of its old one."""
    dataset = catalog.dataset(record.ref.dataset_ref)
    wanted = checked(key or dataset.get("defaultEncryptionConfiguration"), dataset["location"])
    return record.changed(encryptionConfiguration=wanted)


def _copy(
    job: Job, record: TableRecord, source: TableRecord, ref: TableRef, decorator: str | None
) -> int:
    where = f" WHERE {condition(source, ref.partition)}" if ref.partition else ""
    columns = ", ".join(quoted(f.name) for f in source.fields)
    if record.by_ingestion_time and source.by_ingestion_time and decorator is None:
        columns = ", ".join(filter(None, [columns, quoted(PARTITION_TIME)]))
        with appending(job.cursor, record):
            ((rows,),) = job.execute(
                f"INSERT INTO {record.sql} ({columns}) SELECT {columns} FROM {source.sql}{where}"
            ).fetchall()
        return rows
    query = f"SELECT {columns} FROM {source.sql}{where}"
    return insert(job, record, source.fields, query, decorator)
