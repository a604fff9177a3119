"""The server's HTTP interface: Vertex AI's two routes, and errors as JSON."""

import logging

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trainer.serving import errors
from trainer.serving.errors import ServingError
from trainer.serving.prediction_service import PredictionService

_log = logging.getLogger(__name__)


def create_app(service: PredictionService, health_route: str, predict_route: str) -> ASGIApp:
    """The ASGI application of a prediction server.

    GET health_route returns 200 while requests should be sent here, else 503. POST predict_route
    returns predictions; trainer.serve describes request and response.
    """

    async def health(_: Request) -> Response:
        return Response(status_code=200 if service.is_healthy else 503)

    async def predict(request: Request) -> Response:
        length = request.headers.get("content-length")
        predictions = await service.predict(request.stream(), int(length) if length else None)
        # OPT_SERIALIZE_NUMPY: the probabilities are float32.
        content = orjson.dumps({"predictions": predictions}, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(content, media_type="application/json")

    async def prediction_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, ServingError)
        if error.code >= 500:
            _log.error("%s", error)
        return errors.response(error.code, str(error), error)

    async def routing_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        routes = f"POST {predict_route} or GET {health_route}"
        return errors.response(error.status_code, f"{error.detail}: expected {routes}")

    async def internal_error(_: Request, error: Exception) -> Response:
        # Its traceback is logged by the server that runs this application.
        return errors.response(500, f"{type(error).__name__} in the server; see its log")

    async def disconnected(_: Request, error: Exception) -> Response:
        return Response(status_code=499)  # the client has disconnected

    app = Starlette(
        routes=[
            Route(health_route, health, methods=["GET"]),
            Route(predict_route, predict, methods=["POST"]),
        ],
        exception_handlers={
            ServingError: prediction_error,
            HTTPException: routing_error,
            ClientDisconnect: disconnected,
            Exception: internal_error,
        },
    )
    return _closing_when_draining(app, service)


def _closing_when_draining(app: ASGIApp, service: PredictionService) -> ASGIApp:
    """Close the connection after each response while the server drains."""

    async def closing(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_closing(message: Message) -> None:
            if message["type"] == "http.response.start" and service.draining:
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        await app(scope, receive, send_closing)

    return closing
