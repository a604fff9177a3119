"""Calls in the log: names and types, no values."""

import asyncio
import json
import logging

import pytest
from google.cloud import aiplatform_v1 as api
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from local_gcp.calls import log_rpc, logged, outline


@pytest.fixture
def calls(caplog):
    """The calls in the log so far."""
    caplog.set_level(logging.DEBUG, "local_gcp.calls")
    return lambda: [json.loads(r.getMessage().removeprefix("call: ")) for r in caplog.records]


def test_an_outline_has_no_values():
    shown = outline({"a": [{"b": 7}, {"c": "secret"}], "d": True, "e": None, "f": []})
    assert shown == {"a": [{"b": 0, "c": ""}], "d": False, "e": None, "f": []}


def test_a_grpc_call(calls):
    pool = {"replica_count": 2, "container_spec": {"image_uri": "i", "args": ["secret"]}}
    job = {"display_name": "n", "labels": {"k": "v"}, "job_spec": {"worker_pool_specs": [pool]}}
    request = api.CreateCustomJobRequest(parent="p", custom_job=job)
    log_rpc("/s/CreateCustomJob", "OK", (type(request), request), (api.CustomJob, {"name": "n"}))
    pools = [{"containerSpec": {"imageUri": "", "args": ""}, "replicaCount": ""}]
    job_shown = {"displayName": "", "jobSpec": {"workerPoolSpecs": pools}, "labels": {"*": ""}}
    (call,) = calls()
    assert call["request"] == {"parent": "", "customJob": job_shown}
    assert call["response"] == {"name": ""}


def test_a_rest_call(calls):
    async def answer(request):
        return JSONResponse({"got": await request.json()}, 201)

    app = logged(Starlette(routes=[Route("/b/{x}", answer, methods=["POST"])]))
    sent = [{"type": "http.request", "body": b'{"a": "secret"}', "more_body": False}]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/b/x",
        "raw_path": b"/b/x",
        "query_string": b"q=1",
        "headers": [(b"host", b"storage.googleapis.com")],
    }
    answered = []

    async def receive():
        return sent.pop(0)

    async def send(message):
        answered.append(message)

    asyncio.run(app(scope, receive, send))
    assert answered[0]["status"] == 201
    assert calls() == [
        {
            "host": "storage.googleapis.com",
            "method": "POST",
            "url": "/b/x?q=1",
            "status": 201,
            "request": {"a": ""},
            "response": {"got": {"a": ""}},
        }
    ]
