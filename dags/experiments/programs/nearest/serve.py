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
            request = json.loads(body)
            instances, parameters = request["instances"], request.get("parameters") or {}
            if parameters.get("each"):
                predictions = [self._alone(instance) for instance in instances]
            else:
                predictions = self._predictions(instances)
        except _WRONG as error:
            self._answer(400, _said(error))
            return
        self._answer(200, {"predictions": predictions})

    def _predictions(self, instances: list[dict]) -> list[dict]:
        columns = {
            name: np.array([_number(instance[name]) for instance in instances])
            for name in self.model.columns
        }
        return [self._named(row) for row in self.model.predict(columns)]

    def _alone(self, instance: dict) -> dict:
        """The prediction of an instance of a batch, or why there is none."""
        try:
            (prediction,) = self._predictions([instance])
        except _WRONG as error:
            return _said(error)
        return prediction

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


_WRONG = (AttributeError, KeyError, TypeError, ValueError)
"""What reading a request raises that is not one."""


def _said(error: Exception) -> dict:
    return {"error": f"{type(error).__name__}: {error}"}


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
