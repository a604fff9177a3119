"""Every field of Google's discovery documents is sent once to each method that takes it: it is
refused by name, or returned, or has the effect that another test shows. `request_types/` has the
documents' fields.
"""

import re
from pathlib import Path

import pytest
import requests

from local_gcp.emulated_fields import MESSAGES, Message
from local_gcp.json_types import fields_of
from tests.json_methods import DATASETS, METHODS, STORAGE, TEXT, Client, merged

HERE = Path(__file__).parent
KEY = "projects/local-gcp/locations/us/keyRings/r/cryptoKeys/k"

VALUES = {"int64": "7", "integer": 7, "number": 1.5, "boolean": True}
VALUES |= dict.fromkeys(("string", "any"), "unlikely")
VALID = {
    "access.role": "READER",
    "autoclass.enabled": True,
    "autoclass.terminalStorageClass": "ARCHIVE",
    "clustering.fields": ["a"],
    "columnNameCharacterMap": "STRICT",
    "crc32c": "AAAAAA==",
    "createDisposition": "CREATE_NEVER",
    "customPlacementConfig.dataLocations": ["US-EAST1", "US-WEST1"],
    "customTime": "2030-01-01T00:00:00Z",
    "defaultKmsKeyName": KEY,
    "defaultTableExpirationMs": "3600000",
    "defaultValueExpression": "'unlikely'",
    "expirationTime": "4102444800000",
    "iamConfiguration.publicAccessPrevention": "enforced",
    "kmsKeyName": KEY,
    "lifecycle.rule.action.type": "Delete",
    "location": "EU",
    "maxLength": "3",
    "md5Hash": "1B2M2Y8AsgTpgAmY7PhCfg==",
    "mode": "REPEATED",
    "precision": "5",
    "projectId": "local-gcp",
    "roundingMode": "ROUND_HALF_EVEN",
    "rpo": "DEFAULT",
    "scale": "2",
    "softDeletePolicy.retentionDurationSeconds": "864000",
    "storageBillingModel": "PHYSICAL",
    "storageClass": "NEARLINE",
    "timePartitioning.type": "DAY",
    "view.query": "SELECT 1 AS a",
    "writeDisposition": "WRITE_APPEND",
}
"""Values that fit, by the last names of a path; other fields get one of `VALUES`."""
_RECORD = {"name": "r", "type": "RECORD", "fields": [{"name": "f", "type": "STRING"}]}
_NUMERIC = {"schema": {"fields": [{"type": "NUMERIC"}]}}
BESIDE: dict[str, dict] = {
    "rpo": {"location": "NAM4"},
    "customPlacementConfig.dataLocations": {"location": "US"},
    "view.query": {"schema": None, "view": {"useLegacySql": False}},
    "schema.fields.precision": _NUMERIC,
    "schema.fields.scale": {"schema": {"fields": [{"type": "NUMERIC", "precision": "5"}]}},
    "schema.fields.roundingMode": _NUMERIC,
    **{
        f"schema.fields.fields{name}": {"schema": {"fields": [_RECORD]}}
        for name in ("", ".defaultValueExpression", ".description", ".fields", ".maxLength")
    },
}
"""What a field needs beside it."""


_KEY = "a table keeps whether it has one: bigquery/test_encryption.py"
_CHANGES = {
    "encryptionConfiguration.kmsKeyName": _KEY,
    "schema.fields.fields": "the columns stay: bigquery/test_schema.py",
    "schema.fields.maxLength": "a column's type stays",
    "schema.fields.mode": "a column's type stays",
    "schema.fields.name": "the columns stay",
    "schema.fields.roundingMode": "a column's type stays",
    "timePartitioning": "a table stays as it is partitioned: bigquery/test_partitions.py",
    "view": "a table stays a table",
}
_JOB = {"configuration.dryRun": "of queries alone"}
_QUERIES, _REST = "bigquery/test_queries.py", "bigquery/test_rest.py"
EFFECTS = {
    "tables.insert": {
        "schema.fields.fields": "of a column that is a RECORD: bigquery/test_schema.py",
    },
    "tables.patch": _CHANGES,
    "tables.update": _CHANGES,
    "models.patch": {"encryptionConfiguration.kmsKeyName": _KEY},
    "jobs.insert, a query": {
        "configuration.query.defaultDataset": f"needs its names: {_QUERIES}",
        "configuration.query.destinationTable": f"needs its names: {_REST}",
    },
    "jobs.insert, a load": _JOB,
    "jobs.insert, an extract": _JOB,
    "jobs.insert, a copy": _JOB,
    # In the configuration of its job, as of jobs.insert.
    "jobs.query": {
        "defaultDataset": _QUERIES,
        "destinationEncryptionConfiguration": "bigquery/test_encryption.py",
        "dryRun": _QUERIES,
        "formatOptions": _QUERIES,
        "jobCreationMode": "a job is made in either mode",
        "jobTimeoutMs": "bigquery/test_jobs.py",
        "labels": "bigquery/test_jobs.py",
        "maxResults": _REST,
        "maximumBytesBilled": _QUERIES,
        "parameterMode": _REST,
        "queryParameters": _QUERIES,
        "queryResultsFormat": "JSON alone",
        "requestId": _REST,
        "timeoutMs": "bigquery/test_jobs.py",
        "useQueryCache": "no result is kept for another query",
    },
    "tabledata.insertAll": dict.fromkeys(
        ("ignoreUnknownValues", "rows", "skipInvalidRows"), "bigquery/test_streaming.py"
    ),
    "objects.compose": {
        "deleteSourceObjects": "storage/test_objects.py",
        "destination.md5Hash": "a composed object has none",
        "sourceObjects": "storage/test_objects.py",
    },
}
"""By method, what a field does that is not in the answer, or why another error comes."""


def leaves(message, api, path="", seen=()):
    """(path, type, Message that has the field or None) of all fields below a message, once each."""
    table = MESSAGES[api].get(message)
    for name, kind in fields_of(message, api).items():
        where = f"{path}.{name}" if path else name
        inner = kind.strip("[]{}")
        refused = table is not None and not table.takes(name, "x" if name not in table.only else 0)
        if inner in VALUES or inner in seen or refused or (table and name in table.output.split()):
            yield where, kind, table
        else:
            yield from leaves(inner, api, where, (*seen, message))


def sample(kind, api, path):
    """A value of a field's type: of a message, one with one field."""
    names = path.split(".")
    for start in range(len(names)):
        if (suffix := ".".join(names[start:])) in VALID:
            return VALID[suffix]
    if kind in VALUES:
        return VALUES[kind]
    fields, table = fields_of(kind, api), MESSAGES[api].get(kind)
    scalars = [n for n, k in fields.items() if k in VALUES and (not table or table.takes(n, "x"))]
    if not scalars:
        return dict.fromkeys([*fields, "unlikely"][:1], "unlikely")
    return {name: sample(fields[name], api, name) for name in scalars[:1]}


def shaped(message, api, path, value):
    """{a: {b: VALUE}} with lists and maps where the fields of the path are such."""
    name, _, rest = path.partition(".")
    kind = fields_of(message, api)[name]
    if rest:
        value = shaped(kind.strip("[]{}"), api, rest, value)
    elif isinstance(value, list):
        return {name: value}
    kinds = {"[": lambda v: [v], "{": lambda v: {"k": v}}
    return {name: kinds.get(kind[0], lambda v: v)(value)}


def holds(answer, sent):
    """Return whether an answer has all that was sent."""
    if isinstance(sent, dict):
        return isinstance(answer, dict) and all(
            name in answer and holds(answer[name], value) for name, value in sent.items()
        )
    if isinstance(sent, list):
        return isinstance(answer, list) and all(any(holds(a, s) for a in answer) for s in sent)
    return str(answer).lower() == str(sent).lower()


@pytest.fixture(scope="module")
def client(local_gcp):
    with requests.Session() as session:
        session.trust_env = False
        session.proxies = {"https": local_gcp.client_env["https_proxy"]}
        session.verify = local_gcp.client_env["REQUESTS_CA_BUNDLE"]
        dataset = {"datasetReference": {"datasetId": "request_fields"}}
        session.post(DATASETS, json=dataset).raise_for_status()
        session.post(STORAGE, json={"name": "request-fields"}).raise_for_status()
        yield Client(session)


def problem(client, method, path, kind, table):
    """What is wrong with the answer to a request with a field; None: nothing."""
    last, inner = path.rpartition(".")[2], kind.strip("[]{}")
    value = sample(inner, method.api, path)
    if table is not None and last in table.only:
        value = table.only[last][0]
    body = shaped(method.message, method.api, path, value)
    beside = BESIDE.get(path, {}) if method.verb == "POST" else {}
    answer = client.send(method, merged(beside, body))
    text = answer.json()["error"]["message"] if not answer.ok else ""
    named = re.search(rf"\b({re.escape(last)}|unlikely)\b", text)
    if table is not None and last not in f"{table.used} {table.output}".split():
        return None if answer.status_code in (400, 501) and named else f"not refused: {text}"
    if not answer.ok:
        if answer.status_code == 501 and "the field" in text:
            return f"refused, although the table has it: {text}"
        return None if named else f"an error that does not name it: {text}"
    if table is not None and last in table.output.split():
        return None
    shown = answer.json()
    shown = shown.get(method.shown, shown)
    # The answer to a composition is the composed object.
    return None if holds(shown, body.get("destination", body)) else "taken and not returned"


# A PUT takes the message that the resource's PATCH takes.
EACH = [
    pytest.param(name, marks=pytest.mark.slow) if name.endswith(".update") else name
    for name in METHODS
]


@pytest.mark.parametrize("name", EACH)
def test_a_field_is_refused_by_name_or_returned_or_has_its_effect(client, name):
    method = METHODS[name]
    found = {}
    for path, kind, table in leaves(method.message, method.api):
        other = path.startswith("configuration.") and path.split(".")[1] in (
            {"query", "load", "extract", "copy"} - {method.part}
        )
        if not other and (what := problem(client, method, path, kind, table)):
            found[path] = what
    known = EFFECTS.get(name, {})
    covered = {e: [p for p in found if p == e or p.startswith(f"{e}.")] for e in known}
    unknown = found.keys() - {path for paths in covered.values() for path in paths}
    assert {path: found[path] for path in sorted(unknown)} == {}
    assert [effect for effect, paths in covered.items() if not paths] == []


@pytest.mark.parametrize("name", METHODS)
def test_a_name_that_google_does_not_know_is_refused(client, name):
    answer = client.send(METHODS[name], {"nonsense": 1})
    assert answer.status_code == 400
    assert 'Unknown name "nonsense"' in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (
            "tables.insert",
            {"schema": {"fields": [{**TEXT, "collation": "und:ci"}]}},
        ),
        ("tables.insert", {"defaultCollation": "und:ci"}),
        ("datasets.insert", {"isCaseInsensitive": True}),
        ("datasets.insert", {"defaultRoundingMode": "ROUND_HALF_EVEN"}),
        ("jobs.query", {"queryResultsFormat": "ARROW"}),
        ("jobs.query", {"preserveNulls": True}),
        ("buckets.insert", {"versioning": {"enabled": True}}),
        ("objects.insert", {"temporaryHold": True}),
    ],
)
def test_what_would_be_ignored_is_refused(client, name, body):
    answer = client.send(METHODS[name], body)
    assert answer.status_code == 501, answer.text
    assert next(iter(body)) in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (
            "tables.insert",
            {"schema": {"fields": [{**TEXT, "maxLength": "0"}]}},
        ),
        (
            "tables.insert",
            {"defaultCollation": "", "defaultRoundingMode": "ROUNDING_MODE_UNSPECIFIED"},
        ),
        ("datasets.insert", {"isCaseInsensitive": False, "linkedDatasetSource": {}}),
        (
            "jobs.query",
            {"queryResultsFormat": "JSON", "jobCreationMode": "JOB_CREATION_OPTIONAL"},
        ),
        ("buckets.insert", {"versioning": {"enabled": False}, "acl": []}),
        ("objects.insert", {"temporaryHold": False}),
    ],
)
def test_defaults_of_what_is_not_emulated_may_be_sent(client, name, body):
    assert client.send(METHODS[name], body).status_code == 200


SOURCES = {
    api: [path.read_text() for path in (HERE.parent / "src/local_gcp" / api).rglob("*.py")]
    for api in MESSAGES
}


def test_each_method_that_takes_a_message_is_sent():
    """Those of uploads, and jobs.query, read their messages themselves."""
    route = re.compile(
        r'(?:method|bucket|of_object)\(\s*(?:"[A-Z]+",\s*[^,]+,\s*)?"([\w.]+)",\s*[\w.]+,\s*"(\w+)"'
    )
    found = {
        match for sources in SOURCES.values() for text in sources for match in route.findall(text)
    }
    sent = {(name.partition(",")[0], method.message) for name, method in METHODS.items()}
    short = sent | {(name.partition(".")[2], message) for name, message in sent}
    assert len(found) > 15
    assert found <= short


def test_each_field_that_is_used_is_read_somewhere():
    """An answer that repeats a job's configuration does not show that it had an effect."""
    for api, messages in MESSAGES.items():
        for name, message in messages.items():
            used = set(message.used.split()) - message.only.keys()
            assert {
                f for f in used if not any(f'"{f}"' in text for text in SOURCES[api])
            } == set(), name


def test_the_tables_name_fields_of_the_discovery_documents():
    for api, messages in MESSAGES.items():
        for name, message in messages.items():
            assert isinstance(message, Message)
            unknown = set(message.used.split()) - set(fields_of(name, api))
            assert not unknown, name
            assert set(message.only) <= set(message.used.split()), name


def test_a_value_that_a_used_field_may_not_have_is_refused(client):
    for name, body in (
        ("jobs.query", {"queryResultsFormat": "AVRO"}),
        ("jobs.insert, a query", {"configuration": {"query": {"priority": "SOON"}}}),
    ):
        assert client.send(METHODS[name], body).status_code == 501
