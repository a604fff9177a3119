"""The images of the datasets, each with its one class.

An image is known by its address. (Vertex AI compares the bytes; here two objects with the same
bytes are two images.) Importing it again merges its labels and replaces its class.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

from local_gcp.state import State
from local_gcp.vertex.datasets.importing import Item


class Items:
    """Stores items."""

    def __init__(self, state: State):
        self._table = state.table("dataItems", dict)

    def put(self, dataset: str, item: Item) -> None:
        """Add or update an item."""
        name = f"{dataset}/dataItems/{_number(item.uri)}"
        known = self._table.get(name)
        record = dataclasses.asdict(item)
        if known:
            record["labels"] = {**known["labels"], **item.labels}
            record["label"] = item.label if item.label is not None else known["label"]
        self._table.put(name, record)

    def of(self, dataset: str) -> list[Item]:
        """All items, in the order of their import."""
        return [_item(record) for _, record in self._table.list(f"{dataset}/dataItems/")]

    def count(self, dataset: str) -> int:
        """The number of items."""
        return len(self._table.list(f"{dataset}/dataItems/"))

    def forget(self, dataset: str) -> None:
        """Delete all items."""
        for name, _ in self._table.list(f"{dataset}/dataItems/"):
            self._table.delete(name)


def annotation_spec(dataset: str, label: str) -> str:
    """Id of a class of a dataset, a pure function of both."""
    return _number(f"{dataset}/{label}")


def _item(record: dict[str, Any]) -> Item:
    return Item(**{f.name: record[f.name] for f in dataclasses.fields(Item)})


def _number(text: str) -> str:
    """A numeric id of 18 digits, as Vertex AI's are, from a text."""
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest())
    return str(10**17 + digest % (9 * 10**17))
