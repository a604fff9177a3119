"""The images of the datasets: DataItems, each with its one Annotation.

An image is known by its address. (Vertex AI compares the bytes; here two objects with the same
bytes are two images.) Importing it again merges its labels and replaces its class.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

from google.cloud import aiplatform_v1 as api

from local_gcp.state import State
from local_gcp.vertex.datasets.importing import Item
from local_gcp.vertex.resources import timestamp

CLASSIFICATION = (
    "gs://google-cloud-aiplatform/schema/dataset/annotation/image_classification_1.0.0.yaml"
)


class Items:
    """Stores items: their fields, and times of creation and update."""

    def __init__(self, state: State):
        self._table = state.table("dataItems", dict)

    def put(self, dataset: str, item: Item, now: float) -> bool:
        """Add or update an item; returns whether it is new."""
        name = f"{dataset}/dataItems/{_number(item.uri)}"
        known = self._table.get(name)
        record = dataclasses.asdict(item)
        if known:
            record["labels"] = {**known["labels"], **item.labels}
            record["label"] = item.label if item.label is not None else known["label"]
        created = known["created"] if known else now
        self._table.put(name, {**record, "created": created, "updated": now})
        return known is None

    def of(self, dataset: str) -> list[Item]:
        """All items, in the order of their import."""
        return [_item(record) for _, record in self._table.list(f"{dataset}/dataItems/")]

    def count(self, dataset: str) -> int:
        """The number of items."""
        return len(self._table.list(f"{dataset}/dataItems/"))

    def resources(self, dataset: str) -> list[api.DataItem]:
        """The DataItems of ListDataItems."""
        return [_data_item(*pair) for pair in self._table.list(f"{dataset}/dataItems/")]

    def annotations(self, data_item: str) -> list[api.Annotation] | None:
        """The Annotations of a DataItem; None if there is no such item."""
        record = self._table.get(data_item)
        if record is None:
            return None
        if record["label"] is None:
            return []
        spec = annotation_spec(data_item.partition("/dataItems/")[0], record["label"])
        return [
            api.Annotation(
                name=f"{data_item}/annotations/{_number(record['label'])}",
                payload_schema_uri=CLASSIFICATION,
                payload={"displayName": record["label"], "annotationSpecId": spec},
                labels=record["annotation_labels"],
                create_time=timestamp(record["created"]),
                update_time=timestamp(record["updated"]),
            )
        ]

    def forget(self, dataset: str) -> None:
        """Delete all items."""
        for name, _ in self._table.list(f"{dataset}/dataItems/"):
            self._table.delete(name)


def annotation_spec(dataset: str, label: str) -> str:
    """Id of a class of a dataset, a pure function of both."""
    return _number(f"{dataset}/{label}")


def _data_item(name: str, record: dict[str, Any]) -> api.DataItem:
    return api.DataItem(
        name=name,
        labels=record["labels"],
        payload={"imageGcsUri": record["uri"]},
        create_time=timestamp(record["created"]),
        update_time=timestamp(record["updated"]),
    )


def _item(record: dict[str, Any]) -> Item:
    return Item(**{f.name: record[f.name] for f in dataclasses.fields(Item)})


def _number(text: str) -> str:
    """A numeric id of 18 digits, as Vertex AI's are, from a text."""
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest())
    return str(10**17 + digest % (9 * 10**17))
