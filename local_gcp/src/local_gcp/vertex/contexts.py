"""MetadataService: contexts, in which Vertex AI Experiments keeps experiments and their runs.

An experiment is a context of the store `default`, and each of its runs another one below it, with
its parameters and metrics as metadata. Artifacts, executions, schemas and lineage are not emulated;
so there are none of them to find.
"""

from __future__ import annotations

import re
import time
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import field_mask_pb2

from local_gcp import filters, names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.listing import page
from local_gcp.operations import Operations
from local_gcp.state import State
from local_gcp.vertex import validation
from local_gcp.vertex.resources import timestamp
from local_gcp.wire import already_exists, not_emulated, not_found

_STORE = "default"
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")
_CONTEXT = re.compile(r"(?P<store>.+/metadataStores/[^/]+)/contexts/[^/]+")
_CHANGEABLE = ("display_name", "description", "labels", "metadata")
_MOST_PARENTS = 10


class _Parents(filters.Field):
    """The contexts that a context is below: parent_contexts:"NAME"."""

    operators = (":",)

    def test(self, _op: str, value: str, _key: str | None) -> filters.Predicate:
        wanted = names.with_number(value)
        return lambda context: wanted in context.parent_contexts


_FIELDS = {
    "schema_title": filters.Text("schema_title"),
    "display_name": filters.Text("display_name"),
    "parent_contexts": _Parents("parent_contexts"),
}


class Contexts:
    """See the module."""

    def __init__(self, state: State, operations: Operations):
        self._state, self._operations = state, operations
        self._stores = state.table("metadataStores", api.MetadataStore)
        self._table = state.table("contexts", api.Context)
        operations.define("create_metadata_store", api.MetadataStore, self._create_store)

    def create_metadata_store(self, request: Any, _context: Any) -> Any:
        parent = names.location(request.parent)
        if request.metadata_store_id != _STORE:
            raise not_emulated(
                f"the metadata_store_id {request.metadata_store_id!r}", f"There is {_STORE!r}."
            )
        validation.check_encryption(request.metadata_store, "metadata_store", names.last(parent))
        name = f"{parent}/metadataStores/{_STORE}"
        if self._stores.get(name) is not None:
            raise already_exists(name)
        now = timestamp(time.time())
        store = api.MetadataStore(
            name=name,
            create_time=now,
            update_time=now,
            description=request.metadata_store.description,
        )
        if "encryption_spec" in request.metadata_store:
            store.encryption_spec = request.metadata_store.encryption_spec
        times = {"create_time": now, "update_time": now}
        metadata = api.CreateMetadataStoreOperationMetadata(generic_metadata=times)
        return self._operations.begin("create_metadata_store", name, store, metadata)

    def _create_store(self, name: str, store: api.MetadataStore) -> api.MetadataStore:
        self._stores.put(name, store)
        return store

    def get_metadata_store(self, request: Any, _context: Any) -> api.MetadataStore:
        return self._store(request.name)

    def create_context(self, request: Any, _context: Any) -> api.Context:
        store, sent = self._store(request.parent, "parent"), request.context
        if not _ID.fullmatch(request.context_id):
            problem = f"{request.context_id!r} is not 1 to 128 of a-z, 0-9 and -"
            raise invalid_field("context_id", f"{problem}, - not first.")
        if not sent.schema_title:
            raise invalid_field("context.schema_title", REQUIRED)
        name, now = f"{store.name}/contexts/{request.context_id}", timestamp(time.time())
        with self._state.transaction():
            if self._table.get(name) is not None:
                raise already_exists(name)
            context = api.Context(
                name=name,
                display_name=sent.display_name,
                description=sent.description,
                labels=dict(sent.labels),
                schema_title=sent.schema_title,
                schema_version=sent.schema_version,
                create_time=now,
                update_time=now,
                etag=names.new_id(),
            )
            if "metadata" in sent:
                context.metadata = sent.metadata
            self._table.put(name, context)
        return context

    def get_context(self, request: Any, _context: Any) -> api.Context:
        return self._find(request.name)

    def update_context(self, request: Any, _context: Any) -> api.Context:
        sent, paths = request.context, list(request.update_mask.paths)
        if request.allow_missing:
            raise not_emulated("allow_missing")
        for path in paths:
            if path not in _CHANGEABLE:
                raise invalid_field("update_mask", f"{path!r} cannot be updated.")
        with self._state.transaction():
            context = self._find(sent.name, "context.name")
            mask = field_mask_pb2.FieldMask(paths=paths or _CHANGEABLE)
            mask.MergeMessage(
                api.Context.pb(sent),
                api.Context.pb(context),
                replace_message_field=True,
                replace_repeated_field=True,
            )
            context.update_time, context.etag = timestamp(time.time()), names.new_id()
            self._table.put(context.name, context)
        return context

    def list_contexts(self, request: Any, _context: Any) -> dict[str, Any]:
        _check_order(request)
        matches = filters.parse_filter(request.filter, _FIELDS)
        prefix = f"{names.with_number(request.parent)}/contexts/"
        every = [context for _, context in self._table.list_lagging(prefix)]
        found, token = page(filter(matches, every), request.page_size, request.page_token)
        return {"contexts": found, "next_page_token": token}

    def list_executions(self, request: Any, _context: Any) -> dict[str, Any]:
        """None: each filter, which is not read, leaves none of none."""
        _check_order(request)
        self._store(request.parent, "parent")
        none: list[api.Execution] = []
        found, token = page(none, request.page_size, request.page_token)
        return {"executions": found, "next_page_token": token}

    def get_artifact(self, request: Any, _context: Any) -> Any:
        """The SDK looks for that of a run's TensorBoard."""
        raise not_found(names.with_number(request.name))

    def add_context_children(self, request: Any, _context: Any) -> dict[str, Any]:
        """Add children to the context, except those that it has already."""
        with self._state.transaction():
            parent = self._find(request.context, "context")
            for number, name in enumerate(request.child_contexts):
                child = self._find(name, f"child_contexts[{number}]")
                if parent.name in child.parent_contexts:
                    continue
                if len(child.parent_contexts) == _MOST_PARENTS:
                    problem = f"{child.name} has {_MOST_PARENTS} parents, which is the most."
                    raise invalid_field(f"child_contexts[{number}]", problem)
                child.parent_contexts = [*child.parent_contexts, parent.name]
                self._table.put(child.name, child)
        return {}

    def _store(self, name: str, field: str = "name") -> api.MetadataStore:
        name = names.resource(name, "metadataStores", field)
        store = self._stores.get(name)
        if store is None:
            raise not_found(name)
        return store

    def _find(self, name: str, field: str = "name") -> api.Context:
        match = _CONTEXT.fullmatch(name)
        if not match:
            raise invalid_field(field, f"{name!r} is not STORE/contexts/ID.")
        names.resource(match["store"], "metadataStores", field)
        name = names.with_number(name)
        context = self._table.get(name)
        if context is None:
            raise not_found(name)
        return context


def _check_order(request: Any) -> None:
    if request.order_by:
        raise not_emulated("order_by", "The newest come first; sort in the client.")
