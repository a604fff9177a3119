"""ifGenerationMatch and similar: https://cloud.google.com/storage/docs/request-preconditions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from local_gcp.rest import ApiError
from local_gcp.storage.stored_object import StoredObject

_NAMES = {
    "GenerationMatch": "generation_match",
    "GenerationNotMatch": "generation_not_match",
    "MetagenerationMatch": "metageneration_match",
    "MetagenerationNotMatch": "metageneration_not_match",
}


class NotModified(Exception):  # noqa: N818 - HTTP's name of the outcome, not an error
    """A read whose "not match" condition failed; becomes status 304 without a body."""


@dataclasses.dataclass(frozen=True)
class Preconditions:
    """Preconditions on an object's live version; None means no condition.

    Generation 0 means "no live version".
    """

    generation_match: int | None = None
    generation_not_match: int | None = None
    metageneration_match: int | None = None
    metageneration_not_match: int | None = None
    etag_match: str | None = None
    etag_not_match: str | None = None

    @classmethod
    def of(
        cls,
        query: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        prefix: str = "if",
    ) -> Preconditions:
        """Read the query (`prefix` "ifSource" for a copy's source) and the If-Match headers."""
        values = {}
        for name, field in _NAMES.items():
            text = query.get(prefix + name)
            if text is not None:
                if not text.isdecimal():
                    raise ApiError(400, f"{prefix}{name}: expected a number, got {text!r}.")
                values[field] = int(text)
        headers = headers or {}
        return cls(
            **values,
            etag_match=headers.get("if-match"),
            etag_not_match=headers.get("if-none-match"),
        )

    def check(self, current: StoredObject | None, reading: bool = False) -> None:
        """Raise ApiError 412, or for a read NotModified, if `current` does not meet them."""
        generation = current.generation if current else 0
        metageneration = current.metageneration if current else 0
        etag = current.etag if current else None
        must = (
            (self.generation_match, generation),
            (self.metageneration_match, metageneration),
        )
        if any(wanted is not None and wanted != actual for wanted, actual in must):
            self._fail(generation, metageneration)
        if self.etag_match is not None and not _listed(etag, self.etag_match):
            self._fail(generation, metageneration)
        if (
            self.generation_not_match == generation
            or self.metageneration_not_match == metageneration
            or (self.etag_not_match is not None and _listed(etag, self.etag_not_match))
        ):
            if reading:
                raise NotModified
            self._fail(generation, metageneration)

    def _fail(self, generation: int, metageneration: int) -> None:
        required = {f: v for f, v in dataclasses.asdict(self).items() if v is not None}
        raise ApiError(
            412,
            "At least one of the pre-conditions you specified did not hold: "
            + ", ".join(f"{field} {value}" for field, value in required.items())
            + f"; the object has generation {generation}, metageneration {metageneration}.",
            "conditionNotMet",
        )


def _listed(etag: str | None, header: str) -> bool:
    wanted = {item.strip().removeprefix("W/").strip('"') for item in header.split(",")}
    return etag is not None and ("*" in wanted or etag in wanted)
