"""Every field of Google's discovery documents is sent once: it is refused by name, or returned, or
has the effect that another test shows. `request_types/` has the documents' fields.
"""

import uuid

import pytest
import requests

from local_gcp.emulated_fields import MESSAGES, Message
from local_gcp.json_types import fields_of

BIGQUERY = "https://bigquery.googleapis.com/bigquery/v2/projects/local-gcp"
STORAGE = "https://storage.googleapis.com/storage/v1"
KEY = "projects/local-gcp/locations/us/keyRings/r/cryptoKeys/k"
VALUES = {"string": "x", "int64": "7", "integer": 7, "number": 1.5, "boolean": True, "any": "x"}
VALID = {
    "access.role": "READER",
    "autoclass.enabled": True,
    "autoclass.terminalStorageClass": "ARCHIVE",
    "clustering.fields": ["a"],
    "crc32c": "AAAAAA==",
    "customPlacementConfig.dataLocations": ["US-EAST1", "US-WEST1"],
    "customTime": "2024-01-01T00:00:00Z",
    "defaultTableExpirationMs": "3600000",
    "encryption.defaultKmsKeyName": KEY,
    "expirationTime": "4102444800000",
    "iamConfiguration.publicAccessPrevention": "enforced",
    "lifecycle.rule.action.type": "Delete",
    "location": "EU",
    "md5Hash": "1B2M2Y8AsgTpgAmY7PhCfg==",
    "rpo": "DEFAULT",
    "softDeletePolicy.retentionDurationSeconds": "864000",
    "schema.fields.maxLength": "3",
    "schema.fields.precision": "5",
    "schema.fields.roundingMode": "ROUND_HALF_EVEN",
    "schema.fields.scale": "2",
    "storageBillingModel": "PHYSICAL",
    "storageClass": "NEARLINE",
    "timePartitioning.type": "DAY",
    "view.query": "SELECT 1 AS a",
}
"""Values that fit, by path; other fields get one of `VALUES`."""
BESIDE = {
    "rpo": {"location": "NAM4"},
    "customPlacementConfig.dataLocations": {"location": "US"},
    "view.query": {"schema": None, "view": {"useLegacySql": False}},
}
EFFECTS = {
    "Table": {
        "view.useLegacySql": "legacy SQL is refused",
        "requirePartitionFilter": "only partitioned tables have it: bigquery/test_partitions.py",
        "timePartitioning.field": "checked against the schema: bigquery/test_partitions.py",
        "timePartitioning.expirationMs": "needs a type: bigquery/test_partitions.py",
        "timePartitioning.requirePartitionFilter": "needs a type: bigquery/test_partitions.py",
        "schema.fields.type": "another type: bigquery/test_schema.py",
        "schema.fields.mode": "another mode: bigquery/test_schema.py",
        "schema.fields.fields": "of a RECORD: bigquery/test_schema.py",
        "encryptionConfiguration.kmsKeyName": "bigquery/test_encryption.py",
        "tableReference": "the table's name",
        "schema.fields.defaultValueExpression": "an expression: bigquery/sql/test_definitions.py",
    },
    "Dataset": {
        "datasetReference": "the dataset's name",
        "defaultEncryptionConfiguration.kmsKeyName": "bigquery/test_encryption.py",
    },
    "Bucket": {"name": "the bucket's name", "iamConfiguration.bucketPolicyOnly": "its former name"},
    "Object": {"name": "the object's name", "crc32c": "checked", "md5Hash": "checked"},
    "ComposeRequest": {
        "deleteSourceObjects": "storage/test_objects.py",
        "sourceObjects": "storage/test_objects.py",
        "destination.name": "the address names it",
        "destination.crc32c": "of the parts",
        "destination.md5Hash": "a composed object has none",
    },
}


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


def nested(path, value):
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def merged(one, other):
    both = dict(one)
    for name, value in other.items():
        old = both.get(name)
        both[name] = (
            merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return both


def shaped(message, api, path, value):
    """{a: {b: VALUE}} with lists and maps where the fields of the path are such."""
    name, _, rest = path.partition(".")
    kind = fields_of(message, api)[name]
    if rest:
        value = shaped(kind.strip("[]{}"), api, rest, value)
        value = value if isinstance(value, dict) else {rest: value}
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
def send(local_gcp):
    """send("Bucket", body): the response to a creation of a resource with the body's fields."""
    with requests.Session() as session:
        session.trust_env = False
        session.proxies = {"https": local_gcp.client_env["https_proxy"]}
        session.verify = local_gcp.client_env["REQUESTS_CA_BUNDLE"]
        dataset = {"datasetReference": {"datasetId": "request_fields"}}
        session.post(f"{BIGQUERY}/datasets", json=dataset).raise_for_status()
        session.post(f"{STORAGE}/b", json={"name": "request-fields"}).raise_for_status()
        part = "https://storage.googleapis.com/upload/storage/v1/b/request-fields/o"
        session.post(f"{part}?uploadType=media&name=part", data=b"x").raise_for_status()

        def send(message, body):
            name = f"n{uuid.uuid4().hex}"
            table = f"{BIGQUERY}/datasets/request_fields/tables"
            query = {"configuration": {"query": {"query": "SELECT 1", "useLegacySql": False}}}
            column = {"schema": {"fields": [{"name": "a", "type": "STRING"}]}}
            address, least = {
                "Dataset": (f"{BIGQUERY}/datasets", {"datasetReference": {"datasetId": name}}),
                "Table": (table, {"tableReference": {"tableId": name}, **column}),
                "Job": (f"{BIGQUERY}/jobs", query),
                "QueryRequest": (f"{BIGQUERY}/queries", query["configuration"]["query"]),
                "TableDataInsertAllRequest": (f"{table}/t/insertAll", {"rows": []}),
                "Bucket": (f"{STORAGE}/b", {"name": name}),
                "ComposeRequest": (
                    f"{STORAGE}/b/request-fields/o/{name}/compose",
                    {"sourceObjects": [{"name": "part"}]},
                ),
                "Object": (
                    "https://storage.googleapis.com/upload/storage/v1/b/request-fields/o"
                    "?uploadType=resumable",
                    {"name": name},
                ),
            }[message]
            body = {n: v for n, v in merged(least, body).items() if v is not None}
            answer = session.post(address, json=body)
            if message == "Object" and answer.ok:
                answer = session.put(answer.headers["Location"], data=b"")
            return answer

        yield send


ROOTS = [
    ("bigquery", "Dataset"),
    ("bigquery", "Table"),
    ("bigquery", "Job"),
    ("bigquery", "QueryRequest"),
    ("bigquery", "TableDataInsertAllRequest"),
    ("storage", "Bucket"),
    ("storage", "Object"),
    ("storage", "ComposeRequest"),
]


@pytest.mark.parametrize(("api", "message"), ROOTS, ids=[message for _, message in ROOTS])
def test_a_field_is_refused_by_name_or_returned_or_has_its_effect(send, api, message):
    wrong = []
    for path, kind, table in leaves(message, api):
        last, inner = path.rpartition(".")[2], kind.strip("[]{}")
        value = VALID.get(path, VALUES.get(inner, {"x": "x"}))
        if table is not None and last in table.only:
            value = table.only[last][0]
        body = shaped(message, api, path, value)
        if inner not in VALUES:
            body = shaped(message, api, path, dict.fromkeys([*fields_of(inner, api)][:1], "x"))
        answer = send(message, merged(BESIDE.get(path, {}), body))
        text = answer.json()["error"]["message"] if not answer.ok else ""
        taken = table is None or last in f"{table.used} {table.output}".split()
        if not taken:
            if answer.status_code not in (400, 501) or last not in text:
                wrong.append((path, answer.status_code, text))
        elif answer.status_code == 501 and "the field" in text:
            wrong.append((path, "refused, although the table has it", text))
        elif answer.ok and message in EFFECTS:
            output = table is not None and last in table.output.split()
            known = any(path == p or path.startswith(f"{p}.") for p in EFFECTS[message])
            # The answer to a composition is the composed object.
            sent = body.get("destination", body)
            if not (output or known or holds(answer.json(), sent)):
                wrong.append((path, "taken and not returned", body))
    assert wrong == []


@pytest.mark.parametrize(("api", "message"), ROOTS, ids=[message for _, message in ROOTS])
def test_a_name_that_google_does_not_know_is_refused(send, api, message):
    answer = send(message, {"nonsense": 1})
    assert answer.status_code == 400
    assert 'Unknown name "nonsense"' in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("Table", {"schema": {"fields": [{"name": "a", "type": "STRING", "collation": "und:ci"}]}}),
        ("Table", {"defaultCollation": "und:ci"}),
        ("Dataset", {"isCaseInsensitive": True}),
        ("Dataset", {"defaultRoundingMode": "ROUND_HALF_EVEN"}),
        ("QueryRequest", {"queryResultsFormat": "ARROW"}),
        ("QueryRequest", {"preserveNulls": True}),
        ("Bucket", {"versioning": {"enabled": True}}),
        ("Object", {"temporaryHold": True}),
    ],
)
def test_what_would_be_ignored_is_refused(send, message, body):
    answer = send(message, body)
    assert answer.status_code == 501, answer.text
    assert next(iter(body)) in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("Table", {"schema": {"fields": [{"name": "a", "type": "STRING", "maxLength": "0"}]}}),
        ("Table", {"defaultCollation": "", "defaultRoundingMode": "ROUNDING_MODE_UNSPECIFIED"}),
        ("Dataset", {"isCaseInsensitive": False, "linkedDatasetSource": {}}),
        (
            "QueryRequest",
            {"queryResultsFormat": "JSON", "jobCreationMode": "JOB_CREATION_OPTIONAL"},
        ),
        ("Bucket", {"versioning": {"enabled": False}, "acl": []}),
        ("Object", {"temporaryHold": False}),
    ],
)
def test_defaults_of_what_is_not_emulated_may_be_sent(send, message, body):
    assert send(message, body).status_code == 200


def test_the_tables_name_fields_of_the_discovery_documents():
    for api, messages in MESSAGES.items():
        for name, message in messages.items():
            assert isinstance(message, Message)
            unknown = set(message.used.split()) - set(fields_of(name, api))
            assert not unknown, name
            assert set(message.only) <= set(message.used.split()), name


def test_a_value_that_a_used_field_may_not_have_is_refused(send):
    for message, body in (
        ("QueryRequest", {"queryResultsFormat": "AVRO"}),
        ("Job", {"configuration": {"query": {"priority": "SOON"}}}),
    ):
        assert send(message, body).status_code == 501
