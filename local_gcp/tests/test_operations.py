"""Long-running operations over gRPC, with Google's client."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.api_core import exceptions, operation
from google.api_core.operations_v1 import OperationsClient
from google.cloud.aiplatform_v1 import DeleteModelRequest, DeleteOperationMetadata, Model
from google.longrunning import operations_pb2
from google.rpc.status_pb2 import Status

from local_gcp.operations import Operations
from local_gcp.project import DEFAULT_PROJECT as PROJECT
from local_gcp.project import PROJECT_NUMBER
from local_gcp.state import State
from local_gcp.variants import Variants
from local_gcp.wire import RpcError, ServiceHandler, failed_precondition

MODEL = f"projects/{PROJECT_NUMBER}/locations/us-central1/models/1"


ENDPOINT = MODEL.replace("models", "endpoints")


class Registry:
    """A service of models, each with one operation: to be deleted."""

    def __init__(self, state, variants):
        self.models = state.table("models", Model)
        self.operations = Operations(state, variants)
        self.operations.define("delete_model", DeleteModelRequest, self.delete)

    def delete(self, resource, request):
        assert resource == request.name
        if not self.models.delete(resource):
            raise failed_precondition(f"{resource} is gone")

    def begin_deletion(self):
        metadata = DeleteOperationMetadata()
        return self.operations.begin(
            "delete_model", MODEL, DeleteModelRequest(name=MODEL), metadata
        )


@pytest.fixture
def make_registry(tmp_path):
    """make_registry("operation-seconds=1", ...): one after the other, as after restarts."""
    made = []

    def make(*variants):
        registry = Registry(State(tmp_path / "state.db"), Variants.parse(*variants))
        registry.models.put(MODEL, Model(name=MODEL))
        made.append(registry)
        return registry

    yield make
    for registry in made:
        registry.operations.stop()


@pytest.fixture
def operations(make_registry):
    return make_registry("operation-seconds=0").operations


def ended(operations, resource=MODEL, *result):
    return operations.finish(operations.start(resource).name, *result)


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


def test_an_operation_that_is_done_has_its_result(operations, client):
    started = operations.start(MODEL, DeleteOperationMetadata())
    done = operations.finish(started.name, Model(name=MODEL))
    future = operation.from_gapic(done, client, Model, metadata_type=DeleteOperationMetadata)
    assert future.result(timeout=5).name == MODEL
    assert done.name.startswith(f"{MODEL}/operations/")


def test_a_deletion_is_an_operation_of_the_location(make_registry):
    registry = make_registry("operation-seconds=0")
    request, metadata = DeleteModelRequest(name=MODEL), DeleteOperationMetadata()
    done = registry.operations.begin_deletion("delete_model", MODEL, request, metadata)
    location, _, number = done.name.partition("/operations/")
    assert (location, number.isdigit()) == (MODEL.partition("/models/")[0], True)
    assert done.done
    assert registry.models.get(MODEL) is None


def test_a_client_waits_until_another_thread_finishes(operations, client):
    started = operations.start(MODEL)
    threading.Timer(0.2, operations.finish, [started.name, Model(name=MODEL)]).start()
    future = operation.from_gapic(started, client, Model)
    assert future.result(timeout=60).name == MODEL


def test_an_error_is_raised_at_the_client(operations, client):
    started = operations.start(MODEL)
    operations.finish(started.name, error=Status(code=5, message="no artifacts"))
    with pytest.raises(exceptions.NotFound, match="no artifacts"):
        operation.from_gapic(started, client, Model).result(timeout=5)


def test_operations_are_listed_and_found_by_project_id_too(operations, client):
    first = ended(operations)
    by_id = first.name.replace(str(PROJECT_NUMBER), PROJECT)
    assert client.get_operation(by_id).name == first.name
    assert [op.name for op in client.list_operations(MODEL, "")] == [first.name]
    assert list(client.list_operations(f"{MODEL}0", "")) == []


def test_unfinished_operations_are_found_by_what_they_are_about(operations, client):
    ended(operations)
    going = operations.start(MODEL)
    operations.start(f"{MODEL}0")

    def listed(name, text):
        return [op.name for op in client.list_operations(name, text)]

    assert listed(MODEL, "done=false") == listed(MODEL, "done!=true") == [going.name]
    assert listed(MODEL, f"operation_id={going.name.rpartition('/')[2]}") == [going.name]
    assert len(listed(MODEL.partition("/models")[0], "done=false")) == 2, "of the location"
    with pytest.raises(exceptions.InvalidArgument, match="supported are done, operation_id"):
        listed(MODEL, "state=RUNNING")


def test_finishing_twice_is_an_error_of_the_caller(operations):
    done = ended(operations)
    with pytest.raises(ValueError, match="is not an unfinished operation"):
        operations.finish(done.name)


def test_what_was_begun_ends_after_its_time_with_its_effect(make_registry):
    registry = make_registry("operation-seconds=0.3")
    begun = registry.begin_deletion()
    assert not begun.done
    assert registry.operations.under_way("delete_model", MODEL)
    assert registry.models.get(MODEL), "the effect comes with the end"
    assert not result(registry, begun.name).error.code
    assert registry.models.get(MODEL) is None
    assert not registry.operations.under_way("delete_model", MODEL)


def test_operations_that_take_no_time_are_done_in_the_answer(make_registry):
    registry = make_registry("operation-seconds=0")
    assert registry.begin_deletion().HasField("response")
    assert registry.models.get(MODEL) is None


def test_an_end_that_is_refused_is_the_operations_error(make_registry):
    registry = make_registry("operation-seconds=0.05")
    first, second = registry.begin_deletion(), registry.begin_deletion()
    errors = [result(registry, name).error.message for name in (first.name, second.name)]
    assert sorted(errors) == ["", f"{MODEL} is gone"]


def test_an_unfinished_operation_goes_on_after_a_restart(make_registry):
    killed = make_registry("operation-seconds=3600")
    begun = killed.begin_deletion()
    killed.operations.stop()
    waiting = killed.operations._waiting
    waiting.put(begun.name, {**waiting.get(begun.name), "due": time.time()})
    again = make_registry("operation-seconds=3600")
    assert not get(again, begun.name).done
    again.operations.run()
    assert result(again, begun.name).HasField("response")
    assert again.models.get(MODEL) is None


def test_so_many_operations_of_a_method_fail_late_and_nothing_comes_of_them(make_registry):
    registry = make_registry("operation-seconds=0.05", "failing-operations=2")
    errors = []
    for _ in range(3):
        begun = registry.begin_deletion()
        assert not begun.done, "it is accepted"
        errors.append(result(registry, begun.name).error)
    assert [error.code for error in errors] == [13, 13, 0]
    assert registry.models.get(MODEL) is None, "by the third"


def test_the_operations_of_resources_and_regions_may_be_unlisted(make_registry):
    operations = make_registry("list-operations=unimplemented").operations
    request = operations_pb2.ListOperationsRequest
    for resource in (MODEL, ENDPOINT):
        started = operations.start(resource)
        with pytest.raises(RpcError, match="not implemented"):
            operations.list_operations(request(name=resource), None)
        found = operations.get_operation(
            operations_pb2.GetOperationRequest(name=started.name), None
        )
        assert found.name == started.name
    location = request(name=MODEL.partition("/models")[0])
    with pytest.raises(RpcError, match="not implemented"):
        operations.list_operations(location, None)
    store = f"{location.name}/metadataStores/default"
    started = operations.start(store)
    assert operations.list_operations(request(name=store), None)["operations"] == [started]


def get(registry, name):
    return registry.operations.get_operation(operations_pb2.GetOperationRequest(name=name), None)


def result(registry, name):
    """The operation, when it is over."""
    deadline = time.monotonic() + 10
    while not (found := get(registry, name)).done:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found
