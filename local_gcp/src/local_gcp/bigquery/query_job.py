"""Query jobs: one statement, or a script, whose statements are child jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from . import sql
from .database import stream
from .destination import Disposition
from .errors import BigQueryError, not_emulated
from .jobs import Job, JobRunner
from .locks import TableLocks
from .pruning import Estimate, Estimator, check_limit
from .refs import DatasetRef
from .resources import job_resource
from .schema import arrow_schema, fields_to_api
from .sql import Settings, Translated
from .sql.statements import SCRIPT_KINDS
from .statements import Statements
from .translation import Translation

_BATCH_ROWS = 10_000
LONGEST = 1 << 20
"""Characters of a query. https://cloud.google.com/bigquery/quotas#query_jobs"""

Query = dict[str, Any]


class QueryWork:
    """Runs query jobs, and dry runs, which estimate what they would read."""

    def __init__(
        self,
        locks: TableLocks,
        translation: Translation,
        estimator: Estimator,
        statements: Statements,
    ):
        self._locks, self._translation = locks, translation
        self._estimator, self._statements = estimator, statements
        self.runner: JobRunner
        """Records a script's child jobs; set by the service."""

    def __call__(self, job: Job) -> dict[str, Any]:
        configuration = job.configuration["query"]
        settings = _settings(job, configuration)
        if is_script(configuration["query"]):
            return self._script(job, configuration, settings)
        (statement,) = sql.split(configuration["query"])
        return self._one(
            job,
            configuration,
            lambda: self._translation.statement(job.catalog, statement, settings),
        )

    def dry_run(self, job: Job) -> dict[str, Any]:
        """JobStatistics of a query that is not run; raises BigQueryError if it could not run."""
        configuration = job.configuration["query"]
        settings = _settings(job, configuration)
        if is_script(configuration["query"]):
            query = {"statementType": "SCRIPT", "totalBytesProcessed": "0"}
            return {"query": query, "totalBytesProcessed": "0"}
        (statement,) = sql.split(configuration["query"])
        job.cursor.execute("BEGIN")
        translated = self._translation.statement(job.catalog, statement, settings)
        estimate = self._estimator.estimate(job.cursor, translated)
        check_limit(estimate, configuration.get("maximumBytesBilled"))
        found = {"statementType": translated.kind, **estimate.statistics}
        if translated.fields:
            found["schema"] = fields_to_api(translated.fields)
        return {"query": found, "totalBytesProcessed": str(estimate.bytes)}

    def _one(
        self, job: Job, configuration: Query, translate: Callable[[], Translated]
    ) -> dict[str, Any]:
        job.begin(self._locks)
        translated = translate()
        targets = self._statements.targets(job, translated, configuration)
        if targets:  # lock before reading
            job.cursor.execute("ROLLBACK")
            job.begin(self._locks, targets)
            translated = translate()
        estimate = self._estimator.estimate(job.cursor, translated)
        check_limit(estimate, configuration.get("maximumBytesBilled"))
        found = self._statements.run(job, translated, configuration)
        return _statistics(estimate, found)

    def _script(self, job: Job, configuration: Query, settings: Settings) -> dict[str, Any]:
        for name in ("destinationTable", "writeDisposition", "timePartitioning", "clustering"):
            if configuration.get(name):
                raise BigQueryError(
                    "invalid", f"configuration.query.{name} cannot be set for scripts"
                )
        executor = _Executor(self, job, configuration)
        sql.script.run(
            configuration["query"], executor, self._translation.catalog(job.catalog), settings
        )
        job.cursor.execute("BEGIN")
        last = executor.last_result
        query: Query = {
            "statementType": "SCRIPT",
            "totalBytesProcessed": str(executor.bytes),
            "totalBytesBilled": str(executor.billed),
            "cacheHit": False,
        }
        if last is not None:
            query["schema"] = last["statistics"]["query"]["schema"]
            target = last["configuration"]["query"]["destinationTable"]
            job.amend(configuration={"query": {**configuration, "destinationTable": target}})
        return {
            "query": query,
            "totalBytesProcessed": str(executor.bytes),
            "numChildJobs": str(executor.children),
        }


class _Executor:
    """Runs a script's statements as child jobs of its job (`sql.script.Executor`)."""

    def __init__(self, work: QueryWork, job: Job, configuration: Query):
        self._work, self._job, self._configuration = work, job, configuration
        self.children = self.bytes = self.billed = 0
        self.last_result: dict[str, Any] | None = None

    def execute(self, translated: Translated) -> None:
        """Run a statement, and commit it."""
        job, work = self._job, self._work
        job.check()
        digest = hashlib.md5(job.id.encode()).hexdigest()
        kept = ("defaultDataset", "useLegacySql", "maximumBytesBilled")
        kept += ("destinationEncryptionConfiguration",)
        query = {name: self._configuration[name] for name in kept if name in self._configuration}
        reference = job.resource["jobReference"]
        resource = job_resource(
            reference["projectId"],
            reference["location"],
            f"script_job_{digest}_{self.children}",
            {"jobType": "QUERY", "query": {**query, "query": self._configuration["query"]}},
            parentJobId=job.id,
            scriptStatistics={"evaluationKind": "STATEMENT"},
        )
        self.children += 1
        done = work.runner.run_child(
            job, resource, lambda child: work._one(child, query, lambda: translated)
        )
        found = done["statistics"]["query"]
        self.bytes += int(found.get("totalBytesProcessed", 0))
        self.billed += int(found.get("totalBytesBilled", 0))
        if translated.kind == "SELECT":
            self.last_result = done

    def evaluate(self, translated: Translated) -> pa.Table:
        """The rows of a query within an expression."""
        self._job.check()
        cursor = self._job.cursor
        cursor.execute("BEGIN")
        try:
            self._work._statements.answer_ml(self._job, translated)
            assert translated.sql
            with stream(cursor, translated.sql, _BATCH_ROWS) as reader:
                rows = reader.read_all()
            return rows.cast(arrow_schema(translated.fields))
        finally:
            cursor.execute("ROLLBACK")


def is_script(text: str) -> bool:
    """Return whether BigQuery runs the text as a script: several statements, or a procedural
    one.
    """
    statements = sql.split(text)
    return len(statements) != 1 or statements[0].kind in SCRIPT_KINDS


def check(configuration: Query) -> None:
    """Raise BigQueryError for a JobConfigurationQuery that cannot run."""
    text = configuration.get("query") or ""
    if not text.strip():
        raise BigQueryError("invalid", "Required parameter is missing: query")
    if (over := len(text) - LONGEST) > 0:
        raise BigQueryError(
            "invalid",
            f"The query is too large ({len(text) / 1024:.2f}K characters, {over} characters over "
            f"the limit). The maximum standard SQL query length is {LONGEST / 1024:.2f}K "
            "characters, including comments and white space characters.",
        )
    if configuration.get("useLegacySql", True):
        raise not_emulated("legacy SQL (useLegacySql is true unless it is set to false)")
    Disposition.of(configuration, write="WRITE_EMPTY")


def _settings(job: Job, configuration: Query) -> Settings:
    default = configuration.get("defaultDataset")
    return Settings(
        project=job.project,
        dataset=DatasetRef.from_api(default) if default else None,
        parameters=tuple(configuration.get("queryParameters") or ()),
    )


def _statistics(estimate: Estimate, found: Query) -> dict[str, Any]:
    return {
        "query": {**estimate.statistics, **found},
        "totalBytesProcessed": str(estimate.bytes),
    }
