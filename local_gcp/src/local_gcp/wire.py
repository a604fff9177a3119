"""gRPC without servicer stubs: any Google service, emulated by an object with snake_case methods.

Google publishes client libraries, not server stubs. But each generated client transport, when it
is created, asks its channel for one stub per method, with the path and the message classes.
`method_table` gives it a channel that only records, and `ServiceHandler` serves those methods:

    handler = ServiceHandler("google.cloud.aiplatform_v1.services.job_service", JobService(...))
    grpc.server(...).add_generic_rpc_handlers([handler])

A method is the client's own name for it: `create_custom_job(request, context)`; it returns the
response message, or a dict of its fields, or raises `RpcError`. A method that the object does not
have ends with UNIMPLEMENTED and its full name.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import grpc
import proto
from google.longrunning import operations_pb2
from google.protobuf import any_pb2, empty_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from local_gcp.calls import log_rpc
from local_gcp.rest import internal_error

log = logging.getLogger(__name__)

Method = tuple[Any, Any]
"""(request class, response class), each a proto-plus or a plain protobuf class."""

_HEADER_BYTES = 6000
"""For an error's message: gRPC clients begin to refuse trailing headers at 8192 bytes."""

_OPERATIONS = {
    "/google.longrunning.Operations/ListOperations": (
        operations_pb2.ListOperationsRequest,
        operations_pb2.ListOperationsResponse,
    ),
    "/google.longrunning.Operations/GetOperation": (
        operations_pb2.GetOperationRequest,
        operations_pb2.Operation,
    ),
    "/google.longrunning.Operations/DeleteOperation": (
        operations_pb2.DeleteOperationRequest,
        empty_pb2.Empty,
    ),
    "/google.longrunning.Operations/CancelOperation": (
        operations_pb2.CancelOperationRequest,
        empty_pb2.Empty,
    ),
    "/google.longrunning.Operations/WaitOperation": (
        operations_pb2.WaitOperationRequest,
        operations_pb2.Operation,
    ),
}


class RpcError(Exception):
    """A status other than OK.

    `violations`: (field of the request, message) of each invalid field, parts of `message`. They
    are sent as a BadRequest detail, which Google's clients show.
    """

    def __init__(
        self, code: grpc.StatusCode, message: str, violations: Sequence[tuple[str, str]] = ()
    ):
        super().__init__(message)
        self.code, self.message, self.violations = code, message, violations

    def status(self) -> Any:
        """The `grpc.Status` with google.rpc details."""
        message = _shortened(self.message)
        status = status_pb2.Status(code=getattr(code_pb2, self.code.name), message=message)
        if self.violations:
            detail, left = error_details_pb2.BadRequest(), len(message)
            for field, description in self.violations:
                detail.field_violations.add(field=field, description=description[:left])
                left = max(0, left - len(description))
            status.details.add().Pack(detail)
        return rpc_status.to_status(status)


def invalid_argument(field: str, problem: str) -> RpcError:
    """INVALID_ARGUMENT for a field of the request; Vertex AI's have a form: see `field_errors`."""
    message = f"{field}: {problem}"
    return RpcError(grpc.StatusCode.INVALID_ARGUMENT, message, [(field, problem)])


def not_found(name: str) -> RpcError:
    """NOT_FOUND for a resource name."""
    return RpcError(grpc.StatusCode.NOT_FOUND, f"{name} is not found.")


def already_exists(name: str) -> RpcError:
    """ALREADY_EXISTS for a resource name that the caller chose."""
    return RpcError(grpc.StatusCode.ALREADY_EXISTS, f"{name} already exists.")


def failed_precondition(message: str) -> RpcError:
    """FAILED_PRECONDITION: the resource's state does not allow the call."""
    return RpcError(grpc.StatusCode.FAILED_PRECONDITION, message)


def not_emulated(what: str, instead: str = "") -> RpcError:
    """UNIMPLEMENTED for a feature of Google Cloud that local_gcp lacks; `instead`: what to do."""
    return RpcError(
        grpc.StatusCode.UNIMPLEMENTED, f"local_gcp does not emulate {what}. {instead}".strip()
    )


def as_rpc_error(error: Exception, what: str = "this request") -> RpcError:
    """The error to report for one of any kind, which ended `what`.

    One of local_gcp's own is UNIMPLEMENTED with its text: clients retry an INTERNAL one, which
    would blame Google Cloud for what it does and local_gcp does not.
    """
    if isinstance(error, RpcError):
        return error
    return not_emulated(f"{what}: {internal_error(error)}")


def status_of(error: Exception) -> status_pb2.Status:
    """The google.rpc.Status of a caller's error, or of an internal error of local_gcp."""
    reported = as_rpc_error(error)
    return status_pb2.Status(code=getattr(code_pb2, reported.code.name), message=reported.message)


def method_table(services: str) -> dict[str, Method]:
    """The methods of one generated service package, by path.

    `services` is the package beside the client's types, for example
    "google.cloud.aiplatform_v1.services.job_service". Result:
    {"/google.cloud.aiplatform.v1.JobService/GetCustomJob": (GetCustomJobRequest, CustomJob), ...}
    """
    module = importlib.import_module(f"{services}.transports.grpc")
    (transport,) = (value for name, value in vars(module).items() if name.endswith("GrpcTransport"))
    recorder = _Recorder()
    # The transport wraps its channel in a logging interceptor, and an intercepted channel asks for
    # a stub only when it is first called.
    with mock.patch.object(grpc, "intercept_channel", lambda channel, *_: channel):
        transport(channel=recorder)
    return recorder.table


class _Recorder(grpc.Channel):
    """A channel without a connection, which records the requested stubs."""

    def __init__(self) -> None:
        self.table: dict[str, Method] = {}

    def _record(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        **_: Any,
    ) -> Callable[..., None]:
        request = getattr(request_serializer, "__self__", None)
        # The mixins (operations, locations, IAM) pass plain protobuf serializers, which do not
        # know their class; of these only operations are emulated, from their own table.
        if isinstance(request, proto.message.MessageMeta):
            response = getattr(response_deserializer, "__self__", empty_pb2.Empty)
            self.table[method] = (request, response)
        return lambda *_args, **_kwargs: None

    unary_unary = unary_stream = stream_unary = stream_stream = _record

    def subscribe(self, callback: Any, try_to_connect: bool | None = False) -> None: ...

    def unsubscribe(self, callback: Any) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> _Recorder:
        return self

    def __exit__(self, *_: Any) -> None: ...


_NOT_EMULATED = {
    "CopyModelRequest": ("encryption_spec", "custom_service_account"),
    "CreateMetadataStoreRequest": ("metadata_store.dataplex_config",),
    "CreateReadSessionRequest": (
        "read_session.table_modifiers.snapshot_time",
        "read_session.read_options.sample_percentage",
        "read_session.read_options.response_compression_codec",
        "read_session.read_options.arrow_serialization_options.picos_timestamp_precision",
        "read_session.read_options.avro_serialization_options",
    ),
    "ExplainRequest": ("explanation_spec_override.examples_override",),
    "ListOperationsRequest": ("return_partial_success",),
    "PredictRequest": ("labels",),
    "RawPredictRequest": ("http_body.extensions",),
    "ReadRowsRequest": ("arrow_serialization_options",),
    "UpdateJobRequest": ("update_mask",),
    "UploadModelRequest": ("service_account",),
}
"""Fields of requests that no method reads; those of resources are kept and returned, or checked by
the methods. Batches of Arrow's may be compressed, and are not: buffer_compression has no effect on
what is read."""


def refuse_unread(request: Any) -> None:
    """Raise UNIMPLEMENTED for a field of the request that would be ignored."""
    kind = type(request).__name__
    for path in _NOT_EMULATED.get(kind, ()):
        holder = type(request).pb(request) if isinstance(request, proto.Message) else request
        for name in path.split("."):
            if name not in {field.name for field, _ in holder.ListFields()}:
                break
            holder = getattr(holder, name)
        else:
            raise not_emulated(f"the field {path} of {kind}")


class ServiceHandler(grpc.GenericRpcHandler):
    """One service, emulated by the first of `implementations` that has a method of the name.

    `services` is a generated package (see `method_table`), or "google.longrunning.operations".
    """

    def __init__(self, services: str, *implementations: object):
        operations = services == "google.longrunning.operations"
        self.table = _OPERATIONS if operations else method_table(services)
        self.implementations = implementations

    def service(self, handler_call_details: Any) -> grpc.RpcMethodHandler | None:
        path = handler_call_details.method
        if path not in self.table:
            return None
        request_class, response_class = self.table[path]
        name = snake_case(path.rpartition("/")[2])
        functions = (getattr(part, name, None) for part in self.implementations)
        function = next(filter(None, functions), None)

        def call(request: Any, context: grpc.ServicerContext) -> Any:
            try:
                if function is None:
                    raise not_emulated(path.removeprefix("/").replace("/", "."))
                refuse_unread(request)
                response = function(request, context)
                log_rpc(path, "OK", (request_class, request), (response_class, response))
                return response
            except Exception as error:
                if not isinstance(error, RpcError):
                    log.exception("%s failed", path)
                reported = as_rpc_error(error, path.removeprefix("/").replace("/", "."))
                log.info("%s: %s: %s", path, reported.code.name, reported.message)
                log_rpc(path, reported.code.name, (request_class, request))
                context.abort_with_status(reported.status())

        return grpc.unary_unary_rpc_method_handler(
            call, _deserializer(request_class), _serializer(response_class)
        )


def snake_case(name: str) -> str:
    """CreateCustomJob -> create_custom_job, as the generated clients name their methods."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _shortened(message: str) -> str:
    # It is sent percent-encoded, and twice more in the details.
    used = 0
    for position, character in enumerate(message):
        used += (
            3 if character.isprintable() and character.isascii() else 5 * len(character.encode())
        )
        if used > _HEADER_BYTES:
            return message[:position] + "..."
    return message


def _deserializer(message: Any) -> Callable[[bytes], Any]:
    plus = isinstance(message, proto.message.MessageMeta)
    return message.deserialize if plus else message.FromString


def _serializer(message: Any) -> Callable[[Any], bytes]:
    def serialize(value: Any) -> bytes:
        if isinstance(message, proto.message.MessageMeta):
            return message.serialize(value if isinstance(value, message) else message(value))
        value = value if isinstance(value, message) else message(**value)
        return value.SerializeToString()

    return serialize


def pack(message: Any) -> any_pb2.Any:
    """A proto-plus or protobuf message as google.protobuf.Any, as operations carry it."""
    packed = any_pb2.Any()
    packed.Pack(type(message).pb(message) if isinstance(message, proto.Message) else message)
    return packed
