"""The peer of trainer.serve: a SavedModel behind FastAPI and uvicorn.

`python -m benchmarks.speed.fastapi_server FOLDER` answers POST /predict, with requests and answers
like those of trainer.serve. It checks no more than FastAPI does, and calls the model once for each
request, in FastAPI's pool of threads.
"""

import base64
import sys
from typing import Any

import tensorflow as tf
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Request(BaseModel):
    """The body of a request; each instance has the model's inputs."""

    instances: list[dict[str, Any]]


def app(folder: str) -> FastAPI:
    model = tf.saved_model.load(folder)
    signature = model.signatures["serving_default"]
    _, inputs = signature.structured_input_signature
    server = FastAPI()
    server.state.model = model  # a signature does not keep its variables alive

    def value(given: Any) -> Any:
        return base64.b64decode(given["b64"]) if isinstance(given, dict) else given

    @server.post("/predict")
    def predict(request: Request) -> dict[str, list[dict[str, Any]]]:
        tensors = {
            name: tf.constant([value(one[name]) for one in request.instances], spec.dtype)
            for name, spec in inputs.items()
        }
        found = signature(**tensors)
        pairs = zip(found["label"].numpy(), found["probabilities"].numpy().tolist(), strict=True)
        return {
            "predictions": [
                {"label": label.decode(), "probabilities": numbers} for label, numbers in pairs
            ]
        }

    return server


class Server(uvicorn.Server):
    """Says when it is ready, and at which address."""

    async def startup(self, *arguments: Any, **named: Any) -> None:
        await super().startup(*arguments, **named)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"ready: http://127.0.0.1:{port}/predict", flush=True)


if __name__ == "__main__":
    # The client keeps its connection while others are measured.
    config = uvicorn.Config(app(sys.argv[1]), port=0, log_level="warning", timeout_keep_alive=60)
    Server(config).run()
