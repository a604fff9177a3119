"""smoke: the challenger's answers to test examples must equal its offline ones, and be fast."""

from collections.abc import Iterable
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook
from airflow.providers.google.cloud.hooks.vertex_ai.prediction_service import PredictionServiceHook
from airflow.sdk.exceptions import AirflowFailException

from trellis.vertex.deployments import get_endpoint, version_at
from trellis.vertex.endpoints import DeployModelOperator
from trellis.vertex.registry import find_version, service_of
from trellis.workflow.lookups import documents, examples
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.deploy import private, smoke_requests
from trellis_contracts import layout
from trellis_contracts.challenger import Challenger


class SmokeOperator(DeployModelOperator):
    """Test a deployed version with the examples of challenger.json. Returns {"examples",
    "requests", "largest_difference", "latency_ms"}.

    If a retreat has undeployed it and a person clears the failed test, it is first deployed again,
    with `share`. The test takes seconds and runs in a worker: see `smoke_requests`.

    :param platform: the group's.
    :param examples: address of challenger.json (templated).
    :param latency: milliseconds that its median answer must stay under.

    Raises AirflowFailException when it fails: a retry does not remove a skew.
    """

    template_fields = (*DeployModelOperator.template_fields, "examples")

    def __init__(self, *, platform: Platform, examples: str, latency: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.platform = platform
        self.examples = examples
        self.latency = latency

    def _writes(self) -> Iterable[str]:
        return ()

    def execute(self, context: Any) -> Any:
        return self._test(super().execute(context)["deployed_model"])

    def resume(self, context: Any, event: dict[str, Any]) -> Any:
        return self._test(super().resume(context, event)["deployed_model"])

    def _test(self, deployed: str) -> dict[str, Any]:
        hook = self._hook(PredictionServiceHook)
        endpoint = get_endpoint(self._client, self.endpoint_id)
        client: Any
        if private.is_private(endpoint):
            client = private.PrivateClient(private.address(endpoint), hook.get_credentials())
        else:
            client = hook.get_prediction_service_client(self.region)
        challenger = documents.read_file(self.platform, Challenger, self.examples)
        sent = [
            example
            for example in challenger.examples
            if all(map(self.platform.serving.reads, challenger.addresses(example)))
        ]
        if not sent:
            raise AirflowFailException(
                "Every test example has an image that requests may not name (platform.yaml, "
                "serving.image_uris): add the folder of the experiment's images there."
            )
        share = endpoint.traffic_split.get(deployed, 0)
        try:
            found = smoke_requests.ask(
                client,
                self.endpoint_id,
                deployed,
                share,
                sent,
                self.latency,
                challenger.edges,
                challenger.service,
                mixed=share < 100 and self._mixed(endpoint, deployed, challenger.service),
            )
        except smoke_requests.SmokeTestError as error:
            whole = layout.examples(f"{self.examples.rpartition('/')[0]}/", "smoke")
            texts = examples.for_log(self.platform, whole, [error.text])
            raise AirflowFailException("\n".join(texts)) from None
        self.log.info(
            "All %d examples are answered as offline (at most %.2g apart), in %.1f ms in the "
            "median; %d requests at %d%%",
            found.examples,
            found.largest_difference,
            found.latency_ms,
            found.requests,
            share,
        )
        return found.to_json()

    def _mixed(self, endpoint: Any, deployed: str, service: str | None) -> bool:
        """Return whether a model that gets other requests takes them in another form."""
        client = self._hook(ModelServiceHook).get_model_service_client(self.region)
        others = [
            find_version(client, version_at(other))
            for other in endpoint.deployed_models
            if other.id != deployed and endpoint.traffic_split.get(other.id)
        ]
        return any(other is not None and service_of(other) != service for other in others)
