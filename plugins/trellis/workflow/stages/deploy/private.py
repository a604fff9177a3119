"""Requests to a private endpoint, which has an address only inside the group's network.

Vertex AI creates that address when the first model is deployed, and serves HTTPS there with a
self-signed certificate, which cannot be verified; Google's own client does not verify it either.
Airflow's workers must be in the network.
https://docs.cloud.google.com/vertex-ai/docs/predictions/private-service-connect
"""

import warnings
from typing import Any

import requests
import urllib3
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from google.api_core import exceptions
from google.auth.transport.requests import AuthorizedSession
from google.cloud.aiplatform_v1.types import PredictResponse
from google.protobuf import json_format


def is_private(endpoint: Any) -> bool:
    """Return whether the endpoint is reachable only from a VPC network, by Private Service
    Connect.
    """
    return endpoint.private_service_connect_config.enable_private_service_connect


def address(endpoint: Any) -> str:
    """The address of a private endpoint in the group's network.

    Raises AirflowFailException if Vertex AI could not create one, AirflowException if it does not
    exist yet.
    """
    automations = endpoint.private_service_connect_config.psc_automation_configs
    for automation in automations:
        if automation.ip_address:
            return automation.ip_address
        if automation.error_message:
            raise AirflowFailException(
                f"Vertex AI could not give {endpoint.name} an address in {automation.network}: "
                f"{automation.error_message}"
            )
    raise AirflowException(f"{endpoint.name} has no address in the network yet: Airflow retries.")


class PrivateClient:
    """Replaces PredictionServiceClient for one private endpoint."""

    def __init__(self, address: str, credentials: Any):
        self._address = address
        self._session = AuthorizedSession(credentials)
        self._session.verify = False
        # The address is inside the network, so no proxy.
        self._session.trust_env = False

    def predict(self, *, endpoint: str, instances: list[Any], timeout: float) -> PredictResponse:
        """Predict like the client's method. Raises
        google.api_core.exceptions.GoogleAPICallError.
        """
        url = f"https://{self._address}/v1/{endpoint}:predict"
        body = {"instances": [json_format.MessageToDict(instance) for instance in instances]}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
                answer = self._session.post(url, json=body, timeout=timeout)
        except requests.RequestException as error:
            raise exceptions.ServiceUnavailable(
                f"{self._address} does not answer: are Airflow's workers in the endpoint's "
                f"network? {error}"
            ) from error
        if not answer.ok:
            raise exceptions.from_http_response(answer)
        return PredictResponse.from_json(answer.text, ignore_unknown_fields=True)
