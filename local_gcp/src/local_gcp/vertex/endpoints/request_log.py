"""Keeps a sample of an endpoint's requests with their answers in a table of BigQuery.

A row is a request: `request_payload` and `response_payload` have its instances and predictions,
each as JSON. Vertex AI creates the table with the first row, unless it is there.
https://cloud.google.com/vertex-ai/docs/predictions/online-prediction-logging

Rows are in the table within a second: no prediction waits for it, and a kill loses that second.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import random
import sys
import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from google.cloud import aiplatform_v1 as api

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.refs import TableRef
from local_gcp.bigquery.schema import Field, arrow_schema
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.vertex import tables
from local_gcp.wire import not_emulated

FIELD = "endpoint.predict_request_response_logging_config"
TABLE = "request_response_logging"
"""Name of the table if the destination is a dataset."""
_FIELDS = [
    Field("endpoint", "STRING"),
    Field("deployed_model_id", "STRING"),
    Field("logging_time", "TIMESTAMP"),
    Field("request_id", "NUMERIC"),
    Field("request_payload", "STRING", "REPEATED"),
    Field("response_payload", "STRING", "REPEATED"),
]
_FLUSH = 0.5
"""Seconds between two writes."""


def check(config: api.PredictRequestResponseLoggingConfig, warehouse: Any) -> None:
    """Check an endpoint's configuration. warehouse: BigQuery; None where it is not emulated."""
    if not config.enabled:
        return
    if not 0 < config.sampling_rate <= 1:
        raise invalid_field(f"{FIELD}.sampling_rate", f"{config.sampling_rate:g} is not in (0, 1].")
    where = f"{FIELD}.bigquery_destination.output_uri"
    uri = config.bigquery_destination.output_uri
    if not uri:
        raise invalid_field(where, REQUIRED)
    dataset, _ = tables.destination(uri, where)
    if dataset is None or warehouse is None:
        raise not_emulated(f"{where}: a dataset of Vertex AI's own", "Name a dataset or table.")


class RequestLog:
    """See the module. warehouse: BigQuery's tables; None where it is not emulated."""

    def __init__(self, warehouse: Any):
        self.warehouse = warehouse
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._rows: dict[TableRef, list[dict[str, Any]]] = {}
        self._stopping = threading.Event()
        self._writer = threading.Thread(target=self._write, name="request_log", daemon=True)

    def start(self) -> None:
        """Write from now on."""
        self._writer.start()

    def stop(self) -> None:
        """Write the last rows."""
        self._stopping.set()
        if self._writer.ident is not None:
            self._writer.join()
        self._flush()

    def add(
        self,
        endpoint: api.Endpoint,
        deployed: api.DeployedModel,
        instances: Sequence[Any],
        predictions: Sequence[Any],
    ) -> None:
        """Keep a request that was answered, if the endpoint asks for it and chance takes it."""
        config = endpoint.predict_request_response_logging_config
        if not config.enabled or random.random() >= config.sampling_rate:
            return
        dataset, table = tables.destination(config.bigquery_destination.output_uri, FIELD)
        project = config.bigquery_destination.output_uri.removeprefix("bq://").split(".")[0]
        ref = tables.table_ref(f"bq://{project}.{dataset}.{table or TABLE}", FIELD)
        row = {
            "endpoint": endpoint.name,
            "deployed_model_id": deployed.id,
            "logging_time": datetime.datetime.now(datetime.UTC),
            "request_id": Decimal(random.getrandbits(62)),
            "request_payload": [json.dumps(instance) for instance in instances],
            "response_payload": [json.dumps(prediction) for prediction in predictions],
        }
        with self._lock:
            self._rows.setdefault(ref, []).append(row)

    def _write(self) -> None:
        while not self._stopping.wait(_FLUSH):
            self._flush()

    def _flush(self) -> None:
        """All requests that were kept until now are in their tables when this returns."""
        with self._flushing:
            with self._lock:
                rows, self._rows = self._rows, {}
            for ref, found in rows.items():
                table = pa.Table.from_pylist(found, arrow_schema(_FIELDS))
                # As with Google, a table that is gone or of another form costs no caller an answer.
                with contextlib.suppress(BigQueryError):
                    self.warehouse.write(ref, table, _FIELDS, "WRITE_APPEND")
                    continue
                print(f"{len(found)} requests are not kept: {ref}", file=sys.stderr)
