"""Long-running operations over gRPC, with Google's client."""

import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.api_core import exceptions, operation
from google.api_core.operations_v1 import OperationsClient
from google.cloud.aiplatform_v1 import DeleteOperationMetadata, Model
from google.longrunning import operations_pb2
from google.rpc.status_pb2 import Status

from local_gcp.operations import Operations
from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.project import PROJECT_NUMBER
from local_gcp.state import State
from local_gcp.wire import ServiceHandler

MODEL = f"projects/{PROJECT_NUMBER}/locations/us-central1/models/1"


@pytest.fixture
def operations(tmp_path):
    return Operations(State(tmp_path / "state.db"))


@pytest.fixture
def channel(operations):
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([ServiceHandler("google.longrunning.operations", operations)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    server.stop(None)


@pytest.fixture
def client(channel):
    return OperationsClient(channel)


def test_an_operation_that_is_done_at_once_has_its_result(operations, client):
    done = operations.done(MODEL, Model(name=MODEL), DeleteOperationMetadata())
    future = operation.from_gapic(done, client, Model, metadata_type=DeleteOperationMetadata)
    assert future.result(timeout=5).name == MODEL
    assert done.name.startswith(f"{MODEL}/operations/")


def test_a_client_waits_until_another_thread_finishes(operations, client):
    started = operations.start(MODEL)
    threading.Timer(0.2, operations.finish, [started.name, Model(name=MODEL)]).start()
    future = operation.from_gapic(started, client, Model)
    assert future.result(timeout=10).name == MODEL


def test_an_error_is_raised_at_the_client(operations, client):
    started = operations.start(MODEL)
    operations.finish(started.name, error=Status(code=5, message="no artifacts"))
    with pytest.raises(exceptions.NotFound, match="no artifacts"):
        operation.from_gapic(started, client, Model).result(timeout=5)


def test_wait_returns_when_it_is_done_or_time_is_up(operations, channel):
    wait = channel.unary_unary(
        "/google.longrunning.Operations/WaitOperation",
        operations_pb2.WaitOperationRequest.SerializeToString,
        operations_pb2.Operation.FromString,
    )
    started = operations.start(MODEL)
    request = operations_pb2.WaitOperationRequest(name=started.name)
    assert not wait(request, timeout=2).done, "an answer before the client's deadline"
    request.timeout.FromMilliseconds(100)
    assert not wait(request).done
    threading.Timer(0.2, operations.finish, [started.name]).start()
    request.timeout.FromSeconds(20)
    assert wait(request).done


def test_operations_are_listed_and_found_by_project_id_too(operations, client):
    first = operations.done(MODEL)
    by_id = first.name.replace(str(PROJECT_NUMBER), PROJECT)
    assert client.get_operation(by_id).name == first.name
    assert [op.name for op in client.list_operations(MODEL, "")] == [first.name]
    assert list(client.list_operations(f"{MODEL}0", "")) == []


def test_unfinished_operations_are_found_by_what_they_are_about(operations, client):
    operations.done(MODEL)
    going = operations.start(MODEL)
    operations.start(f"{MODEL}0")

    def listed(name, text):
        return [op.name for op in client.list_operations(name, text)]

    assert listed(MODEL, "done=false") == listed(MODEL, "done!=true") == [going.name]
    assert listed(MODEL, f"operation_id={going.name.rpartition('/')[2]}") == [going.name]
    assert len(listed(MODEL.partition("/models")[0], "done=false")) == 2, "of the location"
    with pytest.raises(exceptions.InvalidArgument, match="supported are done, operation_id"):
        listed(MODEL, "state=RUNNING")


def test_operations_are_deleted(operations, client):
    done = operations.done(MODEL)
    client.delete_operation(done.name)
    with pytest.raises(exceptions.NotFound):
        client.get_operation(done.name)


def test_what_cannot_be_cancelled_says_so(operations, client):
    with pytest.raises(exceptions.FailedPrecondition, match="is done"):
        client.cancel_operation(operations.done(MODEL).name)
    with pytest.raises(exceptions.MethodNotImplemented, match="cannot be cancelled"):
        client.cancel_operation(operations.start(MODEL).name)


def test_finishing_twice_is_an_error_of_the_caller(operations):
    done = operations.done(MODEL)
    with pytest.raises(ValueError, match="is not an unfinished operation"):
        operations.finish(done.name)
