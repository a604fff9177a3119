"""Every recorded call is answered as Google answered it, refused by name, or a named exception."""

import collections
import json
import uuid
from pathlib import Path

import pytest
import requests

from local_gcp.testing import LocalGcp
from tests.conformance.discovery import method_of
from tests.conformance.exceptions import Exceptions
from tests.conformance.replay import Replay

FACTS = Path(__file__).parent / "facts"
STORAGE = "https://storage.googleapis.com/storage/v1/b"
DATASETS = "https://bigquery.googleapis.com/bigquery/v2/projects/local-gcp/datasets"
COLUMNS = ("same", "refused", "follows a refusal", "exception", "wrong")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory, local_gcp_environments):
    """A session of requests that reaches a local_gcp of its own, which is emptied again and again.

    The one that other tests share would lose their buckets.
    """
    server = LocalGcp(tmp_path_factory.mktemp("recordings"), local_gcp_environments)
    server.up()
    yield session_of(server.client_env)
    server.down()


def session_of(environment):
    session = requests.Session()
    session.trust_env = False
    session.proxies = {"https": environment["https_proxy"]}
    session.verify = environment["REQUESTS_CA_BUNDLE"]
    session.headers["Authorization"] = "Bearer token"
    return session


def emptied(cloud):
    """Recordings use the same names, and begin with nothing."""
    for dataset in cloud.get(DATASETS).json()["datasets"]:
        name = dataset["datasetReference"]["datasetId"]
        cloud.delete(f"{DATASETS}/{name}", params={"deleteContents": "true"})
    for bucket in cloud.get(STORAGE, params={"project": "local-gcp"}).json()["items"]:
        objects = f"{STORAGE}/{bucket['name']}/o"
        for found in cloud.get(objects).json().get("items", []):
            cloud.delete(f"{objects}/{requests.utils.quote(found['name'], safe='')}")
        cloud.delete(f"{STORAGE}/{bucket['name']}")


def replayed(cloud, origin, scenario):
    unique = f"u{uuid.uuid4().hex[:10]}"
    emptied(cloud)
    names = {call.get("request", {}).get("name") for call in scenario["calls"]}
    if origin == "gcsfs" and "gcsfs-${uniqueId}" not in names:
        cloud.post(STORAGE, json={"name": f"gcsfs-{unique}"})
    replay = Replay(cloud, unique)
    return [replay(call) for call in scenario["calls"]]


@pytest.fixture(scope="module")
def outcomes(cloud):
    """(origin, path, outcome) of every call of every recording."""
    return [
        (facts.stem, scenario["path"], outcome)
        for facts in sorted(FACTS.glob("*.json"))
        for scenario in json.loads(facts.read_text())
        for outcome in replayed(cloud, facts.stem, scenario)
    ]


def judged(origin, outcome, exceptions):
    """(column of the table, differences that no exception names)."""
    if outcome.refused:
        return "refused", []
    if not outcome.differences:
        return "same", []
    if outcome.after:
        return "follows a refusal", []
    unnamed = [d for d in outcome.differences if not exceptions.of(origin, outcome.call, d)]
    return ("wrong", unnamed) if unnamed else ("exception", [])


def test_answers(outcomes):
    exceptions = Exceptions.read()
    table, wrong = collections.Counter(), []
    for origin, path, outcome in outcomes:
        column, unnamed = judged(origin, outcome, exceptions)
        table[(origin, outcome.call["service"], column)] += 1
        if unnamed:
            asked = f"{outcome.call['method']} {outcome.call['url']}"
            wrong.append(f"{origin} {path}\n  {asked}\n    " + "\n    ".join(unnamed))
    print("\n" + shown(table))
    assert not wrong, "\n".join(wrong)
    # An exception that nothing needs any more would hide the next mistake.
    assert not exceptions.unused()


def test_what_is_refused_is_named(outcomes):
    refusals = {outcome.refused for _, _, outcome in outcomes if outcome.refused}
    assert refusals
    assert all(text.startswith("local_gcp does not emulate ") for text in refusals), refusals


def test_answers_have_only_fields_that_google_publishes(outcomes):
    checked, unknown = 0, set()
    for _, _, outcome in outcomes:
        call = outcome.call
        method = method_of(call["service"], call["method"], call["url"])
        if method and outcome.status < 300:
            checked += 1
            problems = method.problems("", None, outcome.answer)
            unknown |= {f"{method.id}: {problem}" for problem in problems}
    assert checked
    assert not unknown


def shown(table):
    """The table of README.md."""
    rows = [f"| origin | service | calls | {' | '.join(COLUMNS)} |"]
    rows.append("|---|---|" + "---:|" * (len(COLUMNS) + 1))
    for origin, service in sorted({key[:2] for key in table}):
        counts = [table[(origin, service, column)] for column in COLUMNS]
        rows.append(f"| {origin} | {service} | {' | '.join(map(str, [sum(counts), *counts]))} |")
    return "\n".join(rows)
