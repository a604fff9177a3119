"""The Storage Read API (gRPC): `to_arrow` and `to_dataframe` read large results through it.

https://cloud.google.com/bigquery/docs/reference/storage/rpc/google.cloud.bigquery.storage.v1
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import grpc
import pyarrow as pa
from google.cloud.bigquery_storage_v1 import types
from google.protobuf import timestamp_pb2

from local_gcp.wire import (
    RpcError,
    ServiceHandler,
    invalid_argument,
    method_table,
    not_emulated,
    refuse_unread,
)

from .errors import BigQueryError
from .failures import as_bigquery_error
from .read_sessions import ReadSessions
from .refs import TableRef
from .resources import checked_project
from .schema import Field, arrow_schema

log = logging.getLogger(__name__)

_SERVICE = "google.cloud.bigquery_storage_v1.services.big_query_read"
_READ_ROWS = "/google.cloud.bigquery.storage.v1.BigQueryRead/ReadRows"
_TABLE = re.compile(r"projects/([^/]+)/datasets/([^/]+)/tables/([^/]+)")
_PARENT = re.compile(r"projects/([^/]+)")
_CODES = {
    "notFound": grpc.StatusCode.NOT_FOUND,
    "accessDenied": grpc.StatusCode.PERMISSION_DENIED,
    "notImplemented": grpc.StatusCode.UNIMPLEMENTED,
    "resourcesExceeded": grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_MOST_STREAMS = 100
_DEFAULT_STREAMS = 4


def read_handlers(sessions: ReadSessions) -> list[grpc.GenericRpcHandler]:
    """gRPC handlers of google.cloud.bigquery.storage.v1.BigQueryRead."""
    return [_ReadRows(sessions), ServiceHandler(_SERVICE, _Read(sessions))]


class _Read:
    """The unary methods."""

    def __init__(self, sessions: ReadSessions):
        self._sessions = sessions

    def create_read_session(self, request: Any, context: grpc.ServicerContext) -> Any:
        wanted = request.read_session
        options = wanted.read_options
        match = _TABLE.fullmatch(wanted.table)
        parent = _PARENT.fullmatch(request.parent)
        if not match:
            raise invalid_argument("read_session.table", f"{wanted.table!r} is not a table's name.")
        if not parent:
            raise invalid_argument("parent", f"{request.parent!r} is not projects/PROJECT.")
        formats = types.DataFormat
        if wanted.data_format == formats.AVRO:
            raise not_emulated("the data format AVRO", "Read ARROW, as to_dataframe does.")
        if wanted.data_format != formats.ARROW:
            raise invalid_argument("read_session.data_format", "expected ARROW.")
        most = min(request.max_stream_count or _MOST_STREAMS, _MOST_STREAMS)
        streams = min(request.preferred_min_stream_count or _DEFAULT_STREAMS, most)
        try:
            project = checked_project(match[1])
            checked_project(parent[1])
            session = self._sessions.create(
                TableRef(project, match[2], match[3]),
                list(options.selected_fields),
                options.row_restriction,
                streams,
                f"projects/{project}/locations/us",
            )
        except Exception as error:
            raise _rpc_error(error) from error
        answer = types.ReadSession(
            name=session.name,
            table=wanted.table,
            data_format=wanted.data_format,
            read_options=options,
            streams=[{"name": f"{session.name}/streams/{i}"} for i in range(len(session.streams))],
            estimated_total_bytes_scanned=session.bytes,
            estimated_row_count=session.rows,
            expire_time=timestamp_pb2.Timestamp(seconds=int(session.expires)),
        )
        _set_schema(answer, session.fields)
        return answer


class _ReadRows(grpc.GenericRpcHandler):
    """ReadRows, a streaming method."""

    def __init__(self, sessions: ReadSessions):
        self._sessions = sessions
        self._request, self._response = method_table(_SERVICE)[_READ_ROWS]

    def service(self, handler_call_details: Any) -> grpc.RpcMethodHandler | None:
        if handler_call_details.method != _READ_ROWS:
            return None
        return grpc.unary_stream_rpc_method_handler(
            self._read, self._request.deserialize, self._response.serialize
        )

    def _read(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from self._answers(request)
        except Exception as error:
            context.abort_with_status(_rpc_error(error).status())

    def _answers(self, request: Any) -> Iterator[Any]:
        refuse_unread(request)
        session = self._sessions.session_of(request.read_stream)
        before, first = 0.0, True
        for _, batch, share in self._sessions.read(request.read_stream, request.offset):
            answer = types.ReadRowsResponse(row_count=batch.num_rows, **_arrow_rows(batch))
            answer.stats.progress.at_response_start = before
            answer.stats.progress.at_response_end = before = share
            if first:
                _set_schema(answer, session.fields)
                first = False
            yield answer


def _arrow_rows(batch: pa.RecordBatch) -> dict[str, Any]:
    data = batch.serialize().to_pybytes()
    return {"arrow_record_batch": {"serialized_record_batch": data, "row_count": batch.num_rows}}


def _set_schema(answer: Any, fields: list[Field]) -> None:
    data = arrow_schema(fields).serialize().to_pybytes()
    answer.arrow_schema = types.ArrowSchema(serialized_schema=data)


def _rpc_error(error: Exception) -> RpcError:
    if isinstance(error, RpcError):
        return error
    found: BigQueryError = as_bigquery_error(error)
    log.info("Storage Read API: %s", found.message)
    return RpcError(_CODES.get(found.reason, grpc.StatusCode.INVALID_ARGUMENT), found.message)
