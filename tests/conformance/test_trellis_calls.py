"""The calls that Trellis makes (trellis_calls.json) are calls that Google publishes."""

import json
import re
from pathlib import Path

import pytest
from google.cloud import aiplatform_v1

import trellis
from tests.conformance import calls, discovery
from trellis.vertex import jobs

SERVICES = [
    f"{name}Service"
    for name in ("Dataset", "Endpoint", "Job", "Metadata", "Model", "Pipeline", "Prediction")
]

ENTRIES = json.loads(calls.LIST.read_text())
REST = [entry for entry in ENTRIES if "discovery" in entry["outside"]]
GRPC = [entry for entry in ENTRIES if "proto" in entry["outside"]]


def names(entries):
    return [entry["method"] for entry in entries]


@pytest.mark.parametrize("entry", REST, ids=names(REST))
def test_the_discovery_document_knows_every_field(entry):
    (method,) = {m.id: m for m in discovery.methods() if m.id == entry["method"]}.values()
    # Google's own client sends `projection` with jobs.get; the service takes no notice.
    query = "&".join(f"{name}=" for name in entry["query"] if name != "projection")
    assert method.problems(query, entry.get("request"), entry.get("response")) == []


@pytest.mark.parametrize("entry", GRPC, ids=names(GRPC))
def test_googles_client_has_the_method(entry):
    service, _, method = entry["method"].rpartition("/")
    if service == "google.longrunning.Operations":
        return
    package, _, name = service.rpartition(".")
    assert package in ("google.cloud.aiplatform.v1", "google.dataflow.v1beta3")
    if package == "google.cloud.aiplatform.v1":
        client = getattr(aiplatform_v1, f"{name}Client")
        assert hasattr(client, "".join(f"_{c.lower()}" if c.isupper() else c for c in method)[1:])


def test_every_call_is_covered_from_outside():
    assert ENTRIES
    # Storage's batches and the parts of resumable uploads are described on pages of their own, and
    # recorded by gcsfs; tokens and the project's number are requested by Google's own libraries. Of
    # Artifact Registry, tags.get has a page: a Tag has `name` and `version`.
    # https://docs.cloud.google.com/artifact-registry/docs/reference/rest/v1/projects.locations.repositories.packages.tags
    uncovered = {entry["method"].split("/")[0] for entry in ENTRIES if not entry["outside"]}
    assert uncovered <= {
        "POST storage",
        "PUT storage",
        "POST oauth2",
        "GET iamcredentials",
        "GET artifactregistry",
        "GET cloudresourcemanager",
    }


def called():
    """The methods of Vertex AI's clients that the operators' and stages' sources name."""
    clients = [getattr(aiplatform_v1, f"{each}Client") for each in SERVICES]
    text = "".join(path.read_text() for path in Path(trellis.__file__).parent.rglob("*.py"))
    named = set(re.findall(r"client\.([a-z_]+)\(", text))
    for kind in jobs.KINDS.values():
        named |= {f"{verb}_{kind.field}" for verb in ("create", "get", "cancel")}
        named.add(f"list_{kind.field}s")
    return {name for name in named if any(hasattr(client, name) for client in clients)}


def test_every_call_in_the_sources_is_listed():
    """The list includes calls that a run makes only when it is killed, rolled back or cleaned
    up.
    """
    methods = {entry["method"].rpartition("/")[2] for entry in GRPC}
    listed = {re.sub(r"(?<!^)([A-Z])", r"_\1", method).lower() for method in methods}
    assert {"cancel_hyperparameter_tuning_job", "undeploy_model", "predict"} <= called()
    assert called() <= listed


def test_the_list_says_what_covers_a_call():
    assert [entry["outside"] for entry in ENTRIES] == [calls.outside(m) for m in names(ENTRIES)]


def test_a_log_becomes_entries():
    log = (
        "DEBUG local_gcp.calls: call: "
        '{"host": "storage.googleapis.com", "method": "GET", "url": "/storage/v1/b/x/o?prefix=a", '
        '"status": 200, "response": {"kind": "", "items": [{"metadata": {"k": ""}}]}}\n'
        'DEBUG local_gcp.calls: call: {"rpc": "/google.cloud.aiplatform.v1.JobService/GetCustomJob"'
        ', "status": "NOT_FOUND", "request": {"name": ""}}\n'
    )
    shown = {"items": [{"metadata": {"*": ""}}], "kind": ""}
    assert calls.seen(log) == {"storage.objects.list": {"query": ["prefix"], "response": shown}}
    assert calls.unlisted(log) == []


def test_a_call_that_is_not_in_the_list():
    log = (
        "DEBUG local_gcp.calls: call: "
        '{"rpc": "/google.cloud.aiplatform.v1.JobService/CreateNasJob", "status": "OK"}\n'
    )
    assert calls.unlisted(log) == ["google.cloud.aiplatform.v1.JobService/CreateNasJob"]
