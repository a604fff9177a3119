"""The JSON methods that take a message, with a request of each that is accepted."""

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

BIGQUERY = "https://bigquery.googleapis.com/bigquery/v2/projects/local-gcp"
STORAGE = "https://storage.googleapis.com/storage/v1/b"
UPLOAD = "https://storage.googleapis.com/upload/storage/v1/b/request-fields/o"
DATASETS, JOBS = f"{BIGQUERY}/datasets", f"{BIGQUERY}/jobs"
TABLES, MODELS = f"{DATASETS}/request_fields/tables", f"{DATASETS}/request_fields/models"
OBJECTS = f"{STORAGE}/request-fields/o"


@dataclass(frozen=True)
class Method:
    """A method of an API, and a request that it accepts.

    address: with {new}, a name that nothing has, and {dataset}, {table}, {model}, {bucket} or
    {object}, one that something has. least: the request's body. shown: where the answer has the
    resource. part: of a message with parts that exclude each other, the one that is sent.
    """

    message: str
    verb: str
    address: str
    least: dict[str, Any] = field(default_factory=dict)
    shown: str = ""
    part: str = ""

    @property
    def api(self):
        return "bigquery" if self.address.startswith(BIGQUERY) else "storage"


def _of_job(part, **configuration):
    return Method("Job", "POST", JOBS, {"configuration": {part: configuration}}, part=part)


TEXT = {"name": "a", "type": "STRING"}
COLUMN = {"schema": {"fields": [TEXT]}}
QUERY = {"query": "SELECT 1", "useLegacySql": False}
FROM = {"datasetId": "request_fields", "tableId": "{table}"}
INTO = {"datasetId": "request_fields", "tableId": "{new}"}
FILE = "gs://request-fields/{new}"
METHODS = {
    "datasets.insert": Method(
        "Dataset", "POST", DATASETS, {"datasetReference": {"datasetId": "{new}"}}
    ),
    "datasets.patch": Method("Dataset", "PATCH", f"{DATASETS}/{{dataset}}"),
    "datasets.update": Method("Dataset", "PUT", f"{DATASETS}/{{dataset}}"),
    "tables.insert": Method("Table", "POST", TABLES, {"tableReference": INTO, **COLUMN}),
    "tables.patch": Method("Table", "PATCH", f"{TABLES}/{{table}}", COLUMN),
    "tables.update": Method("Table", "PUT", f"{TABLES}/{{table}}", COLUMN),
    "models.patch": Method("Model", "PATCH", f"{MODELS}/{{model}}"),
    "jobs.insert, a query": _of_job("query", **QUERY),
    "jobs.insert, a load": _of_job("load", sourceUris=[FILE], destinationTable=INTO, **COLUMN),
    "jobs.insert, an extract": _of_job("extract", destinationUris=[FILE], sourceTable=FROM),
    "jobs.insert, a copy": _of_job("copy", sourceTable=FROM, destinationTable=INTO),
    "jobs.query": Method("QueryRequest", "POST", f"{BIGQUERY}/queries", QUERY),
    "tabledata.insertAll": Method(
        "TableDataInsertAllRequest",
        "POST",
        f"{TABLES}/{{table}}/insertAll",
        {"rows": [{"json": {"a": "b"}}]},
    ),
    "buckets.insert": Method("Bucket", "POST", STORAGE, {"name": "{new}"}),
    "buckets.patch": Method("Bucket", "PATCH", f"{STORAGE}/{{bucket}}"),
    "buckets.update": Method("Bucket", "PUT", f"{STORAGE}/{{bucket}}"),
    "objects.insert": Method("Object", "POST", f"{UPLOAD}?uploadType=resumable", {"name": "{new}"}),
    "objects.patch": Method("Object", "PATCH", f"{OBJECTS}/{{object}}"),
    "objects.update": Method("Object", "PUT", f"{OBJECTS}/{{object}}"),
    "objects.copy": Method(
        "Object", "POST", f"{OBJECTS}/{{object}}/copyTo/b/request-fields/o/{{new}}"
    ),
    "objects.rewrite": Method(
        "Object",
        "POST",
        f"{OBJECTS}/{{object}}/rewriteTo/b/request-fields/o/{{new}}",
        shown="resource",
    ),
    "objects.move": Method("Object", "POST", f"{OBJECTS}/{{object}}/moveTo/o/{{new}}"),
    "objects.compose": Method(
        "ComposeRequest",
        "POST",
        f"{OBJECTS}/{{new}}/compose",
        {"sourceObjects": [{"name": "{object}"}]},
    ),
}


def merged(one, other):
    """Both together, the first items of two lists, too."""
    if isinstance(one, list) and isinstance(other, list) and one and isinstance(other[0], dict):
        return [merged(one[0], other[0]), *one[1:]]
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    return {**one, **{name: merged(one.get(name), value) for name, value in other.items()}}


def filled(value, names):
    """A body or address with names in place of {new} and others."""
    if isinstance(value, dict):
        return {name: filled(item, names) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    return re.sub(r"{(\w+)}", lambda m: names(m[1]), value) if isinstance(value, str) else value


class Client:
    """Sends requests; makes what they need. What a request has changed is not used again."""

    def __init__(self, session):
        self._session = session
        self._there = {}

    def send(self, method, body):
        """The response to a request of a Method with the body's fields."""
        body = filled(merged(method.least, body), self._name)
        answer = self._session.request(method.verb, filled(method.address, self._name), json=body)
        if method.address.startswith(UPLOAD) and answer.ok:
            answer = self._session.put(answer.headers["Location"], data=b"")
        if answer.ok:
            self._there = {kind: name for kind, name in self._there.items() if kind == "model"}
        return answer

    def _name(self, kind):
        name = f"n{uuid.uuid4().hex}"
        if kind == "new":
            return name
        if kind not in self._there:
            getattr(self, f"_make_{kind}")(name)
            self._there[kind] = name
        return self._there[kind]

    def _make_dataset(self, name):
        self._post(DATASETS, {"datasetReference": {"datasetId": name}})

    def _make_table(self, name):
        self._post(TABLES, {"tableReference": {"tableId": name}, **COLUMN})

    def _make_model(self, name):
        made = (
            f"CREATE MODEL request_fields.{name} OPTIONS (model_type = 'linear_reg') AS "
            "SELECT a, 2 * a AS label FROM UNNEST([1.0, 2.0, 3.0]) AS a"
        )
        self._post(f"{BIGQUERY}/queries", {"query": made, "useLegacySql": False})

    def _make_bucket(self, name):
        self._post(STORAGE, {"name": name})

    def _make_object(self, name):
        address = f"{UPLOAD}?uploadType=media&name={name}"
        self._session.post(address, data=b"").raise_for_status()

    def _post(self, address, body):
        self._session.post(address, json=body).raise_for_status()
