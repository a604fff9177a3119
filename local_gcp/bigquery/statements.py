"""What a query job does: its statement is translated, run, and its rows written."""

from __future__ import annotations

from typing import Any

from .catalog import now_ms
from .destination import Disposition, anonymous, write_query
from .errors import BigQueryError, not_played
from .jobs import Job
from .locks import TableLocks
from .refs import DatasetRef, TableRef
from .schema import fields_to_api
from .sizes import Sizes, billed
from .views import Views

_DAY_MS = 24 * 3600 * 1000


class QueryWork:
    def __init__(self, locks: TableLocks, sizes: Sizes, views: Views):
        self._locks, self._sizes, self._views = locks, sizes, views

    def __call__(self, job: Job) -> dict[str, Any]:
        configuration = job.configuration["query"]
        given = configuration.get("destinationTable")
        target = TableRef.from_api(given) if given else anonymous(job.project, job.id)
        job.begin(self._locks, [target])
        default = configuration.get("defaultDataset")
        dataset = DatasetRef(default.get("projectId", job.project), default["datasetId"]) if default else None
        translated = self._views.translate(job.cursor, configuration["query"], dataset)
        disposition = Disposition.of(configuration, write="WRITE_EMPTY")
        record, rows = write_query(job, target, list(translated.fields), translated.sql, disposition)
        if not given:
            job.catalog.save(record.changed(expirationTime=str(now_ms() + _DAY_MS)))
            job.amend(configuration={"query": {**configuration, "destinationTable": target.api, "writeDisposition": "WRITE_TRUNCATE"}})
        return {"query": {"statementType": "SELECT", "schema": fields_to_api(translated.fields), "outputRows": str(rows)}}
