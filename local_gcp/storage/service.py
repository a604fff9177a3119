"""Cloud Storage as a service of local_gcp."""

from __future__ import annotations

from starlette.applications import Starlette

from local_gcp.service import Context, Service


class Storage(Service):
    """The JSON API (and XML reads of objects)."""

    hosts = ("storage.googleapis.com", "www.googleapis.com", "*.storage.googleapis.com")

    def __init__(self, context: Context):
        self.rest = Starlette()
