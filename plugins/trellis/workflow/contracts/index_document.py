"""What the records of the index of all runs have in common: JSON, and where it is kept.

An object's metadata has its record once more, so that one request lists a thousand runs with all
that is said of them. A run's own files stay the source: its record can be made from them again.
"""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict

METADATA = "trellis-record"
"""Key of the record in its object's metadata."""

_MOST_BYTES = 8000
"""Cloud Storage takes 8 KiB of metadata, keys included. Without it, the object itself is read."""

_LONGEST = 400
"""Characters of a sentence in a record; the run's own files have it in full."""


def text_of(blob: Any) -> str | bytes:
    """The JSON of a record: of its object's metadata, unless it was too long or a copy lost it.

    blob: google.cloud.storage.Blob, as it was listed. Raises Google's exceptions.
    """
    metadata = blob.metadata or {}
    return metadata[METADATA] if METADATA in metadata else blob.download_as_bytes()


class Document(BaseModel):
    """A record, or a part of one. A field that a later version has added is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @property
    def text(self) -> str:
        """The record as JSON in ASCII, the encoding of metadata."""
        return json.dumps(self.model_dump(), separators=(",", ":"))

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of the record's object; empty if it is too long for that."""
        return {METADATA: self.text} if len(self.text) <= _MOST_BYTES else {}

    def upload(self, blob: Any, **conditions: int) -> None:
        """Write it in one request, so that text and metadata are of one record.

        blob: google.cloud.storage.Blob. Raises PreconditionFailed if a condition is not met.
        """
        blob.metadata = self.metadata
        blob.upload_from_string(f"{self.text}\n", content_type="application/json", **conditions)


def short(text: str) -> str:
    """The beginning of a sentence, as long as one in a record may be."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
