"""google.longrunning.Operations: durable operations of all services, with their results.

Creations, deletions, uploads and deployments return an operation, of one of two kinds:

- Without work: the service `define`s once the function that ends a method's operations, and a call
  does `begin`. After `Variants.operation_seconds` that function is called with the request; its
  effects and the end of the operation are one transaction, so kill -9 in between leaves an
  unfinished operation, which ends after the next start.
- With work (a deployment, an import): the code that does the work calls `start` and `finish`.
"""

from __future__ import annotations

import base64
import dataclasses
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
from google.longrunning import operations_pb2
from google.protobuf import empty_pb2
from google.rpc import code_pb2, status_pb2

from local_gcp import filters, names
from local_gcp.field_errors import invalid_field
from local_gcp.state import State
from local_gcp.variants import Variants
from local_gcp.wire import RpcError, not_found, pack, status_of

log = logging.getLogger(__name__)


class _Done(filters.Field):
    """Filter by the end of an operation: done=true, done!=true, done=false."""

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

_UNLISTED = re.compile(r"projects/[^/]+/locations/[^/]+/((datasets|endpoints|models)/|$)")

_FAILED = status_pb2.Status(code=code_pb2.INTERNAL, message="Internal error encountered.")
"""Error of an operation that the variant failing-operations fails, in Google's words."""


@dataclasses.dataclass(frozen=True)
class _End:
    """The function that ends the operations of one method."""

    request: Any
    end: Callable[[str, Any], Any]


class Operations:
    """Emulates google.longrunning.Operations; a `wire.ServiceHandler` serves it."""

    def __init__(self, state: State, variants: Variants):
        self._variants = variants
        self._table = state.table("operations", operations_pb2.Operation)
        self._waiting = state.table("waitingOperations", dict)
        """Unfinished operations: their method, time and request."""
        self._counts = state.table("operationCounts", dict)
        self._state = state
        self._ends: dict[str, _End] = {}
        self._timers: dict[str, threading.Timer] = {}
        self._stopping = False

    def define(self, method: str, request: Any, end: Callable[[str, Any], Any]) -> None:
        """Set the function that ends a method's operations: `end(resource, request)` returns the
        response (None: Empty) or raises RpcError, which becomes the operation's error.

        It is called inside a transaction. `request`: its class.
        """
        self._ends[method] = _End(request, end)

    def run(self) -> None:
        """Continue the operations from before a restart; all methods are defined by now."""
        for name, record in self._waiting.list():
            self._schedule(name, record["due"])

    def stop(self) -> None:
        """Stop; unfinished operations continue after the next start."""
        with self._state.lock:
            self._stopping = True
            timers = list(self._timers.values())
        for timer in timers:
            timer.cancel()
            timer.join()

    def begin(
        self, method: str, resource: str, request: Any, metadata: Any = None, owner: str = ""
    ) -> operations_pb2.Operation:
        """Start an operation on a resource, which ends as `define`d for the method.

        It is done at once if operations take no time. The request must be validated before.
        `owner`: see `start`; the resource, if it is not given.
        """
        kind, due = self._ends[method].request, time.time() + self._variants.operation_seconds
        with self._state.transaction():
            operation = self.start(owner or resource, metadata)
            record = {
                "method": method,
                "resource": resource,
                "request": base64.b64encode(kind.serialize(request)).decode(),
                "due": due,
                "fails": self.fails(method),
            }
            self._waiting.put(operation.name, record)
        if self._variants.operation_seconds:
            self._schedule(operation.name, due)
            return operation
        self._end(operation.name)
        return self._table.get(operation.name) or operation

    def fails(self, method: str) -> bool:
        """Count an operation of the method; returns whether it must fail."""
        if not self._variants.failing_operations:
            return False
        with self._state.transaction():
            count = (self._counts.get(method) or {"begun": 0})["begun"]
            self._counts.put(method, {"begun": count + 1})
            return count < self._variants.failing_operations

    def fail_later(self, resource: str, metadata: Any) -> operations_pb2.Operation:
        """Start an operation that later ends with an error."""
        with self._state.transaction():
            operation = self.start(resource, metadata)
            due = time.time() + self._variants.operation_seconds
            record = {"resource": resource, "due": due, "fails": True}
            self._waiting.put(operation.name, record)
        self._schedule(operation.name, due)
        return operation

    def under_way(self, method: str, resource: str) -> bool:
        """Return whether the resource has an unfinished operation of the method."""
        waiting = (record for _, record in self._waiting.list(f"{resource}/operations/"))
        return any(record.get("method") == method for record in waiting)

    def begin_deletion(
        self, method: str, resource: str, request: Any, metadata: Any
    ) -> operations_pb2.Operation:
        """Start the deletion of a resource of a location. The operation is the location's, as
        recordings of all kinds but models show; those of models are the model's since 2026.
        """
        owner = resource.rpartition("/")[0].rpartition("/")[0]
        return self.begin(method, resource, request, metadata, owner)

    def start(self, owner: str, metadata: Any = None) -> operations_pb2.Operation:
        """A new, unfinished operation, named OWNER/operations/ID, of a resource or a location."""
        operation = operations_pb2.Operation(name=f"{owner}/operations/{names.new_id()}")
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
        with self._state.lock:
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
            return operation

    def get_operation(self, request: Any, _context: Any) -> operations_pb2.Operation:
        return self._get(request.name)

    def list_operations(self, request: Any, _context: Any) -> dict[str, Any]:
        """The operations of a resource (MODEL, ENDPOINT) or a location, with all it contains."""
        matches = filters.parse_filter(request.filter, _FIELDS)
        if request.page_token:
            raise invalid_field("page_token", f"{request.page_token!r} is not a token.")
        prefix = f"{names.with_number(request.name)}/"
        if self._variants.list_operations == "unimplemented" and _UNLISTED.match(prefix):
            # Google's message for a method that a service does not have.
            message = "Operation is not implemented, or supported, or enabled."
            raise RpcError(grpc.StatusCode.UNIMPLEMENTED, message)
        every = (operation for _, operation in self._table.list_lagging(prefix))
        return {"operations": list(filter(matches, every))}

    def _schedule(self, name: str, due: float) -> None:
        with self._state.lock:
            if self._stopping:
                return
            timer = threading.Timer(max(0.0, due - time.time()), self._end, [name])
            timer.daemon, timer.name = True, f"operation {names.last(name)}"
            self._timers[name] = timer
            timer.start()

    def _end(self, name: str) -> None:
        record = self._waiting.get(name)
        if record is None:  # the call that began it has failed since
            return
        try:
            self._end_as_defined(name, record)
        except Exception as error:
            if not isinstance(error, RpcError):
                log.exception("%s", name)
            with self._state.transaction():
                self._waiting.delete(name)
                self.finish(name, error=status_of(error))
        finally:
            self._timers.pop(name, None)

    def _end_as_defined(self, name: str, record: Any) -> None:
        if record["fails"]:
            with self._state.transaction():
                self._waiting.delete(name)
                self.finish(name, error=_FAILED)
            return
        end = self._ends[record["method"]]
        request = end.request.deserialize(base64.b64decode(record["request"]))
        with self._state.transaction():
            response = end.end(record["resource"], request)
            self._waiting.delete(name)
            self.finish(name, response)

    def _get(self, name: str) -> operations_pb2.Operation:
        operation = self._table.get(names.with_number(name))
        if operation is None:
            raise not_found(name)
        return operation
