"""A serving container as a process of its own, and requests to it, as Vertex AI makes them.

https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements: it listens on
AIP_HTTP_PORT, AIP_HEALTH_ROUTE returns 200 when it is ready, and AIP_PREDICT_ROUTE takes
{"instances": [...], "parameters": ...} and returns {"predictions": [...]}.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from local_gcp.environment import without_rights
from local_gcp.home import LOOPBACK
from local_gcp.jobs.machine import free_addresses
from local_gcp.jobs.variables import environment, expand
from local_gcp.vertex.automl.features import DataError

READY = 300.0
"""Seconds until it must be healthy."""
ANSWER = 600.0
"""Seconds that a request may take."""
_TRIES = 3
_LONGEST = 1000
"""Characters of a response in an error."""


class RequestError(Exception):
    """The container's response to a request has no predictions: its instances have none.

    The text is Vertex AI's, quoted from tables and files of failed jobs.
    """

    def __init__(self, problem: str):
        super().__init__(f"Post request fails. Cannot get predictions. Error: {problem}")


class Container:
    """The running container; use it as a context. DataError when it does not become healthy.

    `config`: argv, env (the image's and the model's variables), cwd, health and predict (routes),
    account (its service account, or "").
    """

    def __init__(self, config: dict[str, Any]):
        (address,) = free_addresses(1, ())
        self._port = int(address.rpartition(":")[2])
        self._health, self._predict = config["health"], config["predict"]
        service = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if not config["account"]:
            service = without_rights(service)
        service |= {**config["image"], "AIP_HTTP_PORT": str(self._port)}
        variables = environment(service, config["env"])
        self._process = subprocess.Popen(
            [expand(argument, variables) for argument in config["argv"]],
            env=variables,
            cwd=config["cwd"],
            stdin=subprocess.DEVNULL,
        )

    def __enter__(self) -> Container:
        try:
            self._wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self._end()

    def predict(self, instances: Sequence[Any], parameters: Any) -> list[Any]:
        """The prediction of each instance; RequestError."""
        body: dict[str, Any] = {"instances": list(instances)}
        if parameters is not None:
            body["parameters"] = parameters
        sent, began = json.dumps(body).encode(), time.monotonic()
        for left in reversed(range(_TRIES)):
            status, answer = self._call("POST", self._predict, sent)
            if status == 200 or not left:
                break
            if status in (0, 429, 503):
                time.sleep(1)
        if status != 200:
            raise RequestError(
                f"Exceeded retries: Non-OK result {status} ({answer[:_LONGEST]}) from server, "
                f"retry={_TRIES}, elapsed={time.monotonic() - began:.2f}s."
            )
        try:
            predictions = json.loads(answer)["predictions"]
            if len(predictions) == len(instances):
                return predictions
            problem = f"{len(predictions)} predictions for {len(instances)} instances"
        except (ValueError, KeyError, TypeError) as error:
            problem = f'no {{"predictions": [...]}}: {error!r}'
        raise RequestError(f"The container answered with {problem}.")

    def _wait(self) -> None:
        deadline = time.monotonic() + READY
        while time.monotonic() < deadline:
            if (code := self._process.poll()) is not None:
                raise DataError(
                    f"The model's container ended with {code} before it was healthy; its output "
                    "is in this log."
                )
            if self._call("GET", self._health)[0] == 200:
                return
            time.sleep(0.2)
        raise DataError(f"The model's container was not healthy within {READY:.0f} s.")

    def _call(self, method: str, route: str, body: bytes | None = None) -> tuple[int, str]:
        """(HTTP status, or 0 without a response; the body)."""
        connection = http.client.HTTPConnection(LOOPBACK, self._port, timeout=ANSWER)
        try:
            connection.request(method, route, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error)
        finally:
            connection.close()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
