"""BigQuery as a service of local_gcp."""

from __future__ import annotations

from typing import Any

from local_gcp.service import Context, Service

from .app import bigquery_app
from .database import Database
from .dataset_api import DatasetApi
from .extract_job import Exporter, ExtractWork
from .files import Files
from .job_api import JobApi, QueryApi
from .jobs import Job, JobRunner
from .load_job import LoadWork
from .locks import TableLocks
from .refs import TableRef
from .schema import Field
from .sizes import Sizes
from .statements import QueryWork
from .table_api import TableApi
from .tabledata_api import TableDataApi
from .views import Views
from .warehouse import Warehouse


class BigQuery(Service):
    """The REST and Storage Read APIs. HOME/bigquery holds the DuckDB file."""

    hosts = (
        "bigquery.googleapis.com",
        "www.googleapis.com/bigquery/*",
        "www.googleapis.com/upload/bigquery/*",
        "www.googleapis.com/resumable/upload/bigquery/*",
    )

    def __init__(self, context: Context):
        folder = context.home.root / "bigquery"
        self._database = Database(folder)
        locks, sizes = TableLocks(), Sizes()
        views = Views(sizes, context.project)
        files = Files(context.home.buckets)
        self.warehouse = Warehouse(self._database, locks)
        self.warehouse.views = views

        def rows_of(job: Job, ref: TableRef) -> tuple[list[Field], str]:
            return job.catalog.get(ref).fields, views.table_query(job.cursor, ref)

        query = QueryWork(locks, sizes, views)
        self._runner = JobRunner(
            self._database,
            {
                "query": query,
                "load": LoadWork(files, folder / "uploads", locks, sizes),
                "extract": ExtractWork(Exporter(self._database, files), locks, sizes, rows_of),
            },
        )
        data = TableDataApi(self._database, views, None)
        jobs = JobApi(self._database, self._runner, query)
        queries = QueryApi(self._runner, jobs, data)
        self.rest = bigquery_app(
            DatasetApi(self._database, locks),
            TableApi(self._database, locks, sizes, views),
            data,
            _Later(),
            jobs,
            queries,
            _Later(),
        )

    def start(self) -> None:
        self._database.open()
        self._runner.start()

    def stop(self) -> None:
        self._runner.stop()
        self._database.close()


class _Later:
    def __getattr__(self, name: str) -> Any:
        from local_gcp.rest import not_played

        def refuse(*arguments: Any) -> None:
            raise not_played(name)

        return refuse
