"""The server process: puts the services together and runs them until it is stopped.

    clients ──https_proxy──> gateway ──> REST server (uvicorn, one port) ──host──> service.rest
       │                        └──────> gRPC server (one port) ──method──> service.grpc_handlers
       └────LOCAL_GCP_URL────────────> REST server ──> Cloud Storage, /local_gcp/...

How to plug in a service: write a class that derives from `service.Service` and takes a
`service.Context`, and add it to `services()` below. All of its attributes are optional:

- `hosts` and `rest`: an ASGI application (Starlette) for HTTP/1.1 requests to these host patterns.
  Register `exception_handlers=HANDLERS` (module `rest`) and raise
  `rest.ApiError` or `rest.not_emulated(...)` for answers in Google's error format.
- `grpc_handlers`: `grpc.GenericRpcHandler`s, asked in turn; methods run in a pool of threads.
- `start()`: recover what a killed server left behind, start threads. Health turns true after it.
- `stop()`: end running jobs. Called at `down`, SIGTERM and SIGINT, while requests are still served;
  never after kill -9.
- `jobs()`: this service's entries of `jobs` in the status, as `local-gcp status --json`
  shows them; called from a thread at every status request.
- `preempt(job)`, `fail(job)`: for `local-gcp preempt JOB` and `local-gcp fail JOB`.

Give `context.environment` to every process of a job. Log with `logging.getLogger(__name__)`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import uvicorn

from local_gcp.admin import admin_app
from local_gcp.bigquery.service import BigQuery
from local_gcp.calls import logged
from local_gcp.certificates import Pki
from local_gcp.chaos.grpc_faults import GrpcFaults
from local_gcp.chaos.rest_faults import RestFaults
from local_gcp.chaos.storm import Storm
from local_gcp.dataflow.service import Dataflow
from local_gcp.environment import client_environment
from local_gcp.gateway import Gateway
from local_gcp.home import LOOPBACK, Home
from local_gcp.http_protocol import HttpProtocol
from local_gcp.identity import Identity
from local_gcp.monitoring.service import Monitoring
from local_gcp.project import project_id
from local_gcp.project_apis.service import ProjectApis
from local_gcp.rest import HostDispatch
from local_gcp.rights import GrpcRights, RestRights
from local_gcp.service import Context, Service
from local_gcp.storage.service import Storage
from local_gcp.vertex.service import Vertex

log = logging.getLogger(__name__)

GRPC_THREADS = 128
"""Many: a prediction or a wait for an operation blocks one for up to a minute."""
GRPC_MESSAGE_BYTES = 64 << 20
KEEP_ALIVE_SECONDS = 600
"""Long: a pooled connection that the server closes just as the client reuses it fails a request."""


def services(context: Context) -> list[Service]:
    """All services, in the order of their start; they are stopped in reverse."""
    bigquery = BigQuery(context)
    vertex = Vertex(context, bigquery.warehouse)
    bigquery.models.registry = vertex.registry.register
    # Stopped in reverse: Vertex AI's runner, which all jobs share, last but Storage.
    dataflow = Dataflow(context, vertex.state, vertex.runner)
    # BigQuery before Storage: they share the host www.googleapis.com, and its paths are fewer.
    storage = Storage(context)
    project = ProjectApis(context, bigquery.rest, storage.rest)
    monitoring = Monitoring(context, vertex.usage, vertex.quotas_in_use)
    return [project, Identity(context), bigquery, storage, vertex, dataflow, monitoring]


async def serve(home: Home, sockets: dict[str, socket.socket]) -> None:
    """Run until SIGTERM or SIGINT. `sockets`: bound ones for "proxy" and "http"."""
    endpoints = home.choose_endpoints()
    pki = Pki(home.pki)
    pki.ensure(project_id())
    context = Context(home, project_id(), endpoints, client_environment(home, endpoints))
    emulated = services(context)

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)

    storm = Storm(home.chaos_file)
    grpc_server, grpc_port = _grpc_server(emulated, storm)
    web = _rest_server(context, emulated, storm)
    gateway = Gateway(pki.server, http=endpoints.http, grpc=grpc_port)
    started: list[Service] = []
    try:
        for service in emulated:
            started.append(service)
            await asyncio.to_thread(service.start)
        grpc_server.start()
        await gateway.start(sockets["proxy"])
        # Last: a client that gets its health may then use all services.
        web_task = asyncio.create_task(web.serve(sockets=[sockets["http"]]))
        log.info("local_gcp serves %s: proxy %s", home.root, endpoints.proxy_url)
        await _first(stopping.wait(), web_task)
    finally:
        log.info("local_gcp stops")
        for service in reversed(started):  # requests are still served: ending jobs save their work
            try:
                await asyncio.to_thread(service.stop)
            except Exception:
                log.exception("%s did not stop cleanly", type(service).__name__)
        await gateway.stop()
        web.should_exit = True
        grpc_server.stop(grace=1).wait()
    await web_task


def _grpc_server(emulated: list[Service], storm: Storm) -> tuple[grpc.Server, int]:
    server = grpc.server(
        ThreadPoolExecutor(GRPC_THREADS, thread_name_prefix="grpc"),
        interceptors=[GrpcRights(), GrpcFaults(storm)],
        options=[("grpc.max_receive_message_length", GRPC_MESSAGE_BYTES)],
    )
    handlers = [handler for service in emulated for handler in service.grpc_handlers]
    server.add_generic_rpc_handlers((*handlers, _NotEmulated()))
    port = server.add_insecure_port(f"{LOOPBACK}:0")
    return server, port


def _rest_server(context: Context, emulated: list[Service], storm: Storm) -> uvicorn.Server:
    storage = next(service for service in emulated if isinstance(service, Storage))
    routes = [(host, s.rest) for s in emulated if s.rest for host in s.hosts]
    admin = admin_app(context, emulated, storage.rest, storm)
    routes += [(host, admin) for host in (LOOPBACK, "localhost")]
    config = uvicorn.Config(
        logged(RestFaults(RestRights(HostDispatch(routes)), storm)),
        http=HttpProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=3,
    )
    return _RestServer(config)


async def _first(*awaitables) -> None:
    await asyncio.wait(map(asyncio.ensure_future, awaitables), return_when=asyncio.FIRST_COMPLETED)


class _RestServer(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # signals are serve()'s: the services must stop too


class _NotEmulated(grpc.GenericRpcHandler):
    """The last handler: refuses the method by name."""

    def service(self, handler_call_details):
        method = handler_call_details.method

        def refuse(_requests, context):
            log.warning("UNIMPLEMENTED: %s", method)
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"local_gcp does not emulate {method}.")

        return grpc.stream_stream_rpc_method_handler(refuse)
