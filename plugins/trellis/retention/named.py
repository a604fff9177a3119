"""Files of predictions, and of the messages of runs, that name one of some keys."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from trellis.results.index import folders
from trellis.retention.inventory import Services


def named(services: Services, keys: Collection[str]) -> Iterator[str]:
    """Prefixes in the group's bucket: folders of predictions, whose answers belong to the same
    keys, and the examples that a run's messages have left out. The files are read line by line.
    """
    bucket = services.group.bucket
    for experiment in folders(services.storage, bucket):
        for folder in folders(services.storage, bucket, f"{experiment}predictions/"):
            if _any(services, folder, keys):
                yield folder
        for run in folders(services.storage, bucket, f"{experiment}runs/"):
            if _any(services, f"{run}examples/", keys):
                yield f"{run}examples/"


def _any(services: Services, prefix: str, keys: Collection[str]) -> bool:
    blobs = services.storage.list_blobs(services.group.bucket, prefix=prefix)
    return any(_names(blob, keys) for blob in blobs)


def _names(blob: Any, keys: Collection[str]) -> bool:
    if blob.name.endswith(".parquet"):
        import pyarrow.parquet as pq

        with blob.open("rb") as file:
            column = pq.read_table(file, columns=["key"])["key"]
        return not {str(key) for key in column.to_pylist()}.isdisjoint(keys)
    if blob.name.endswith(".jsonl"):
        with blob.open("r") as lines:
            return any(_in_values(json.loads(line), keys) for line in lines)
    if blob.name.endswith(".txt"):
        text = "|".join(map(re.escape, sorted(keys)))
        return re.search(rf"(?<!\w)(?:{text})(?!\w)", blob.download_as_text()) is not None
    return False


def _in_values(line: dict[str, Any], keys: Collection[str]) -> bool:
    """Return whether a text is a key, or an address that ends with one, as those of images do."""
    return any(
        text[place:] in keys
        for text in line.values()
        if isinstance(text, str)
        for place in (0, *(found.end() for found in re.finditer("/", text)))
    )
