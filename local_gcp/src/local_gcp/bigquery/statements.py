"""Runs translated statements in a job: queries, DML and DDL.

Each function returns the statement's part of REST `JobStatistics2` (`statistics.query`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from . import ddl, encryption, streaming_buffer
from .catalog import ANONYMOUS, now_ms
from .database import lend, stream
from .destination import Disposition, anonymous, write_query
from .errors import already_exists, invalid_query, not_emulated, not_found
from .extract_job import Exporter, export_options, row_group_rows
from .jobs import Job
from .ml import ModelRecord, Models
from .partition_times import appending, changing
from .refs import ModelRef, TableRef
from .schema import arrow_schema, fields_to_api
from .sql.translated import AlterModel, CreateModel, ExportData, Translated

_DAY_MS = 24 * 3600 * 1000
_DML = {"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE_TABLE"}
_BATCH_ROWS = 10_000

Query = dict[str, Any]


class Statements:
    """Runs translated statements in the transaction of a job."""

    def __init__(self, models: Models, exporter: Exporter):
        self._models, self._exporter = models, exporter
        self._kinds: dict[str, Callable[[Job, Translated, Query], Query]] = {
            "SELECT": self._select,
            "EXPORT_DATA": self._export,
            "CREATE_MODEL": self._create_model,
            "DROP_MODEL": self._drop_model,
            "CREATE_TABLE": ddl.create_table,
            "CREATE_TABLE_AS_SELECT": ddl.create_table,
            "CREATE_VIEW": ddl.create_view,
            "CREATE_SCHEMA": ddl.create_schema,
            "DROP_TABLE": ddl.drop_table,
            "DROP_VIEW": ddl.drop_table,
            "DROP_SCHEMA": ddl.drop_schema,
            "ALTER_TABLE": ddl.alter_table,
            "ALTER_MODEL": self._alter_model,
            **dict.fromkeys(_DML, self._change),
        }

    def targets(self, job: Job, translated: Translated, configuration: Query) -> list[Any]:
        """The tables and datasets to lock, which the statement changes."""
        found: list[Any] = []
        if translated.kind == "SELECT":
            given = configuration.get("destinationTable")
            if given:  # an anonymous table belongs to this job only
                found.append(TableRef.from_api(given))
        elif isinstance(translated.target, ModelRef):
            found.append(translated.target.dataset_ref)
        elif translated.target is not None:
            found.append(translated.target)
        return found + ddl.further_targets(translated)

    def run(self, job: Job, translated: Translated, configuration: Query) -> Query:
        """Run it. `configuration`: the JobConfigurationQuery, which has the destination."""
        if translated.kind not in self._kinds:
            raise not_emulated(f"the statement {translated.kind.replace('_', ' ')}")
        self.answer_ml(job, translated)
        found = self._kinds[translated.kind](job, translated, configuration)
        return {"statementType": translated.kind, **found}

    def answer_ml(self, job: Job, translated: Translated) -> None:
        """Store the results of the ML.* functions where the statement reads them."""
        for call in translated.ml_calls:
            record = need_model(job, call.model)
            rows = None
            if call.input_sql is not None:
                with stream(job.cursor, call.input_sql, _BATCH_ROWS) as reader:
                    rows = reader.read_all()
                rows = rows.cast(arrow_schema(call.input_fields or ()))
            answer = self._models.call(call.function, record, rows, call.options)
            lend(job.cursor, call.alias, answer)

    def _select(self, job: Job, translated: Translated, configuration: Query) -> Query:
        given = configuration.get("destinationTable")
        target = TableRef.from_api(given) if given else anonymous(job.project, job.id)
        fields = list(translated.fields)
        assert translated.sql is not None
        disposition = Disposition.of(configuration, write="WRITE_EMPTY")
        if given is None or target.dataset == ANONYMOUS:
            disposition = Disposition("WRITE_TRUNCATE", key=disposition.key)
        _check_names(fields)
        record, _ = write_query(job, target, fields, translated.sql, disposition)
        if target.dataset == ANONYMOUS:
            job.catalog.save(record.changed(expirationTime=str(now_ms() + _DAY_MS)))
            job.amend(
                configuration={
                    "query": {
                        **job.configuration["query"],
                        "destinationTable": target.api,
                        "writeDisposition": "WRITE_TRUNCATE",
                        "createDisposition": "CREATE_IF_NEEDED",
                    }
                }
            )
        return {"schema": fields_to_api(fields)}

    def _change(self, job: Job, translated: Translated, configuration: Query) -> Query:
        """INSERT, UPDATE, DELETE, MERGE, TRUNCATE TABLE."""
        assert isinstance(translated.target, TableRef)
        assert translated.sql
        record = job.catalog.get(translated.target)
        if record.view_query is not None:
            raise invalid_query(f"DML is not allowed on the view {record.ref}")
        noting = appending if translated.kind == "INSERT" else changing
        with noting(job.cursor, record):
            rows = job.execute(translated.sql).fetchall()
            if translated.kind != "INSERT":
                streaming_buffer.check_untouched(job.cursor, record, translated.kind)
        counts = {"INSERT": 0, "UPDATE": 0, "DELETE": 0}
        if translated.kind == "MERGE":
            for (action,) in rows:
                counts[action] += 1
        else:
            kind = {"TRUNCATE_TABLE": "DELETE"}.get(translated.kind, translated.kind)
            counts[kind] = rows[0][0]
        job.catalog.save(record.changed())
        stats = {
            "insertedRowCount": counts["INSERT"],
            "updatedRowCount": counts["UPDATE"],
            "deletedRowCount": counts["DELETE"],
        }
        found = {
            "numDmlAffectedRows": str(sum(counts.values())),
            "dmlStats": {name: str(count) for name, count in stats.items() if count},
            "ddlTargetTable": record.ref.api,
        }
        if translated.kind != "TRUNCATE_TABLE":
            del found["ddlTargetTable"]
        return found

    def _export(self, job: Job, translated: Translated, configuration: Query) -> Query:
        details = translated.details
        assert isinstance(details, ExportData)
        assert translated.sql
        uri, options, overwrite = export_options(details.options)
        if not overwrite:
            self._exporter.refuse_existing(uri)
        fields = list(translated.fields)
        options.row_group = row_group_rows(fields)
        files, rows = self._exporter.write(job, fields, translated.sql, uri, options, size=0)
        return {"exportDataStatistics": {"fileCount": str(files), "rowCount": str(rows)}}

    def _create_model(self, job: Job, translated: Translated, configuration: Query) -> Query:
        details = translated.details
        assert isinstance(details, CreateModel)
        assert translated.sql
        ddl.refuse_key(configuration)
        dataset = job.catalog.dataset(details.ref.dataset_ref)
        old = job.catalog.find_model(details.ref)
        target = {"ddlTargetTable": {**TableRef(*details.ref.api.values()).api}}
        if old is not None and details.if_not_exists:
            return {**target, "ddlOperationPerformed": "SKIP"}
        if old is not None and not details.replace:
            raise already_exists("Model", details.ref)
        options = dict(details.options)
        key = options.pop("kms_key_name", None)
        given = {"kmsKeyName": key} if key is not None else None
        kept = {"location": dataset["location"]}
        protected = encryption.of_model(
            given or dataset.get("defaultEncryptionConfiguration"),
            str(options.get("model_type")),
            kept["location"],
        )
        if protected:
            kept["encryptionConfiguration"] = protected
        details = dataclasses.replace(details, options=options)
        schema = arrow_schema(translated.fields)
        iterations: list[dict[str, Any]] = []

        def progress(iteration: dict[str, Any]) -> None:
            iterations.append(iteration)
            shown = {"mlStatistics": {"iterationResults": [_iteration(i) for i in iterations]}}
            job.amend(statistics={"query": shown})

        with stream(job.cursor, translated.sql, _BATCH_ROWS) as reader:
            rows = pa.RecordBatchReader.from_batches(schema, (b.cast(schema) for b in reader))
            record = self._models.create(details, rows, progress, job.cancelled)
        record.resource |= kept
        job.catalog.put_model(details.ref, record.json)
        if old is not None:
            job.on_commit(lambda: self._models.delete(ModelRecord.from_json(old)))
        job.on_rollback(lambda: self._models.delete(record))
        statistics = {
            "maxIterations": str(details.options.get("max_iterations", 20)),
            "iterationResults": [_iteration(i) for i in iterations],
            "modelType": record.resource["modelType"],
        }
        done = "CREATE" if old is None else "REPLACE"
        return {**target, "ddlOperationPerformed": done, "mlStatistics": statistics}

    def _alter_model(self, job: Job, translated: Translated, configuration: Query) -> Query:
        """ALTER MODEL SET OPTIONS: a description, labels, and the registration of the model."""
        details = translated.details
        assert isinstance(details, AlterModel)
        target = {"ddlTargetTable": {**TableRef(*details.ref.api.values()).api}}
        job.catalog.dataset(details.ref.dataset_ref)
        if details.if_exists and job.catalog.find_model(details.ref) is None:
            return {**target, "ddlOperationPerformed": "SKIP"}
        record = need_model(job, details.ref)
        options = dict(details.options)
        model_id = options.pop("vertex_ai_model_id", None)
        changes = ddl.model_options(options)
        changed = {**record.resource, **changes, "lastModifiedTime": str(now_ms())}
        record.resource = {name: value for name, value in changed.items() if value is not None}
        if model_id is not None:
            self._models.register(details.ref, record, str(model_id))
        job.catalog.put_model(details.ref, record.json)
        return {**target, "ddlOperationPerformed": "ALTER"}

    def _drop_model(self, job: Job, translated: Translated, configuration: Query) -> Query:
        ref = translated.target
        assert isinstance(ref, ModelRef)
        target = {"ddlTargetTable": {**TableRef(*ref.api.values()).api}}
        job.catalog.dataset(ref.dataset_ref)
        old = job.catalog.find_model(ref)
        if old is None:
            if translated.details.if_exists:  # type: ignore[union-attr]
                return {**target, "ddlOperationPerformed": "SKIP"}
            raise not_found("Model", ref, job.location)
        job.catalog.delete_model(ref)
        job.on_commit(lambda: self._models.delete(ModelRecord.from_json(old)))
        return {**target, "ddlOperationPerformed": "DROP"}


def need_model(job: Job, ref: ModelRef) -> ModelRecord:
    """The model's record; raises BigQueryError(notFound)."""
    return ModelRecord.from_json(job.catalog.model(ref))


def _iteration(found: dict[str, Any]) -> dict[str, Any]:
    """REST IterationResult."""
    names = {"loss": "trainingLoss", "eval_loss": "evalLoss", "learn_rate": "learnRate"}
    result: dict[str, Any] = {"index": found["index"]}
    if found.get("duration_ms") is not None:
        result["durationMs"] = str(found["duration_ms"])
    return result | {new: found[old] for old, new in names.items() if found.get(old) is not None}


def _check_names(fields: list) -> None:
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise invalid_query(
                f"Duplicate column names in the result are not supported when a destination table "
                f"is present. Found duplicate(s): {field.name}"
            )
        seen.add(field.name.lower())
