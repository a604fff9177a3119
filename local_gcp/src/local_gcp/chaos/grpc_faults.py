"""Fault injection for gRPC: a server interceptor."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from local_gcp.chaos.storm import Fate, Storm

_REFUSALS = {
    "503": (grpc.StatusCode.UNAVAILABLE, "The service is currently unavailable"),
    "429": (grpc.StatusCode.RESOURCE_EXHAUSTED, "Quota exceeded"),
    # A client's error for a connection that ends before the answer.
    "lost": (grpc.StatusCode.UNAVAILABLE, "Socket closed"),
}


class GrpcFaults(grpc.ServerInterceptor):
    """The interceptor. A method's name is that in Google's reference, with dots."""

    def __init__(self, storm: Storm):
        self._storm = storm

    def intercept_service(self, continuation: Callable, details: Any) -> Any:
        handler = continuation(details)
        name = details.method.removeprefix("/").replace("/", ".")
        fate = self._storm.fate(name)
        # No waiting here: this is the only thread that accepts calls.
        return handler if handler is None or fate == Fate() else _struck(handler, fate, name)


def _struck(handler: Any, fate: Fate, name: str) -> grpc.RpcMethodHandler:
    kinds = {
        (False, False): ("unary_unary", grpc.unary_unary_rpc_method_handler),
        (False, True): ("unary_stream", grpc.unary_stream_rpc_method_handler),
        (True, False): ("stream_unary", grpc.stream_unary_rpc_method_handler),
        (True, True): ("stream_stream", grpc.stream_stream_rpc_method_handler),
    }
    kind, make = kinds[bool(handler.request_streaming), bool(handler.response_streaming)]
    behavior = getattr(handler, kind)

    def refuse(context: Any) -> None:
        code, words = _REFUSALS[str(fate.fault)]
        context.set_trailing_metadata(())  # also lost, if it was an error
        context.abort(code, f"{words} ({name}, by local-gcp chaos).")

    def before(context: Any) -> None:
        time.sleep(fate.latency)
        if fate.fault in ("503", "429"):
            refuse(context)

    def one(request: Any, context: Any) -> Any:
        before(context)
        if fate.fault != "lost":
            return behavior(request, context)
        with contextlib.suppress(Exception):  # an error response is lost, too
            behavior(request, context)
        return refuse(context)

    def stream(request: Any, context: Any) -> Iterator[Any]:
        before(context)
        answers = behavior(request, context)
        if fate.fault == "lost":
            with contextlib.suppress(Exception):
                next(iter(answers), None)
            refuse(context)
        yield from answers

    return make(
        stream if handler.response_streaming else one,
        handler.request_deserializer,
        handler.response_serializer,
    )
