"""A serving container that asks Google's services with its own credentials, and says what it got.

Instances: {"object": NAME} of a bucket's, "artifacts" (AIP_STORAGE_URI), "query", "models".
"""

import http.server
import json
import os

from google.api_core import exceptions
from google.cloud import aiplatform_v1, bigquery, storage


def ask(instance):
    if instance == "query":
        return [row[0] for row in bigquery.Client().query_and_wait("SELECT 1")]
    if instance == "models":
        client = aiplatform_v1.ModelServiceClient(
            client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"}
        )
        parent = f"projects/{os.environ['GOOGLE_CLOUD_PROJECT']}/locations/us-central1"
        return len(list(client.list_models(parent=parent)))
    client = storage.Client()
    if instance == "artifacts":
        bucket, _, folder = os.environ["AIP_STORAGE_URI"].removeprefix("gs://").partition("/")
        return [blob.download_as_text() for blob in client.list_blobs(bucket, prefix=folder)]
    return client.bucket("bucket").blob(instance["object"]).download_as_text()


def answered(instance):
    try:
        return ask(instance)
    except exceptions.GoogleAPICallError as error:
        return f"{error.code}: {error.message}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer({"predictions": [answered(instance) for instance in request["instances"]]})

    def answer(self, content):
        sent = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    address = ("127.0.0.1", int(os.environ["AIP_HTTP_PORT"]))
    http.server.ThreadingHTTPServer(address, Handler).serve_forever()
