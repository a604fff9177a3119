"""gRPC services from recorded tables, asked by Google's own client."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api
from google.cloud.aiplatform_v1.services.job_service.transports import JobServiceGrpcTransport
from google.rpc import code_pb2

from local_gcp.wire import (
    RpcError,
    ServiceHandler,
    as_rpc_error,
    failed_precondition,
    invalid_argument,
    method_table,
    not_found,
    refuse_unread,
    status_of,
)

JOBS = "google.cloud.aiplatform_v1.services.job_service"


class Jobs:
    def get_custom_job(self, request, _context):
        match request.name.rpartition("/")[2]:
            case "missing":
                raise not_found(request.name)
            case "odd":
                raise invalid_argument("name", "is odd.")
            case "wordy":
                raise invalid_argument("name", "ü" * 5000)
            case "broken":
                raise KeyError("oops")
        return {"name": request.name, "state": api.JobState.JOB_STATE_RUNNING}

    def delete_custom_job(self, request, _context):
        raise failed_precondition("It runs.")


class MoreJobs:
    def get_hyperparameter_tuning_job(self, request, _context):
        return api.HyperparameterTuningJob(name=request.name)


@pytest.fixture(scope="module")
def client():
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([ServiceHandler(JOBS, Jobs(), MoreJobs())])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield api.JobServiceClient(transport=JobServiceGrpcTransport(channel=channel))
    server.stop(None)


def test_the_table_has_every_method_with_its_messages():
    table = method_table(JOBS)
    path = "/google.cloud.aiplatform.v1.JobService/"
    assert table[f"{path}CreateCustomJob"] == (api.CreateCustomJobRequest, api.CustomJob)
    assert table[f"{path}CancelCustomJob"][1].DESCRIPTOR.full_name == "google.protobuf.Empty"
    assert len(table) == 35


def test_answers_may_be_dicts_or_messages_of_several_objects(client):
    assert client.get_custom_job(name="j/1").state == api.JobState.JOB_STATE_RUNNING
    assert client.get_hyperparameter_tuning_job(name="h/1").name == "h/1"


def test_errors_have_code_message_and_field(client):
    with pytest.raises(exceptions.NotFound, match="j/missing is not found"):
        client.get_custom_job(name="j/missing")
    with pytest.raises(exceptions.FailedPrecondition, match="It runs"):
        client.delete_custom_job(name="j/1")
    with pytest.raises(exceptions.InvalidArgument, match="name: is odd") as error:
        client.get_custom_job(name="j/odd")
    assert error.value.details[0].field_violations[0].field == "name"


def test_a_long_error_arrives_shortened(client):
    with pytest.raises(exceptions.InvalidArgument, match="name: üüü"):
        client.get_custom_job(name="j/wordy")


def test_an_unsupported_method_is_named(client):
    with pytest.raises(exceptions.MethodNotImplemented, match=r"JobService\.CreateNasJob") as error:
        client.create_nas_job(parent="p", nas_job={})
    assert "local_gcp does not emulate" in error.value.message


def test_a_bug_is_no_silence(client, caplog):
    with pytest.raises(exceptions.MethodNotImplemented, match="KeyError: 'oops'"):
        client.get_custom_job(name="j/broken")
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (api.CopyModelRequest(encryption_spec={"kms_key_name": "k"}), "encryption_spec"),
        (api.UploadModelRequest(service_account="a@b"), "service_account"),
        (api.PredictRequest(labels={"a": "b"}), "labels"),
    ],
)
def test_a_field_that_no_method_reads_is_refused_by_name(request_, field):
    with pytest.raises(RpcError, match=field) as caught:
        refuse_unread(request_)
    assert caught.value.code is grpc.StatusCode.UNIMPLEMENTED
    refuse_unread(type(request_)())


def test_an_internal_error_is_unimplemented_with_its_text():
    """INTERNAL is retried, and blames Google Cloud for what local_gcp does not do."""
    error = as_rpc_error(ZeroDivisionError("by 0"), "google.x.Y.Z")
    assert error.code is grpc.StatusCode.UNIMPLEMENTED
    assert "google.x.Y.Z" in error.message
    assert "ZeroDivisionError: by 0" in error.message
    assert status_of(KeyError("a")).code == code_pb2.UNIMPLEMENTED
