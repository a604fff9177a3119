"""Errors that no stand-in for Google can produce: refusals, and operations that end badly."""

import pytest
from airflow.providers.google.cloud.operators.vertex_ai import endpoint_service as provider
from google.api_core import exceptions
from google.longrunning import operations_pb2
from google.rpc import code_pb2

from tests.trellis.vertex.deploying import PLACE, run
from trellis.verdict import JobFailed, JobFailedForGood
from trellis.vertex import submission
from trellis.vertex.endpoints import EndpointBaseOperator
from trellis.vertex.stepwise import unfinished


class Steps(EndpointBaseOperator, provider.DeployModelOperator):
    """Does one thing after the other: raises it, waits for it, or returns it."""

    doing = "deploy the model"

    def __init__(self, *, things, began, **arguments):
        super().__init__(endpoint_id="1", deployed_model={}, **arguments)
        self.things = list(things)
        self.began = began

    def _advance(self, context, done):
        thing = self.things.pop(0)
        if isinstance(thing, Exception):
            raise thing
        if isinstance(thing, operations_pb2.Operation):
            return self._wait(context, thing, self.began)
        return thing, done

    def _advice(self, code):
        return "Ask for fewer machines." if code == code_pb2.RESOURCE_EXHAUSTED else ""


def steps(*things, began="deploy the model"):
    return Steps(task_id="task", things=things, began=began, **PLACE)


def operation(code=0, message=""):
    """An operation that has ended."""
    ended = operations_pb2.Operation(name="projects/1/operations/2", done=True)
    if code:
        ended.error.code, ended.error.message = code, message
    else:
        ended.response.SetInParent()
    return ended


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(submission, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(submission, "LONGEST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(submission, "PATIENCE_SECONDS", 0.2)


def test_after_what_it_waited_for_it_looks_again():
    assert run(steps(operation(), "result")) == ("result", "deploy the model")


def test_a_busy_service_is_asked_again():
    busy = [exceptions.ResourceExhausted("full"), exceptions.ServiceUnavailable("reset")]
    assert run(steps(*busy, "result")) == ("result", None)


def test_a_service_that_stays_busy_is_left_to_the_retries_of_the_task():
    with pytest.raises(JobFailed, match=r"us-central1 did not deploy.*full\nAsk for fewer"):
        run(steps(*[exceptions.ResourceExhausted("full")] * 100))


def test_what_is_in_the_way_for_now_is_tried_again():
    with pytest.raises(JobFailed, match=r"being changed\nThis may be transient"):
        run(steps(exceptions.FailedPrecondition("being changed")))


def test_a_permission_that_is_missing_is_reported():
    said = "Permission 'aiplatform.endpoints.deploy' denied on resource"
    with pytest.raises(JobFailedForGood, match=rf"refuses to deploy the model: {said}"):
        run(steps(exceptions.PermissionDenied(said)))


def test_only_a_host_without_vertex_ai_makes_the_region_doubtful():
    missing = exceptions.MethodNotImplemented("ListOperations is not implemented")
    with pytest.raises(JobFailedForGood, match=r"cannot deploy.*is not implemented$"):
        run(steps(missing))
    nobody = exceptions.MethodNotImplemented("Received http2 header with status: 404")
    with pytest.raises(JobFailedForGood, match=r"Is there a region us-central1 with Vertex"):
        run(steps(nobody))


def test_an_operation_that_failed_tells_why():
    with pytest.raises(JobFailedForGood, match=r"exit code 1.*operations/2\)\nClear this"):
        run(steps(operation(code_pb2.FAILED_PRECONDITION, "exit code 1")))
    with pytest.raises(JobFailed, match=r"no n1 left.*\nAsk for fewer machines"):
        run(steps(operation(code_pb2.RESOURCE_EXHAUSTED, "no n1 left")))


def test_an_operation_of_someone_else_that_failed_is_only_waited_for():
    theirs = operation(code_pb2.INTERNAL, "lost")
    assert run(steps(theirs, "result", began=None)) == ("result", None)


def test_an_operation_that_is_gone_ends_the_wait(google):
    gone = operations_pb2.Operation(
        name="projects/local-gcp/locations/us-central1/endpoints/1/operations/2"
    )
    with pytest.raises(JobFailedForGood, match=r"could not deploy the model: .*not found"):
        run(steps(gone))


class Unlisted:
    def list_operations(self, request, **_):
        raise exceptions.MethodNotImplemented("Operation is not implemented")


def test_where_operations_are_not_listed_there_are_none_to_wait_for():
    assert unfinished(Unlisted(), "projects/1/locations/r/endpoints/2") == []
