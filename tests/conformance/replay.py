"""Sends recorded calls to a local_gcp, in order, and tells how its answers differ.

Variables of a recording: `${projectId}`, `${projectNumber}`, `${uniqueId}` (another one for each
replay), `${uploadN}` (what the local answer's Location names).
"""

from __future__ import annotations

import json
import re
import string
from dataclasses import dataclass, field
from typing import Any

import requests

from tests.conformance.compare import differences
from tests.conformance.normal import normal

PROJECT, NUMBER = "local-gcp", "100000000001"
_REGION = re.compile(r"/locations/([a-z0-9-]+)")
_UPLOAD = re.compile(r"upload_id=([^&]+)")


@dataclass
class Outcome:
    """The outcome of one call. `differences` is empty if the answer is the same."""

    call: dict[str, Any]
    status: int
    refused: str = ""
    """What local_gcp says that it does not emulate, if it refused the call."""
    after: bool = False
    """Whether the call is about something that a refused call would have made or changed."""
    differences: list[str] = field(default_factory=list)
    answer: Any = None


class Replay:
    """One recording against one local_gcp, which `session` reaches."""

    def __init__(self, session: requests.Session, unique: str):
        self._session = session
        self._values = {"projectId": PROJECT, "projectNumber": NUMBER, "uniqueId": unique}
        self._refused: list[str] = []

    def __call__(self, call: dict[str, Any]) -> Outcome:
        """Send the call, and compare what is answered."""
        path = self._filled(call["url"])
        response = self._send(call, self._host(call["service"], path) + path)
        answer = _json(response)
        self._learn(call, response, answer)
        if response.status_code == 501:
            message = answer["error"]["message"]
            if call["method"] != "GET" and call["status"] < 300:
                self._refused.append(_resource(call))
            return Outcome(call, 501, refused=message, answer=answer)
        found = self._compared(call, response, answer)
        after = bool(found) and any(_related(_resource(call), r) for r in self._refused)
        return Outcome(call, response.status_code, after=after, differences=found, answer=answer)

    def _send(self, call: dict[str, Any], url: str) -> requests.Response:
        headers, data = dict(call.get("headers", {})), None
        if "batch" in call:
            headers["Content-Type"], data = _batch([self._filled(part) for part in call["batch"]])
        elif "uploadType=multipart" in url:
            metadata = self._filled(json.dumps(call["request"]))
            headers["Content-Type"], data = _multipart(metadata, call["media"])
        elif "media" in call:
            data = b"x" * call["media"]
        elif "request" in call:
            headers["Content-Type"] = "application/json"
            data = self._filled(json.dumps(call["request"])).encode()
        return self._session.request(call["method"], url, data=data, headers=headers, timeout=60)

    def _compared(self, call: dict, response: requests.Response, answer: Any) -> list[str]:
        if response.status_code != call["status"]:
            return [f"status: {call['status']}, not {response.status_code}"]
        found = []
        if "response" in call:
            recorded = json.loads(self._filled(json.dumps(call["response"])))
            found += differences(normal(recorded), normal(answer))
        if "range" in call and response.headers.get("Range") != call["range"]:
            found.append("Range: value")
        if "text" in call:
            found += ["text: value"] if response.text != self._filled(call["text"]) else []
        elif "bytes" in call and len(response.content) != call["bytes"]:
            found.append("content: length")
        if "statuses" in call:
            statuses = [int(code) for code in re.findall(rb"HTTP/1.1 (\d{3})", response.content)]
            found += ["batch: statuses"] if statuses != call["statuses"] else []
        return found

    def _learn(self, call: dict, response: requests.Response, answer: Any) -> None:
        upload = _UPLOAD.search(response.headers.get("Location", ""))
        if "location" in call and upload:
            self._values[call["location"].removeprefix("upload_id=${")[:-1]] = upload.group(1)
        for name, variable in call.get("generations", {}).items():
            self._values[variable] = _generation(answer, name)

    def _filled(self, text: str) -> str:
        return string.Template(text).safe_substitute(self._values)

    def _host(self, service: str, path: str) -> str:
        region = _REGION.search(path)
        prefix = f"{region.group(1)}-" if service == "aiplatform" and region else ""
        return f"https://{prefix}{service}.googleapis.com"


def _related(one: str, other: str) -> bool:
    """Return whether one address is the other, or lies in it."""
    short, long = sorted((one, other), key=len)
    return f"{long}/".startswith(f"{short}/")


def _resource(call: dict[str, Any]) -> str:
    """The address of what a call is about; for a creation, of what it makes."""
    path = call["url"].partition("?")[0].rstrip("/")
    path = re.sub(r"^/(upload|download|resumable/upload)/", "/", path).partition(":")[0]
    body = call.get("request")
    if call["method"] != "POST" or not isinstance(body, dict):
        return path
    for reference, name in (("routineReference", "routineId"), ("tableReference", "tableId")):
        if reference in body:
            return f"{path}/{body[reference].get(name)}"
    return f"{path}/{body['name']}" if "name" in body and "/" not in body["name"] else path


def _generation(answer: Any, name: str) -> str:
    """Return the generation of the object of that name somewhere in the answer."""
    if isinstance(answer, dict) and answer.get("name") == name and "generation" in answer:
        return answer["generation"]
    parts = answer.values() if isinstance(answer, dict) else answer
    if not isinstance(answer, (dict, list)):
        return ""
    return next(filter(None, (_generation(part, name) for part in parts)), "")


def _json(response: requests.Response) -> Any:
    if "json" in response.headers.get("Content-Type", "") and response.content:
        return response.json()
    return None


def _multipart(metadata: str, media: int) -> tuple[str, bytes]:
    json_part = b"Content-Type: application/json; charset=UTF-8\r\n\r\n" + metadata.encode()
    media_part = b"Content-Type: application/octet-stream\r\n\r\n" + b"x" * media
    body = b"--==0==\r\n%s\r\n--==0==\r\n%s\r\n--==0==--" % (json_part, media_part)
    return 'multipart/related; boundary="==0=="', body


def _batch(calls: list[str]) -> tuple[str, bytes]:
    parts = "".join(
        f"--==7==\r\nContent-Type: application/http\r\nContent-ID: <b+{number}>\r\n\r\n"
        f"{call} HTTP/1.1\r\n\r\n\r\n"
        for number, call in enumerate(calls, 1)
    )
    return 'multipart/mixed; boundary="==7=="', f"{parts}--==7==--".encode()
