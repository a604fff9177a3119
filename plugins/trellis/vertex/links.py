"""The link from a task to the console's page of what it made."""

from typing import Any, ClassVar

from airflow.providers.google.cloud.links.base import BaseGoogleLink

from trellis import console


class ConsoleLink(BaseGoogleLink):
    """A page of Vertex AI. The provider's links lead below the console's former `vertex-ai/`."""

    name: ClassVar[str] = "Google Cloud console"
    key: ClassVar[str] = "google_cloud_console"
    format_str: ClassVar[str] = "{url}"

    @classmethod
    def remember(cls, context: Any, name: str) -> None:
        """Link the task to the resource with this name."""
        cls.persist(context=context, url=console.vertex(name))
