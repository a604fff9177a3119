"""google.longrunning.Operations: operations of all services, with their results, durably.

Deletions, uploads and deployments answer with an operation. What is done at once is `finish`ed in
the call itself; what takes time is begun with `start` and finished later, by whatever thread.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import grpc
from google.longrunning import operations_pb2
from google.protobuf import empty_pb2
from google.rpc import status_pb2

from local_gcp import filters, names
from local_gcp.state import State
from local_gcp.wire import RpcError, failed_precondition, invalid_argument, not_found, pack


class _Done(filters.Field):
    """Whether it is over: done=true, done!=true, done=false."""

    operators = ("=", "!=")

    def test(self, op: str, value: str, _key: str | None) -> filters.Predicate:
        if value not in ("true", "false"):
            raise ValueError(f"done is true or false, not {value!r}")
        wanted = (value == "true") == (op == "=")
        return lambda operation: operation.done == wanted


_FIELDS = {"done": _Done("done"), "operation_id": filters.Id("operation_id")}
"""Vertex AI says "the standard list filter" and no more; these two are those of AutoML, which it
grew out of: https://cloud.google.com/automl/docs/reference/rest/v1/projects.locations.operations/list
"""

WAIT_AT_MOST = 60.0
"""Seconds that a WaitOperation may hold a thread of the server."""
ANSWER_TAKES = 0.5
"""Seconds before the client's deadline at which a WaitOperation is answered."""


class Operations:
    """Emulates google.longrunning.Operations; a `wire.ServiceHandler` serves it."""

    def __init__(self, state: State):
        self._table = state.table("operations", operations_pb2.Operation)
        self._state = state
        self._finished = threading.Condition(state.lock)

    def start(self, resource: str, metadata: Any = None) -> operations_pb2.Operation:
        """A new, unfinished operation, named RESOURCE/operations/ID as in Vertex AI."""
        operation = operations_pb2.Operation(name=f"{resource}/operations/{names.new_id()}")
        if metadata is not None:
            operation.metadata.CopyFrom(pack(metadata))
        self._table.put(operation.name, operation)
        return operation

    def finish(
        self,
        name: str,
        response: Any = None,
        error: status_pb2.Status | None = None,
        metadata: Any = None,
    ) -> operations_pb2.Operation:
        """End operation `name`: with `response` (default: Empty) or with an error.

        `metadata` takes the place of that of `start`.
        """
        with self._finished:
            operation = self._table.get(name)
            if operation is None or operation.done:
                raise ValueError(f"{name} is not an unfinished operation.")
            operation.done = True
            if metadata is not None:
                operation.metadata.CopyFrom(pack(metadata))
            if error:
                operation.error.CopyFrom(error)
            else:
                response = empty_pb2.Empty() if response is None else response
                operation.response.CopyFrom(pack(response))
            self._table.put(name, operation)
            self._finished.notify_all()
            return operation

    def done(
        self, resource: str, response: Any = None, metadata: Any = None
    ) -> operations_pb2.Operation:
        """An operation that was over before the call returned."""
        with self._state.transaction():
            return self.finish(self.start(resource, metadata).name, response)

    def get_operation(self, request: Any, _context: Any) -> operations_pb2.Operation:
        return self._get(request.name)

    def list_operations(self, request: Any, _context: Any) -> dict[str, Any]:
        """Of a resource (MODEL, ENDPOINT), or of a location: also of all that is in it."""
        matches = filters.parse_filter(request.filter, _FIELDS)
        if request.page_token:
            raise invalid_argument("page_token", f"{request.page_token!r}: there is one page only.")
        prefix = f"{names.with_number(request.name)}/"
        every = (operation for _, operation in self._table.list(prefix))
        return {"operations": list(filter(matches, every))}

    def delete_operation(self, request: Any, _context: Any) -> empty_pb2.Empty:
        if not self._table.delete(self._get(request.name).name):
            raise not_found(request.name)
        return empty_pb2.Empty()

    def cancel_operation(self, request: Any, _context: Any) -> empty_pb2.Empty:
        operation = self._get(request.name)
        if not operation.done:
            raise RpcError(
                grpc.StatusCode.UNIMPLEMENTED,
                f"{request.name} cannot be cancelled: local_gcp does not emulate that for it.",
            )
        raise failed_precondition(f"{request.name} is done and cannot be cancelled.")

    def wait_operation(self, request: Any, context: Any) -> operations_pb2.Operation:
        limits = [WAIT_AT_MOST]
        if request.HasField("timeout"):
            limits.append(request.timeout.ToTimedelta().total_seconds())
        if context.time_remaining() is not None:
            limits.append(context.time_remaining() - ANSWER_TAKES)
        deadline = time.monotonic() + min(limits)
        with self._finished:
            while not (operation := self._get(request.name)).done:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._finished.wait(left)
            return operation

    def _get(self, name: str) -> operations_pb2.Operation:
        operation = self._table.get(names.with_number(name))
        if operation is None:
            raise not_found(name)
        return operation
