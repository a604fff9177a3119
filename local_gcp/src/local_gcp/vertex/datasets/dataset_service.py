"""DatasetService: tabular datasets, which point at their rows, and datasets of images.

A tabular dataset is its metadata: {"inputConfig": {"gcsSource": {"uri": [...]}}} or
{"inputConfig": {"bigquerySource": {"uri": "bq://..."}}}. Images are imported, from files that
name them. Other kinds of datasets, versions, saved queries and exports are not emulated.
"""

from __future__ import annotations

import time
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format
from google.rpc import code_pb2, status_pb2

from local_gcp import filters, names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.listing import masked, page
from local_gcp.operations import Operations
from local_gcp.state import State
from local_gcp.vertex import gcs, tables, validation
from local_gcp.vertex.background import Background
from local_gcp.vertex.datasets import importing
from local_gcp.vertex.datasets.items import Items
from local_gcp.vertex.resources import deletion_metadata, timestamp
from local_gcp.wire import RpcError, failed_precondition, not_emulated, not_found

_SCHEMA = "gs://google-cloud-aiplatform/schema/dataset"
TABULAR = f"{_SCHEMA}/metadata/tabular_1.0.0.yaml"
IMAGE = f"{_SCHEMA}/metadata/image_1.0.0.yaml"
SINGLE_LABEL = f"{_SCHEMA}/ioformat/image_classification_single_label_io_format_1.0.0.yaml"
_SYSTEM_LABEL = "aiplatform.googleapis.com/dataset_metadata_schema"
_TITLES = {TABULAR: "TABLE", IMAGE: "IMAGE"}
_PARTIAL_FAILURES = 20
_FIELDS = {
    "display_name": filters.Text("display_name"),
    "metadata_schema_uri": filters.Text("metadata_schema_uri"),
    "labels": filters.Labels("labels"),
}
ITEM_FIELDS = {"labels": filters.Labels("labels")}
"""Fields for filters on DataItems, also in a filter split."""


class Datasets:
    """See the module."""

    def __init__(self, state: State, operations: Operations, background: Background, buckets: Any):
        self._state, self._operations, self._background = state, operations, background
        self._buckets = buckets
        self._table = state.table("datasets", api.Dataset)
        self._imports = state.table("imports", api.ImportDataRequest)
        """Unfinished imports, by the name of their operation."""
        operations.define("create_dataset", api.Dataset, self._create)
        operations.define("delete_dataset", api.DeleteDatasetRequest, self._delete)
        self.items = Items(state)

    def start(self) -> None:
        """Restart imports that a kill interrupted."""
        for operation, _ in self._imports.list():
            self._background.submit(self._import, self._import_failed, operation)

    def create_dataset(self, request: Any, _context: Any) -> Any:
        parent, sent = names.location(request.parent), request.dataset
        validation.check_resource(sent, "dataset", names.last(parent))
        if sent.metadata_schema_uri not in _TITLES:
            raise not_emulated(
                f"datasets of the kind {sent.metadata_schema_uri!r}",
                f"There are {TABULAR} and {IMAGE}.",
            )
        for field in ("saved_queries", "model_reference"):
            if getattr(sent, field):
                raise not_emulated(f"dataset.{field}")
        now = timestamp(time.time())
        dataset = api.Dataset(
            name=f"{parent}/datasets/{names.new_id()}",
            display_name=sent.display_name,
            description=sent.description,
            metadata_schema_uri=sent.metadata_schema_uri,
            metadata=_metadata(sent),
            labels={**sent.labels, _SYSTEM_LABEL: _TITLES[sent.metadata_schema_uri]},
            create_time=now,
            update_time=now,
            etag=names.new_id(),
        )
        if "encryption_spec" in sent:
            dataset.encryption_spec = sent.encryption_spec
        metadata = api.CreateDatasetOperationMetadata(generic_metadata=_times(now))
        return self._operations.begin("create_dataset", dataset.name, dataset, metadata)

    def _create(self, name: str, dataset: api.Dataset) -> api.Dataset:
        self._table.put(name, dataset)
        response = api.Dataset(dataset)
        for field in ("create_time", "update_time", "etag"):  # real responses have none of them
            api.Dataset.pb(response).ClearField(field)
        return response

    def get_dataset(self, request: Any, _context: Any) -> api.Dataset:
        return masked(self.find(request.name), request.read_mask)

    def list_datasets(self, request: Any, _context: Any) -> dict[str, Any]:
        _check_order(request)
        parent = names.location(request.parent)
        matches = filters.parse_filter(request.filter, _FIELDS)
        every = (self._view(d) for _, d in self._table.list_lagging(f"{parent}/datasets/"))
        found, token = page(filter(matches, every), request.page_size, request.page_token)
        datasets = [masked(dataset, request.read_mask) for dataset in found]
        return {"datasets": datasets, "next_page_token": token}

    def delete_dataset(self, request: Any, _context: Any) -> Any:
        dataset = self.find(request.name)
        metadata = deletion_metadata()
        return self._operations.begin_deletion("delete_dataset", dataset.name, request, metadata)

    def _delete(self, name: str, _request: Any) -> None:
        self.find(name)
        self._table.delete(name)
        self.items.forget(name)

    def import_data(self, request: Any, _context: Any) -> Any:
        dataset = self.find(request.name)
        if dataset.metadata_schema_uri != IMAGE:
            raise invalid_field(
                "name", "A tabular dataset has its source in its metadata; nothing is imported."
            )
        if not request.import_configs:
            raise invalid_field("import_configs", REQUIRED)
        for number, config in enumerate(request.import_configs):
            field = f"import_configs[{number}]"
            if config.import_schema_uri != SINGLE_LABEL:
                raise not_emulated(
                    f"the import schema {config.import_schema_uri!r}", f"There is {SINGLE_LABEL}."
                )
            if config.annotation_labels:
                raise not_emulated(f"{field}.annotation_labels")
            for uri in config.gcs_source.uris:
                if uri.endswith((".jsonl", ".json")):
                    raise not_emulated(f"{field}: an import of JSON lines", "Write a CSV manifest.")
                gcs.local_path(self._buckets, uri, f"{field}.gcs_source.uris")
        metadata = api.ImportDataOperationMetadata(generic_metadata=_times(timestamp(time.time())))
        if self._operations.fails("import_data"):
            return self._operations.fail_later(dataset.name, metadata)
        with self._state.transaction():
            operation = self._operations.start(dataset.name, metadata)
            self._imports.put(operation.name, request)
        self._background.submit(self._import, self._import_failed, operation.name)
        return operation

    def find(self, name: str, field: str = "name") -> api.Dataset:
        """The dataset with this name; raises NOT_FOUND."""
        dataset = self._table.get(names.resource(name, "datasets", field))
        if dataset is None:
            raise not_found(name)
        return self._view(dataset)

    def _view(self, dataset: api.Dataset) -> api.Dataset:
        if dataset.metadata_schema_uri == IMAGE:
            dataset.data_item_count = self.items.count(dataset.name)
        return dataset

    def _import(self, operation: str) -> None:
        request = self._imports.get(operation)
        dataset = names.resource(request.name, "datasets")
        problems: list[importing.Problem] = []
        items = list(self._read(request, problems))
        if not items:
            raise failed_precondition(
                "No image could be imported. " + "; ".join(map(str, problems[:5]))
            )
        now = timestamp(time.time())
        metadata = api.ImportDataOperationMetadata(
            generic_metadata={
                **_times(now),
                "partial_failures": [
                    status_pb2.Status(code=code_pb2.INVALID_ARGUMENT, message=str(problem))
                    for problem in problems[:_PARTIAL_FAILURES]
                ],
            }
        )
        with self._state.transaction():
            if self._table.get(dataset) is None:
                raise not_found(dataset)
            for item in items:
                self.items.put(dataset, item)
            self._imports.delete(operation)
            self._operations.finish(operation, api.ImportDataResponse(), metadata=metadata)

    def _read(self, request: Any, problems: list[importing.Problem]) -> Any:
        for config in request.import_configs:
            files = gcs.matching(self._buckets, config.gcs_source.uris, "gcs_source.uris")
            for file in files:
                for found in importing.read(file, gcs.uri_of(self._buckets, file)):
                    try:
                        if isinstance(found, importing.Problem):
                            problems.append(found)
                        elif gcs.local_path(self._buckets, found.uri).is_file():
                            yield importing.labelled(found, config.data_item_labels)
                        else:
                            problems.append(importing.Problem(found.uri, "there is no such file"))
                    except RpcError as error:
                        problems.append(importing.Problem(found.uri, error.message))

    def _import_failed(self, operation: str, error: status_pb2.Status) -> None:
        with self._state.transaction():
            self._imports.delete(operation)
            self._operations.finish(operation, error=error)


def source(dataset: api.Dataset) -> str | list[str]:
    """Return the source of a tabular dataset's rows: a bq:// table, or gs:// CSV objects."""
    config = json_format.MessageToDict(type(dataset).pb(dataset).metadata)["inputConfig"]
    if "bigquerySource" in config:
        return config["bigquerySource"]["uri"]
    return config["gcsSource"]["uri"]


def _metadata(sent: api.Dataset) -> dict[str, Any]:
    """The metadata as Vertex AI returns it: in camelCase, in whatever case it was sent."""
    if sent.metadata_schema_uri == IMAGE:
        return {"dataItemSchemaUri": f"{_SCHEMA}/dataitem/image_1.0.0.yaml"}
    field = "dataset.metadata"
    given = json_format.MessageToDict(type(sent).pb(sent).metadata)
    config = _either(_mapping(given, field), "inputConfig", "input_config", field)
    bigquery = config.get("bigquerySource", config.get("bigquery_source"))
    storage = config.get("gcsSource", config.get("gcs_source"))
    if (bigquery is None) == (storage is None):
        raise invalid_field(
            f"{field}.inputConfig", "Expected either a gcsSource or a bigquerySource."
        )
    if bigquery is not None:
        uri = _mapping(bigquery, f"{field}.inputConfig.bigquerySource").get("uri")
        tables.table_ref(str(uri), f"{field}.inputConfig.bigquerySource.uri")
        return {"inputConfig": {"bigquerySource": {"uri": uri}}}
    uris = _mapping(storage, f"{field}.inputConfig.gcsSource").get("uri") or []
    uris = [uris] if isinstance(uris, str) else uris
    if not uris:
        raise invalid_field(f"{field}.inputConfig.gcsSource.uri", REQUIRED)
    for uri in uris:
        if not str(uri).startswith("gs://"):
            raise invalid_field(
                f"{field}.inputConfig.gcsSource.uri", f"{uri!r} is not gs://BUCKET/OBJECT."
            )
    return {"inputConfig": {"gcsSource": {"uri": uris}}}


def _either(given: dict[str, Any], name: str, other: str, field: str) -> dict[str, Any]:
    value = given.get(name, given.get(other))
    if value is None:
        raise invalid_field(f"{field}.{name}", f"{REQUIRED} It names the source of the rows.")
    return _mapping(value, f"{field}.{name}")


def _mapping(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid_field(field, f"Expected an object, got {value!r}.")
    return value


def _check_order(request: Any) -> None:
    if request.order_by:
        raise not_emulated("order_by", "The newest come first; sort in the client.")


def _times(now: Any) -> dict[str, Any]:
    return {"create_time": now, "update_time": now}
