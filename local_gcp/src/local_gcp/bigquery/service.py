"""BigQuery as a service of local_gcp."""

from __future__ import annotations

from local_gcp.service import Context, Service
from local_gcp.storage.catalog import Catalog as StorageCatalog

from .app import bigquery_app
from .catalog import Catalog
from .copy_job import CopyWork
from .database import Database
from .dataset_api import DatasetApi
from .extract_job import Exporter, ExtractWork
from .files import Files
from .job_api import JobApi
from .job_store import JobStore
from .jobs import JobRunner
from .load_job import LoadWork
from .locks import TableLocks
from .ml import Models
from .model_api import ModelApi
from .pruning import Estimator
from .query_api import QueryApi
from .query_job import QueryWork
from .read_api import read_handlers
from .read_sessions import ReadSessions
from .sizes import Sizes
from .statements import Statements
from .streaming import Streaming
from .table_api import TableApi
from .tabledata_api import TableDataApi
from .translation import Translation
from .upload_api import UploadApi
from .warehouse import Warehouse


class BigQuery(Service):
    """The REST and Storage Read APIs. HOME/bigquery holds the DuckDB file, and models."""

    hosts = (
        "bigquery.googleapis.com",
        "www.googleapis.com/bigquery/*",
        "www.googleapis.com/upload/bigquery/*",
        "www.googleapis.com/resumable/upload/bigquery/*",
    )

    def __init__(self, context: Context):
        self._project = context.project
        folder = context.home.root / "bigquery"
        self._uploads = folder / "uploads"
        self._database = database = Database(folder)
        locks, sizes = TableLocks(), Sizes()
        self.models = models = Models(folder / "models")
        translation = Translation(sizes, models, context.project)
        self.warehouse = Warehouse(database, locks, translation)

        files = Files(context.home.buckets, StorageCatalog(context.home.storage / "catalog.db"))
        exporter = Exporter(database, files)
        statements = Statements(models, exporter)
        query = QueryWork(locks, translation, Estimator(sizes), statements)
        work = {
            "query": query,
            "load": LoadWork(files, self._uploads, locks, sizes),
            "extract": ExtractWork(exporter, locks, sizes),
            "copy": CopyWork(locks),
        }
        self._runner = query.runner = JobRunner(database, work)
        data = TableDataApi(database, Streaming(database, locks))
        jobs = JobApi(database, self._runner, query.dry_run)
        self.rest = bigquery_app(
            DatasetApi(database, locks),
            TableApi(database, locks, sizes, translation),
            data,
            ModelApi(database, locks, models),
            jobs,
            QueryApi(self._runner, jobs, data),
            UploadApi(jobs, self._uploads),
        )
        self.grpc_handlers = read_handlers(ReadSessions(database, translation, sizes))

    def start(self) -> None:
        """Open the database, clean up after a kill, and restart interrupted jobs."""
        self._database.open()
        with self._database.transaction() as cursor:
            catalog = Catalog(cursor)
            catalog.remove_expired()
            self.models.keep(record["artifact"] for record in catalog.all_models())
            waiting = {r["jobReference"]["jobId"] for r, _ in JobStore(cursor).unfinished()}
        for path in self._uploads.glob("*"):
            if path.name not in waiting:
                path.unlink()
        self._runner.start()

    def stop(self) -> None:
        self._runner.stop()
        self._database.close()
