"""Google's discovery documents, as google-api-python-client ships them: methods, fields, types.

https://developers.google.com/discovery/v1/reference/apis. The client library is not used, only its
static documents: what a method's address is, which query parameters it takes, and which fields its
request and its answer may have.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import googleapiclient

ROOT = Path(__file__).parents[2]
_DOCUMENTS = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
NAMES = {
    "storage": "storage.v1",
    "bigquery": "bigquery.v2",
    "dataflow": "dataflow.v1b3",
    "monitoring": "monitoring.v3",
    "aiplatform": "aiplatform.v1",
    "aiplatform/v1beta1": "aiplatform.v1beta1",
}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
# Of every method, beside those that the documents name.
_ANY_QUERY = {"alt", "fields", "key", "prettyPrint", "quotaUser", "userIp", "uploadType", "$alt"}


@dataclass(frozen=True)
class Method:
    """A method of an API; `id` is Google's name for it, such as storage.objects.list."""

    id: str
    document: str
    description: dict[str, Any]

    def problems(self, query: str, request: Any, answer: Any) -> list[str]:
        """List what the document does not know of a call that was answered 2xx."""
        parameters = self.description.get("parameters", {})
        found = [
            f"?{name}"
            for name, _ in parse_qsl(query, True)
            if name not in parameters and name not in _ANY_QUERY and name != "upload_id"
        ]
        for part, body in (("request", request), ("response", answer)):
            schema = self.description.get(part)
            if schema and isinstance(body, dict):
                found += [f"{part}{at}" for at in _unknown(self.document, schema, body, "")]
        return found

    @property
    def path(self) -> str:
        """Return the address below the host, with {NAMES}."""
        flat = self.description.get("flatPath", self.description["path"])
        return f"/{_document(self.document)['servicePath']}{flat}"

    @property
    def query_names(self) -> list[str]:
        """Return the names of the parameters in the query."""
        described = self.description.get("parameters", {}).items()
        return sorted(name for name, how in described if how.get("location") == "query")

    def without_keys(self, part: str, body: Any) -> Any:
        """A request's or answer's outline with `*` for the keys of maps, which callers choose."""
        return _without_keys(self.document, self.description[part], body)


def method_of(service: str, verb: str, url: str) -> Method | None:
    """The method that a request calls; None if the documents have none there."""
    path = urlsplit(url).path.removeprefix("/download")  # where the bytes of objects are
    name = NAMES.get(f"{service}/{path.split('/')[1]}", NAMES[service])
    for pattern, found in _methods(name):
        if found.description["httpMethod"] == verb and pattern.fullmatch(path):
            return found
    return None


def methods() -> list[Method]:
    """All methods of the APIs, those of v1 of Vertex AI only."""
    return [m for name in NAMES.values() if "beta1" not in name for _, m in _methods(name)]


def schema(document: str, name: str) -> dict[str, Any]:
    """A message of an API, such as `Table` of "bigquery.v2"."""
    return _document(document)["schemas"][name]


@functools.cache
def _document(name: str) -> dict[str, Any]:
    return json.loads((_DOCUMENTS / f"{name}.json").read_text())


@functools.cache
def _methods(name: str) -> list[tuple[re.Pattern[str], Method]]:
    document = _document(name)
    base = "/" + document["servicePath"]
    found = []
    for described in _walk(document):
        method = Method(described["id"], name, described)
        upload = described.get("mediaUpload", {}).get("protocols", {})
        # Uploads that can be resumed go on at the same address, by PUT.
        for path in (
            base + described.get("flatPath", described["path"]),
            *(protocol["path"] for protocol in upload.values()),
        ):
            found.append((_pattern(path), method))
    return found


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from node.get("methods", {}).values()
    for resource in node.get("resources", {}).values():
        yield from _walk(resource)


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[^}]+\})", path)
    return re.compile(
        "".join("[^/]+?" if p.startswith("{") else re.escape(p) for p in parts) + "/?"
    )


def _without_keys(document: str, schema: dict[str, Any], value: Any) -> Any:
    while "$ref" in schema:
        schema = _document(document)["schemas"][schema["$ref"]]
    if schema.get("type", "any") == "any":
        return None
    if isinstance(value, list):
        return [_without_keys(document, schema.get("items", {}), item) for item in value]
    if not isinstance(value, dict):
        return value
    fields, rest = schema.get("properties", {}), schema.get("additionalProperties")
    if rest is not None and not fields:
        return {"*": _without_keys(document, rest, next(iter(value.values())))} if value else {}
    return {k: _without_keys(document, fields.get(k, {}), item) for k, item in value.items()}


def _unknown(document: str, schema: dict[str, Any], value: Any, at: str) -> list[str]:
    """Paths of values that the schema does not know, or of another type."""
    while "$ref" in schema:
        schema = _document(document)["schemas"][schema["$ref"]]
    kind = schema.get("type", "any")
    if kind == "any" or value is None:
        return []
    # 64-bit integers are strings in JSON; Google takes numbers too.
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        return [f"{at}: {type(value).__name__} is no {kind}"]
    if isinstance(value, list):
        found = [_unknown(document, schema["items"], item, f"{at}[]") for item in value]
        return list(dict.fromkeys(problem for each in found for problem in each))
    if not isinstance(value, dict):
        return []
    fields, rest = schema.get("properties", {}), schema.get("additionalProperties")
    problems = []
    for name, item in value.items():
        inner = fields.get(name, rest)
        problems += (
            [f"{at}.{name}"]
            if inner is None
            else _unknown(document, inner, item, f"{at}.{name}" if name in fields else f"{at}.*")
        )
    return problems
