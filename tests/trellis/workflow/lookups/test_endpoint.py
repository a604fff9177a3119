"""Reading what an endpoint serves: what an error of Vertex AI is called."""

from unittest.mock import Mock

import pytest
from airflow.sdk.exceptions import AirflowFailException
from google.api_core import exceptions

from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import endpoint


@pytest.mark.parametrize(
    ("error", "region_in_doubt"),
    [
        (exceptions.MethodNotImplemented("Received http2 header with status: 404"), True),
        (exceptions.InvalidArgument("Unsupported region for Vertex AI"), True),
        (exceptions.MethodNotImplemented("Operation is not implemented."), False),
    ],
)
def test_the_region_is_in_doubt_only_if_vertex_ai_may_not_be_there(
    group, monkeypatch, error, region_in_doubt
):
    hook = Mock()
    hook.get_endpoint_service_client.return_value.get_endpoint.side_effect = error
    monkeypatch.setattr(endpoint, "EndpointServiceHook", Mock(return_value=hook))
    with pytest.raises(AirflowFailException) as raised:
        endpoint.find(group, Run("bucket", "digits", "r"))
    assert error.message in str(raised.value)
    assert ("Does that region exist" in str(raised.value)) == region_in_doubt
