"""Google's Vertex AI clients, with the whole service in this process; short times."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from google.cloud import aiplatform_v1 as api

from local_gcp.home import Endpoints
from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.service import Context
from local_gcp.vertex.service import Vertex


@pytest.fixture(autouse=True)
def _nothing_is_left(nothing_is_left):
    """No test leaves a process."""


@pytest.fixture
def variants():
    """LOCAL_GCP_VARIANTS of the service; a test that needs others has a fixture of this name."""
    return "operation-seconds=0"


@pytest.fixture
def warehouse():
    """BigQuery's tables, as for `variants`: None, BigQuery is not emulated."""
    return


@pytest.fixture
def vertex(home, impatient, tmp_path, monkeypatch, variants, warehouse):
    """Vertex AI behind a gRPC server in this process: `vertex.jobs`, `.pipelines`, `.models`,
    `.datasets`, `.endpoints`, `.predictions`.

    The image example.com/python runs programs with the Python of the tests.
    """
    images = tmp_path / "images.yaml"
    images.write_text(f"- image: example.com/python*\n  bin: {Path(sys.executable).parent}\n")
    # Its own image, then those of all tests, Google's among them.
    files = [str(images), os.environ["LOCAL_GCP_IMAGES"]]
    monkeypatch.setenv("LOCAL_GCP_IMAGES", os.pathsep.join(files))
    monkeypatch.setenv("LOCAL_GCP_VARIANTS", variants)
    context = Context(home, PROJECT, Endpoints(1, 2), {"GCS_ROOT": str(home.buckets)})
    service = Vertex(context, warehouse)
    service.start()
    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers(service.grpc_handlers)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield VertexClients(service, channel)
    server.stop(None)
    service.stop()


class VertexClients:
    """Google's clients of a Vertex AI in this process."""

    parent = f"projects/{PROJECT}/locations/us-central1"

    def __init__(self, service, channel):
        self.service, self.channel = service, channel

        def client(kind):
            transport = kind.get_transport_class("grpc")(channel=channel)
            return kind(transport=transport)

        self.jobs = client(api.JobServiceClient)
        self.pipelines = client(api.PipelineServiceClient)
        self.models = client(api.ModelServiceClient)
        self.datasets = client(api.DatasetServiceClient)
        self.metadata = client(api.MetadataServiceClient)
        self.endpoints = client(api.EndpointServiceClient)
        self.predictions = client(api.PredictionServiceClient)

    @staticmethod
    def pool(code, *args, replicas=1):
        """A worker pool that runs Python code."""
        return {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": replicas,
            "container_spec": {
                "image_uri": "example.com/python:3",
                "command": ["python", "-c", code],
                "args": args,
            },
        }
