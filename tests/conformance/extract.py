"""Reads recorded traffic from checkouts of public repositories and writes it as facts.

    python -m tests.conformance.extract ORIGIN GIT_DIR

ORIGIN is a key of sources.yaml, GIT_DIR the `.git` of a checkout that has its commits. Writes
facts/ORIGIN.json. Nothing is fetched. What a fact is, says README.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from tests.conformance import gcsfs_log, kcc_log
from tests.conformance.discovery import method_of

HERE = Path(__file__).parent
READERS: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    "k8s-config-connector": kcc_log.calls,
    "gcsfs": gcsfs_log.calls,
}


def scenarios(source: dict[str, Any], git_dir: str, read: Callable) -> Iterator[dict[str, Any]]:
    """The recordings of a source; a call of one depends on those before it."""
    for version in source["versions"]:
        for paths in _together(version["paths"]):
            texts = [_git(git_dir, "show", f"{version['commit']}:{path}") for path in paths]
            calls = [call for text in texts for call in read(text)]
            if calls:
                yield {"commit": version["commit"], "path": paths[0], "calls": calls}


def _together(paths: list[str]) -> list[list[str]]:
    """Files that go on where another ended, as one: ...phase1..., ...phase2..."""
    grouped: dict[str, list[str]] = {}
    for path in paths:
        key = str(Path(path).parent) if "_phase" in path else path
        grouped.setdefault(key, []).append(path)
    return list(grouped.values())


def distinct(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The recordings with a call that none of them before, in order of length, has."""
    seen: set[str] = set()
    kept = []
    for scenario in sorted(found, key=lambda scenario: len(scenario["calls"])):
        signatures = {signature(call) for call in scenario["calls"]}
        if not signatures <= seen:
            kept.append(scenario)
        seen |= signatures
    return kept


def signature(call: dict[str, Any]) -> str:
    """Signature of a call: address without ids, names of what it sends, status, fields, values.

    Names of buckets, objects, datasets and tables do not count, nor a list's length.
    """
    method = method_of(call["service"], call["method"], call["url"])
    kind = method.id if method else call["url"]
    query = sorted(name for name, _ in parse_qsl(urlsplit(call["url"]).query, True))
    shown = [_outline(call.get(part)) for part in ("request", "response")]
    rest = [call.get("status"), sorted(call.get("headers", {})), sorted(call)]
    return json.dumps([kind, query, shown, rest])


def _outline(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _outline(item) for name, item in sorted(value.items())}
    if isinstance(value, list):
        return sorted({json.dumps(_outline(item)) for item in value})
    return type(value).__name__


def written(found: list[dict[str, Any]]) -> str:
    """JSON with one call a line."""
    parts = []
    for scenario in found:
        head = json.dumps({k: v for k, v in scenario.items() if k != "calls"})[1:-1]
        calls = ",\n  ".join(json.dumps(call, ensure_ascii=False) for call in scenario["calls"])
        parts.append(f'{{{head}, "calls": [\n  {calls}\n]}}')
    return "[\n" + ",\n".join(parts) + "\n]\n"


def _git(git_dir: str, *arguments: str) -> str:
    command = ["git", f"--git-dir={git_dir}", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(origin: str, git_dir: str) -> None:
    source = yaml.safe_load((HERE / "sources.yaml").read_text())[origin]
    read = list(scenarios(source, git_dir, READERS[origin]))
    found = distinct(read)
    (HERE / "facts" / f"{origin}.json").write_text(written(found))
    for name, some in (("read", read), ("kept", found)):
        count = sum(len(scenario["calls"]) for scenario in some)
        print(f"{origin}: {name} {len(some)} recordings, {count} calls")


if __name__ == "__main__":
    main(*sys.argv[1:])
