"""Creates a dataset and says what the client saw, and how many datasets there are afterwards."""

import json
import time

from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api

PARENT = "projects/local-gcp/locations/us-central1"
client = api.DatasetServiceClient(
    client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"}
)
sent = {
    "display_name": "d",
    "metadata_schema_uri": "gs://google-cloud-aiplatform/schema/dataset/metadata/image_1.0.0.yaml",
}
try:
    client.create_dataset(parent=PARENT, dataset=sent)
    error = None
except exceptions.GoogleAPICallError as seen:
    error = type(seen).__name__
deadline = time.monotonic() + 60
while not (found := list(client.list_datasets(parent=PARENT))) and time.monotonic() < deadline:
    time.sleep(0.1)
print(json.dumps({"error": error, "datasets": len(found)}))
