"""An object in the store."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

from local_gcp.storage.checksums import Checksums


@dataclasses.dataclass(frozen=True)
class StoredObject:
    """The live version of an object. Times are microseconds since 1970, sizes bytes."""

    bucket: str
    name: str
    generation: int
    metageneration: int
    size: int
    fields: dict[str, Any]
    updated: int
    checksums: Checksums | None
    """Checksums; None until the bytes are read: the file was written by another program."""

    @property
    def etag(self) -> str:
        return base64.b64encode(f"{self.generation}/{self.metageneration}".encode()).decode()
