"""gcsfs's cassettes: Cloud Storage's traffic of its tests, recorded by vcrpy.

Contents of objects become a count of bytes: `{"media": 133}`; a multipart upload has its metadata
beside it. The bucket gets a name of each replay, and must be there and empty at its start.
"""

from __future__ import annotations

import gzip
import json
import re
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import yaml

from tests.conformance.normal import Texts, normal

_BUCKET, _VARIABLE = "gcsfs-testing", "gcsfs-${uniqueId}"
_PROJECT = "test_project"
_UPLOAD = re.compile(r"upload_id=[\w-]+")
_KEPT = {"content-range", "content-type", "range"}


class _LostError(Exception):
    """The cassette lacks a body (vcrpy drops aiohttp's `json=`) that no answer tells."""


def calls(text: str) -> list[dict[str, Any]]:
    """The calls to Cloud Storage, in order; none if one of them cannot be sent again."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    interactions = [
        (each["request"], each["response"])
        for each in yaml.load(text, Loader=loader)["interactions"]
        if "storage.googleapis.com" in each["request"]["uri"]
    ]
    recording = _Recording(_names_of_uploads(interactions))
    try:
        found = [recording.call(*each) for each in interactions]
        return [call for call in found if call]
    except _LostError:
        return []


class _Recording:
    """Gives variables to what a server chose: ids of uploads, generations of objects."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._uploads: dict[str, str] = {}
        self._generations: dict[str, tuple[dict[str, Any], str]] = {}
        self._asked = 0

    def call(self, request: dict, response: dict) -> dict[str, Any] | None:
        url = urlsplit(request["uri"])
        buckets = url.path.rstrip("/").endswith("/b")
        if buckets and (request["method"] == "GET" or response["status"]["code"] >= 400):
            return None  # a list of the recorder's other buckets, a creation without its body
        query = urlencode(parse_qsl(url.query, True), quote_via=quote, safe="*")
        call: dict[str, Any] = {
            "service": "storage",
            "method": request["method"],
            "url": self._variables(_renamed(url.path + (f"?{query}" if query else ""))),
        }
        call |= _sent(request)
        location = _header(response, "location") or ""
        if session := _UPLOAD.search(location):
            call["request"] = self._names[session.group()]
            call["location"] = self._variables(session.group())
        if call["method"] in ("PATCH", "PUT") or "/compose" in call["url"]:
            raise _LostError
        call["status"] = response["status"]["code"]
        if reached := _header(response, "range"):
            call["range"] = reached
        body = _content(response)
        kind = _header(response, "content-type") or ""
        if kind.startswith("multipart/mixed"):
            call["statuses"] = [int(code) for code in re.findall(rb"HTTP/1.1 (\d{3})", body)]
        elif body.startswith(b"{") and "alt=media" not in call["url"]:
            answer = json.loads(_renamed(body.decode()))
            self._remember(call, answer)
            if buckets:
                call["request"] = {"name": answer["name"]}
            call["response"] = normal(answer, Texts())
        elif body:
            call["bytes"] = len(body)
            if call["status"] >= 400:
                call["text"] = _renamed(body.decode())
        return call

    def _variables(self, address: str) -> str:
        for session in _UPLOAD.findall(address):
            name = self._uploads.setdefault(session, f"${{upload{len(self._uploads) + 1}}}")
            address = address.replace(session, f"upload_id={name}")
        if generation := re.search(r"([?&]generation=)(\d+)", address):
            call, name = self._generations[generation.group(2)]
            known = call.setdefault("generations", {})
            self._asked += name not in known
            variable = known.setdefault(name, f"generation{self._asked}")
            address = address.replace(generation.group(2), f"${{{variable}}}")
        return address

    def _remember(self, call: dict[str, Any], answer: Any) -> None:
        if isinstance(answer, dict):
            if "generation" in answer:
                self._generations.setdefault(answer["generation"], (call, answer["name"]))
            for value in answer.values():
                self._remember(call, value)
        elif isinstance(answer, list):
            for value in answer:
                self._remember(call, value)


def _names_of_uploads(interactions: list[tuple[dict, dict]]) -> dict[str, Any]:
    """Map `upload_id=...` of each resumable upload to the name of its object."""
    names = {}
    for request, response in interactions:
        session = _UPLOAD.search(request["uri"])
        body = _content(response)
        if session and body.startswith(b"{") and b'"name"' in body:
            made = json.loads(_renamed(body.decode()))
            names[session.group()] = {name: made[name] for name in ("name", "contentType")}
    return _Named(names)


class _Named(dict):
    def __missing__(self, key: str) -> Any:
        raise _LostError


def _sent(request: dict) -> dict[str, Any]:
    headers = {k.lower(): v[0] for k, v in (request["headers"] or {}).items()}
    body = _bytes(request["body"])
    kind = headers.get("content-type", "")
    kept = {k: v for k, v in headers.items() if k in _KEPT}
    if kind.startswith("multipart/related"):
        parts = _parts(body, kind)
        metadata = json.loads(parts[0])
        return {"request": metadata, "media": len(parts[1])}
    if kind.startswith("multipart/mixed"):
        lines = [re.search(rb"(DELETE|GET|PATCH) (\S+)", part) for part in _parts(body, kind)]
        return {"batch": [_renamed(f"{m[1].decode()} {m[2].decode()}") for m in lines if m]}
    sent: dict[str, Any] = {}
    if span := re.match(r"bytes (\d+)-(\d+)", kept.get("content-range", "")):
        # The client's buffer, which the cassette shows, has gone on by then.
        sent["media"] = int(span[2]) - int(span[1]) + 1
    elif "content-range" in kept or (body and not body.startswith(b"{")):
        sent["media"] = len(body)
    elif body:
        sent["request"] = json.loads(_renamed(body.decode()))
    for name in ("content-range", "range"):
        if name in kept:
            sent.setdefault("headers", {})[name] = kept[name]
    return sent


def _content(response: dict) -> bytes:
    body = _bytes(response["body"]["string"])
    if _header(response, "content-encoding") == "gzip" and body[:2] == b"\x1f\x8b":
        body = gzip.decompress(body)
    return body


def _header(response: dict, name: str) -> str | None:
    headers = {k.lower(): v[0] for k, v in (response["headers"] or {}).items()}
    return headers.get(name)


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    return body if isinstance(body, bytes) else body.encode("utf-8", "surrogateescape")


def _parts(body: bytes, kind: str) -> list[bytes]:
    boundary = re.search(r'boundary="?([^";]+)', kind)
    assert boundary, kind
    mark = b"--" + boundary.group(1).encode()
    parts = [part.lstrip(b"\r\n") for part in body.split(mark)[1:-1]]
    # Head and content of a part are apart by an empty line; a line's end before the next mark.
    contents = [re.split(rb"\r?\n\r?\n", part, maxsplit=1)[-1] for part in parts]
    return [re.sub(rb"\r?\n\Z", b"", content) for content in contents]


def _renamed(text: str) -> str:
    return text.replace(_BUCKET, _VARIABLE).replace(_PROJECT, "${projectId}")
