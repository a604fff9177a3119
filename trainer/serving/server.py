"""The server process: binds the port, loads the model, serves and drains.

The port answers from the first second, as Vertex AI's liveness check requires; the health route
returns 503 until the model is loaded and has predicted once. SIGTERM or SIGINT ends the server
without losing a request:

1. The health route returns 503 and every response closes its connection, so that the load balancer
   stops sending requests here. Requests that still arrive are answered.
2. After two seconds without a request, or after fifteen in all, the port is closed.
3. Accepted requests are answered, then the process ends with exit code 0.

A second signal skips the first step.
"""

import asyncio
import gc
import logging
import os
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType

import uvicorn

from trainer import storage
from trainer.serving.app import create_app
from trainer.serving.cloud_storage import CloudStorage, ObjectError, UnreachableError
from trainer.serving.fetching import Fetcher
from trainer.serving.limits import MAX_BATCH
from trainer.serving.model import Model, ModelError, is_model
from trainer.serving.prediction_service import PredictionService
from trainer.serving.settings import Settings

_log = logging.getLogger(__name__)

# Kubernetes removes a pod from its routes within about a second of the signal, and by default kills
# it 30 s after the signal.
_QUIET_SECONDS = 2
_LONGEST_NOTICE_SECONDS = 15
_LAST_ANSWERS_SECONDS = 10

# Longer than Google's load balancers keep an idle connection, so that they always close it; a
# server that closes first loses a request that is just being sent.
# https://cloud.google.com/load-balancing/docs/https#timeouts_and_retries
_KEEP_ALIVE_SECONDS = 620


def run(settings: Settings) -> int:
    """Serve until a signal; returns the exit code."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    try:
        listener = socket.create_server(
            (settings.host, settings.port),
            family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
            backlog=2048,
        )
    except OSError as error:
        print(
            f"serve: cannot listen on {settings.host}:{settings.port}: {error.strerror}; choose "
            "another --port or --host",
            file=sys.stderr,
        )
        return 1
    # Connections inherit this option. asyncio sets it only on sockets that name their protocol;
    # without it, every response waits 40 ms for the client to acknowledge its first half.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    base = f"http://{name}:{listener.getsockname()[1]}"
    server = Server(settings, PredictionService(Fetcher(settings.image_uris)), base)
    server.run(sockets=[listener])
    code = 1 if server.failed else 0
    if server.loading.is_alive():
        # TensorFlow's import or a download cannot be interrupted, only abandoned.
        sys.stdout.flush()
        os._exit(code)
    return code


class Server(uvicorn.Server):
    """uvicorn's server; it loads a model in the background, and drains before it stops."""

    def __init__(self, settings: Settings, service: PredictionService, base: str):
        app = create_app(service, settings.health_route, settings.predict_route)
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http="httptools",
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
            )
        )
        self.failed = False
        self.loading = threading.Thread(target=self._load, daemon=True)
        self._settings = settings
        self._service = service
        self._base = base  # http://HOST:PORT
        self._drain: asyncio.Task | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start answering, and loading the model."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        health = f"{self._base}{self._settings.health_route}"
        print(f"loading {self._settings.model}; {health} returns 200 when it is ready", flush=True)
        self.loading.start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start draining; uvicorn's own handler would close the port at once."""
        if self._service.draining or not self._service.is_healthy:
            self.should_exit = True
        else:
            self._service.draining = True
            self._loop.call_soon_threadsafe(self._start_drain)

    def _start_drain(self) -> None:
        self._drain = self._loop.create_task(self._give_notice())

    async def _give_notice(self) -> None:
        print("signal received: draining, requests are answered until none arrive", flush=True)
        start = self._loop.time()
        while (now := self._loop.time()) < start + _LONGEST_NOTICE_SECONDS:
            if now >= max(start, self._service.last_request) + _QUIET_SECONDS:
                break
            await asyncio.sleep(0.1)
        self.should_exit = True

    def _load(self) -> None:
        start = time.monotonic()
        try:
            model = load_model(self._settings.model)
        except ModelError as error:
            print(f"serve: {error}", file=sys.stderr, flush=True)
        except Exception:
            _log.exception("loading %s failed", self._settings.model)
        else:
            self._service.model = model
            seconds = time.monotonic() - start
            url = f"{self._base}{self._settings.predict_route}"
            print(f"ready after {seconds:.1f} s: POST {url}", flush=True)
            return
        self.failed = self.should_exit = True


def load_model(address: str) -> Model:
    """Load and warm up the model at a gs:// address or path. Raises ModelError."""
    if "://" not in address:
        return _read_model(Path(address), address)
    with tempfile.TemporaryDirectory() as folder:
        try:
            bucket, name = storage.split_uri(address)
            CloudStorage().download(bucket, name, Path(folder))
        except (storage.StorageError, ObjectError, UnreachableError) as error:
            raise ModelError(f"the model cannot be read: {error}") from error
        return _read_model(Path(folder), address)


def _read_model(folder: Path, address: str) -> Model:
    if not is_model(folder):
        raise ModelError(
            f"there is no model at {address}: expected the folder that a training has saved it in, "
            "RUN/training/RANK/model/"
        )
    model = Model.load(folder)
    model.warm_up(MAX_BATCH)
    # TensorFlow's 400,000 objects are never freed. Without this, the garbage collector visits them
    # every few seconds under load, and all requests wait half a second.
    gc.collect()
    gc.freeze()
    return model
