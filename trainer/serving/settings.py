"""The settings of one server."""

from dataclasses import dataclass

ANY_IMAGE = ("gs://",)
"""Prefixes that leave it to the service account's rights."""


@dataclass(frozen=True)
class Settings:
    """The flags of trainer.serve, checked; `python -m trainer.serve --help` explains them.

    model: gs:// address or path of a SavedModel. port 0: any free port. image_uris: prefixes of the
    gs:// addresses that a request may name.
    """

    model: str
    host: str
    port: int
    health_route: str
    predict_route: str
    image_uris: tuple[str, ...] = ANY_IMAGE
