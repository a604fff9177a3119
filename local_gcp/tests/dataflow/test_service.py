"""Dataflow's gRPC services, as Airflow's triggers and sensors call them."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import dataflow_v1beta3 as api

from local_gcp.dataflow.service import Dataflow
from local_gcp.home import Endpoints
from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.service import Context

WHERE = {"project_id": PROJECT, "location": "us-central1"}


@pytest.fixture
def service(house):
    context = Context(house.home, PROJECT, Endpoints(1, 2), {})
    return Dataflow(context, house.state, house.runner)


@pytest.fixture
def client(service):
    """client(api.JobsV1Beta3Client): that client, connected to the service."""
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(service.grpc_handlers)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield lambda kind: kind(transport=kind.get_transport_class("grpc")(channel=channel))
    server.stop(None)


def test_the_services_tell_of_one_job(house, service, client):
    launched = client(api.FlexTemplatesServiceClient).launch_flex_template(
        {
            **WHERE,
            "launch_parameter": {
                "job_name": "export",
                "container_spec_gcs_path": house.template,
                "parameters": {"source": "gs://data/manifest.csv"},
            },
        }
    )
    where = {**WHERE, "job_id": launched.job.id}
    house.wait(launched.job.id)

    jobs = client(api.JobsV1Beta3Client)
    assert jobs.get_job(where).current_state == api.JobState.JOB_STATE_DONE
    assert [job.id for job in jobs.list_jobs(WHERE)] == [launched.job.id]
    messages = list(client(api.MessagesV1Beta3Client).list_job_messages(where))
    assert messages[-1].message_text == "The job is JOB_STATE_DONE."
    assert [entry["kind"] for entry in service.jobs()] == ["dataflow"]


def test_errors_and_methods_that_are_not_emulated(client):
    jobs = client(api.JobsV1Beta3Client)
    with pytest.raises(exceptions.NotFound, match="Job 1 in us-central1"):
        jobs.get_job({**WHERE, "job_id": "1"})
    with pytest.raises(exceptions.MethodNotImplemented, match="CreateJob"):
        jobs.create_job({**WHERE})
