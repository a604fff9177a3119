"""Begins to create an endpoint and prints its operation; with one, waits for that and prints the
endpoint's name.

    python begin_endpoint.py [OPERATION]
"""

import sys
import time

from google.cloud import aiplatform_v1 as api

PARENT = "projects/local-gcp/locations/us-central1"
client = api.EndpointServiceClient(
    client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"}
)
if sys.argv[1:]:
    while not (found := client.get_operation({"name": sys.argv[1]})).done:
        time.sleep(0.1)
    (endpoint,) = client.list_endpoints(parent=PARENT)
    assert found.name.startswith(endpoint.name)
    print(endpoint.name)
else:
    begun = client.create_endpoint(parent=PARENT, endpoint={"display_name": "e"})
    assert not begun.done()
    print(begun.operation.name)
