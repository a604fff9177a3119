"""The links from a task to the console's pages of what it made."""

from typing import Any, ClassVar

from airflow.providers.google.cloud.links.base import BaseGoogleLink
from airflow.providers.google.cloud.links.vertex_ai import (
    VertexAIBatchPredictionJobLink,
    VertexAICustomJobLink,
    VertexAIEndpointLink,
    VertexAIModelLink,
    VertexAITrainingLink,
)

from trellis import console

# By collection: the provider's link, and the field with the resource's id.
_PROVIDERS: dict[str, tuple[type[BaseGoogleLink], str]] = {
    "customJobs": (VertexAICustomJobLink, "custom_job_id"),
    "hyperparameterTuningJobs": (VertexAITrainingLink, "training_id"),
    "trainingPipelines": (VertexAITrainingLink, "training_id"),
    "batchPredictionJobs": (VertexAIBatchPredictionJobLink, "batch_prediction_job_id"),
    "endpoints": (VertexAIEndpointLink, "endpoint_id"),
    "models": (VertexAIModelLink, "model_id"),
}


class ConsoleLink(BaseGoogleLink):
    """A page of Vertex AI. The provider's links lead below the console's former `vertex-ai/`."""

    name: ClassVar[str] = "Google Cloud console"
    key: ClassVar[str] = "google_cloud_console"
    format_str: ClassVar[str] = "{url}"

    @classmethod
    def remember(cls, context: Any, *names: str) -> None:
        """Link the task to the resources with these names: the provider's links to each, this one
        to the first.
        """
        cls.persist(context=context, url=console.vertex(names[0]))
        for name in names:
            collection, identifier = name.split("/")[-2:]
            link, field = _PROVIDERS[collection]
            link.persist(context=context, **{field: identifier.partition("@")[0]})
