"""The `_http.log` files of k8s-config-connector's tests, recorded from the real Google Cloud.

Calls stand one below another, apart by `---`: request line, headers, body, status line, headers,
body. Project, number and run are variables already (`${projectId}`), and some ids in addresses.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.conformance.normal import Texts, normal, request_json

_HOST = re.compile(
    r"(?:[a-z0-9-]+-)?(storage|bigquery|aiplatform|dataflow)\.googleapis\.com(:443)?"
)
_REQUEST = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (https://\S+)")
_STATUS = re.compile(r"(\d{3}) [A-Z]")
_NOISE = {"alt", "prettyPrint", "$alt"}
_IDS = {"datasetID": "datasetId", "tableID": "tableId", "routineID": "routineId"}
"""Variables of addresses, and the field of a reference that has the value."""
_NOT_FOUND = re.compile(r"Not found: (Dataset|Table|Routine) \$\{projectId\}:(\S+?)(?:\.(\S+))?$")


def calls(text: str) -> list[dict[str, Any]]:
    """The calls of our services, in order."""
    texts = Texts()
    found = [call for part in re.split(r"\n---\n", text) if (call := _call(part, texts))]
    known: dict[str, str] = {}
    for position, call in enumerate(found):
        # Its own body says which id is meant; else the last one, else the next.
        for other in (call, *found[position + 1 :]):
            for name, value in _named(other).items():
                if other is call:
                    known[name] = value
                else:
                    known.setdefault(name, value)
        for variable, name in _IDS.items():
            if name in known:
                call["url"] = call["url"].replace(f"${{{variable}}}", known[name])
    return found


def _named(call: dict[str, Any]) -> dict[str, str]:
    """Ids that the call's bodies name, by field."""
    found: dict[str, str] = {}
    for body in (call.get("request"), call.get("response")):
        if not isinstance(body, dict):
            continue
        for reference in ("datasetReference", "tableReference", "routineReference"):
            found |= body.get(reference, {})
        message = _NOT_FOUND.match(body.get("error", {}).get("message", ""))
        if message:
            found["datasetId"] = message.group(2)
            if message.group(3):
                found[f"{message.group(1).lower()}Id"] = message.group(3)
    return found


def _call(part: str, texts: Texts) -> dict[str, Any] | None:
    lines = part.strip("\n").split("\n")
    request = _REQUEST.match(lines[0])
    url = urlsplit(request.group(2)) if request else None
    host = _HOST.fullmatch(url.netloc) if url else None
    if not (request and url and host):
        return None
    split = next(i for i, line in enumerate(lines) if i and _STATUS.match(line))
    query = [(k, v) for k, v in parse_qsl(url.query, True) if k not in _NOISE]
    address = url.path + ("?" + urlencode(query, safe="${}/*") if query else "")
    call: dict[str, Any] = {
        "service": host.group(1),
        "method": request.group(1),
        "url": address,
    }
    sent, answered = _body(lines[1:split]), _body(lines[split + 1 :])
    if sent is not None:
        call["request"] = request_json(sent, texts)
    call["status"] = int(lines[split][:3])
    if answered is not None:
        call["response"] = normal(answered, texts)
    return call


def _body(lines: list[str]) -> Any:
    if "" not in lines:
        return None
    text = "\n".join(lines[lines.index("") :]).strip()
    return json.loads(text) if text else None
