"""The model server, by Vertex AI's contract with a container: python -m nearest.serve"""

import http.server
import json
import os
import signal
import threading
from typing import Any

import numpy as np

from nearest.model import Neighbours
from trellis_contracts.program import inputs


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers Vertex AI's requests with one model."""

    model: Neighbours

    def do_GET(self) -> None:
        self._answer(200 if self.path == os.environ["AIP_HEALTH_ROUTE"] else 404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != os.environ["AIP_PREDICT_ROUTE"]:
            self._answer(404, {"error": f"there is nothing at {self.path}"})
            return
        try:
            instances = json.loads(body)["instances"]
            columns = {
                name: np.array([_number(instance[name]) for instance in instances])
                for name in self.model.columns
            }
        except (KeyError, TypeError, ValueError) as error:
            self._answer(400, {"error": f"{type(error).__name__}: {error}"})
            return
        self._answer(
            200, {"predictions": [self._named(row) for row in self.model.predict(columns)]}
        )

    def _named(self, row: np.ndarray) -> dict:
        probabilities = dict(zip(self.model.classes, row.tolist(), strict=True))
        return {"label": self.model.classes[row.argmax()], "probabilities": probabilities}

    def _answer(self, status: int, content: dict) -> None:
        sent = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_request(self, *_: object) -> None:
        pass


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def main() -> None:
    """Serve until SIGTERM."""
    Handler.model = Neighbours.load(inputs.path(os.environ["AIP_STORAGE_URI"]))
    address = ("0.0.0.0", int(os.environ["AIP_HTTP_PORT"]))
    server = http.server.ThreadingHTTPServer(address, Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()


if __name__ == "__main__":
    main()
