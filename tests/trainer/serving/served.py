"""The server of a model in a thread of this process; test_server.py has whole processes."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from trainer.serving.fetching import Fetcher
from trainer.serving.prediction_service import PredictionService
from trainer.serving.server import Server
from trainer.serving.settings import ANY_IMAGE, Settings

Ask = Callable[..., tuple[int, dict]]


@contextmanager
def served(folder: Path, image_uris: tuple[str, ...] = ANY_IMAGE) -> Iterator[Ask]:
    """Serve the model of a folder. Yields a function: instances, parameters -> status, document."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        service = PredictionService(Fetcher(image_uris))
        settings = Settings(str(folder), "127.0.0.1", port, "/health", "/predict", image_uris)
        server = Server(settings, service, f"http://127.0.0.1:{port}")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not service.is_healthy:
                assert not server.failed
                time.sleep(0.05)
            connection = HTTPConnection("127.0.0.1", port, timeout=60)

            def ask(*instances: object, **parameters: object) -> tuple[int, dict]:
                body = {"instances": instances, "parameters": parameters}
                connection.request("POST", "/predict", json.dumps(body))
                response = connection.getresponse()
                return response.status, json.load(response)

            yield ask
            connection.close()
        finally:
            server.should_exit = True
            thread.join(30)
