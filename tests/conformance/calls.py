"""The calls that Trellis makes, from the log of a local_gcp that ran at level DEBUG.

    LOCAL_GCP_LOG_LEVEL=DEBUG make demo
    .venv/airflow/bin/python -m tests.conformance.calls .local/gcp/server.log [METHOD ...]

Adds the calls in the log (only those of the methods, if given) to trellis_calls.json: one method
per line, with the fields of its requests and responses. `outside` has the facts from outside that
cover it: `discovery` (Google's document of the API), `proto` (the messages of Google's client), and
the origins of recordings of the same method.

The tests of tests/trellis/workflow fail if a run makes a call of a method that is not in the list.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.conformance import discovery

HERE = Path(__file__).parent
LIST = HERE / "trellis_calls.json"
_LINE = re.compile(r"local_gcp\.calls: call: (\{.*\})$")
_HOST = re.compile(r"(?:[a-z0-9-]+-)?(\w+)\.googleapis\.com")
# At STORAGE_EMULATOR_HOST, and on BigQuery's own port, there is no host of Google's.
_PATHS = {"/bigquery/": "bigquery", "/storage/": "storage", "/upload/storage/": "storage"}
_PATHS |= {"/download/storage/": "storage", "/batch/storage/": "storage"}


def seen(log: str) -> dict[str, dict[str, Any]]:
    """The calls of a log by method, those that were refused with 4xx or 5xx left out."""
    found: dict[str, dict[str, Any]] = {}
    for line in log.splitlines():
        match = _LINE.search(line)
        call = named(json.loads(match.group(1))) if match else None
        if call:
            add(found, call)
    return found


def named(line: dict[str, Any]) -> dict[str, Any] | None:
    """The entry of the list that a line of the log makes."""
    if "rpc" in line:
        parts = {name: line[name] for name in ("request", "response") if name in line}
        ok = line["status"] == "OK"
        return {"method": line["rpc"].removeprefix("/"), **parts} if ok else None
    service = service_of(line["host"], line["url"])
    if line["status"] >= 400 or service is None:
        return None
    url = urlsplit(line["url"])
    entry = {"query": sorted({name for name, _ in parse_qsl(url.query, True)})}
    if service not in discovery.NAMES:
        return {"method": f"{line['method']} {service}", **entry}
    method = discovery.method_of(service, line["method"], line["url"])
    if method is None:
        address = re.sub(r"/(b|o|projects|datasets)/[^/]+", r"/\1/*", url.path)
        return {"method": f"{line['method']} {service}{address}", **entry}
    media = "media" in dict(parse_qsl(url.query)).get("alt", "")
    for part in ("request", "response"):
        if part in line and part in method.description and not (part == "response" and media):
            entry[part] = method.without_keys(part, line[part])
    return {"method": method.id, **entry}


def service_of(host: str, url: str) -> str | None:
    """`storage`, `bigquery`, ...; None for local_gcp's own addresses."""
    match = _HOST.fullmatch(host.partition(":")[0])
    if match and match.group(1) != "www":
        return match.group(1)
    return next((name for start, name in _PATHS.items() if url.startswith(start)), None)


def add(known: dict[str, dict[str, Any]], call: dict[str, Any]) -> None:
    """Put a call's fields to those that are known of its method."""
    entry = known.setdefault(call["method"], {})
    entry["query"] = sorted({*entry.get("query", []), *call.get("query", [])})
    for part in ("request", "response"):
        if part in call:
            entry[part] = _union(entry.get(part), call[part])


def _union(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {k: _union(one.get(k), other.get(k)) for k in sorted({*one, *other})}
    if isinstance(one, list) and isinstance(other, list):
        items = [*one, *other]
        if not items:
            return []
        merged = items[0]
        for item in items[1:]:
            merged = _union(merged, item)
        return [merged]
    return other if one is None else one


def outside(method: str) -> list[str]:
    """Facts from outside that cover a method."""
    if "/" in method and " " not in method:
        return ["proto"]
    published = ["discovery"] if " " not in method else []
    return published + sorted(o for o, methods in _recorded().items() if method in methods)


def _recorded() -> dict[str, set[str]]:
    recorded = {}
    for path in sorted((HERE / "facts").glob("*.json")):
        calls = [c for scenario in json.loads(path.read_text()) for c in scenario["calls"]]
        found = (discovery.method_of(c["service"], c["method"], c["url"]) for c in calls)
        recorded[path.stem] = {method.id for method in found if method}
    return recorded


def written(known: dict[str, dict[str, Any]]) -> str:
    """JSON with one method a line."""
    lines = [
        json.dumps({"method": method, "outside": outside(method), **known[method]})
        for method in sorted(known)
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def unlisted(log: str) -> list[str]:
    """Methods in a log that the list does not have."""
    return sorted({*seen(log)} - {call["method"] for call in json.loads(LIST.read_text())})


def main(log: str, *methods: str) -> None:
    known = {call.pop("method"): call for call in json.loads(LIST.read_text())}
    for method, call in seen(Path(log).read_text()).items():
        if not methods or method in methods:
            add(known, {"method": method, **call})
    LIST.write_text(written(known))


if __name__ == "__main__":
    main(*sys.argv[1:])
