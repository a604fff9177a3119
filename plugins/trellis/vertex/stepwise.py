"""Operators that read the current state, do the next missing step, wait for it, and repeat.

They keep no state between steps, so a task may be killed between any two calls: the next attempt
finds what the previous one did, and waits for what it started.
"""

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from google.api_core import exceptions

from trellis.verdict import RETRIED, JobFailed, JobFailedForGood
from trellis.vertex import submission
from trellis.vertex.base import VertexTask
from trellis.vertex.calls import REPEATABLE
from trellis.vertex.outcome import PASSING
from trellis.vertex.submission import reason
from trellis.vertex.triggers import OperationTrigger
from trellis.waiting import in_task

# How long a list may lag behind an operation that has ended.
LAG_SECONDS = 60.0
LAG_PAUSE_SECONDS = 2.0

T = TypeVar("T")


class StepwiseOperator(VertexTask):
    """See the module; mixed in before an operator of the provider, whose one call it makes at the
    right moment. A subclass implements the steps in `_advance`.

    The task defers while it waits for an operation of Vertex AI (a deployment takes minutes).
    Operations cannot be cancelled: if the task is killed, or `wait` is over, its operation goes on,
    and the next attempt, or the task that undoes its work, finds the operation and waits for it.
    """

    doing: ClassVar[str]
    """Work of the task, for messages: "deploy the model"."""

    @cached_property
    def _client(self) -> Any:
        """The client whose methods read operations."""
        raise NotImplementedError

    def execute(self, context: Any) -> Any:
        return self._with_retries(lambda: self._advance(context, None))

    def resume(self, context: Any, event: dict[str, Any]) -> Any:
        """An operation has ended."""
        return self._with_retries(lambda: self._ended(context, event))

    def _advance(self, context: Any, done: str | None) -> Any:
        """Read the state and do one step; returns the task's result, or that of `_wait`.

        done: what this attempt's own operation, which just succeeded, has done.
        """
        raise NotImplementedError

    def _advice(self, code: int) -> str:
        """Advice for errors of a google.rpc.Code; "" if there is none."""
        return ""

    def _wait(self, context: Any, operation: Any, began: str | None) -> Any:
        """Wait for a google.longrunning.Operation, deferred, then call `_advance`.

        began: what this task does with the operation; None if another task started it.
        """
        if operation.done:
            return self._ended(context, {**event_of(operation), "began": began})
        self.log.info("Waiting for %s", operation.name)
        since = time.time()
        event = in_task(lambda: ended(self._client, operation.name))
        if event is not None:
            return self._ended(context, {**event, "began": began})
        until = None if self.wait is None else since + self.wait
        self._defer(OperationTrigger, "resume", name=operation.name, began=began, until=until)

    def _ended(self, context: Any, event: dict[str, Any]) -> Any:
        began = event["began"]
        if not event["done"]:
            raise JobFailedForGood(
                f"Vertex AI did not {began or self.doing} within {self.wait:.0f} s: the operation "
                f"{event['name']} is not done. It cannot be cancelled, and goes on; what it "
                "deploys is paid for. Clear this task to wait for it again, or let it wait "
                "longer: `machines.wait` of platform.yaml."
            )
        if event["code"] and began is None:
            # Another task's operation: `_advance` reads the state again in any case.
            self.log.warning("%s failed: %s", event["name"], event["message"])
        elif event["code"]:
            raise_if_failed(event, began, self._advice(event["code"]))
        return self._advance(context, began)

    def _listed(self, find: Callable[[], T], done: str | None) -> T:
        """The result of `find`, which looks in a list for what the task makes.

        If this attempt has just made it (`done`), the list is given some time to show it, as the
        next attempt would make another: then JobFailed.
        """
        deadline = time.monotonic() + LAG_SECONDS
        while not (found := find()) and done:
            if time.monotonic() >= deadline:
                raise JobFailed(
                    f"Vertex AI did {done}, but does not list it after {LAG_SECONDS:.0f} s: "
                    "Airflow retries the task."
                )
            time.sleep(LAG_PAUSE_SECONDS)
        return found

    def _with_retries(self, step: Callable[[], Any]) -> Any:
        """Do a step, retrying while Vertex AI is busy; each try reads the state first."""
        try:
            return submission.retrying(self.log)(step)()
        except exceptions.RetryError as error:
            cause, seconds = error.cause, submission.PATIENCE_SECONDS
            raise JobFailed(
                f"Vertex AI in {self.region} did not {self.doing} for {seconds:.0f} s: "
                f"{reason(cause)}{self._advice_on(cause)}"
            ) from error
        except exceptions.FailedPrecondition as error:
            raise JobFailed(
                f"Vertex AI could not {self.doing}: {reason(error)}{self._advice_on(error)}\n"
                f"{RETRIED}"
            ) from error
        except exceptions.MethodNotImplemented as error:
            hint = f"\nIs there a region {self.region} with Vertex AI?" if no_service(error) else ""
            raise JobFailedForGood(
                f"Vertex AI in {self.region} cannot {self.doing}: {reason(error)}{hint}"
            ) from error
        except exceptions.ClientError as error:
            raise JobFailedForGood(
                f"Vertex AI refuses to {self.doing}: {reason(error)}{self._advice_on(error)}\n"
                "Clear this task once the cause is fixed."
            ) from error

    def _advice_on(self, error: Any) -> str:
        code = getattr(error, "grpc_status_code", None)
        advice = self._advice(code.value[0]) if code is not None else ""
        return f"\n{advice}" if advice else ""

    @property
    def _parent(self) -> str:
        return f"projects/{self.project_id}/locations/{self.region}"


def no_service(error: exceptions.MethodNotImplemented) -> bool:
    """Return whether a host without Vertex AI answered, as in a region that does not exist.

    Such a host answers HTTP 404, which gRPC reports as UNIMPLEMENTED with this text
    (https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md). Vertex AI itself
    returns UNIMPLEMENTED for a method that it does not offer.
    """
    return "http2 header with status: 404" in error.message


def raise_if_failed(event: dict[str, Any], what: str, advice: str = "") -> None:
    """Raise JobFailed or JobFailedForGood for an OperationTrigger's event with a code.

    what: what the operation should do, as in "create the dataset".
    """
    if not event["code"]:
        return
    text = f"Vertex AI could not {what}: {event['message']} (operation {event['name']})"
    if advice:
        text += f"\n{advice}"
    if event["code"] in PASSING:
        raise JobFailed(f"{text}\n{RETRIED}")
    raise JobFailedForGood(f"{text}\nClear this task once the cause is fixed.")


def unfinished(client: Any, resource: str, method: str = "") -> list[Any]:
    """The running operations on a resource, which may not exist yet, or in a location.

    client: of the service that the resource belongs to. method: only operations of this one, as in
    "CreateDataset". None if Vertex AI does not list them: the
    callers' next steps are then refused while an operation runs, and retried.
    """
    request = {"name": resource}
    found: list[Any] = []
    while True:
        try:
            page = client.list_operations(request, **REPEATABLE)
        except exceptions.NotFound:
            return []
        except exceptions.MethodNotImplemented as error:
            if no_service(error):
                raise
            return []
        found += [operation for operation in page.operations if not operation.done]
        if not page.next_page_token:
            kind = f".{method}OperationMetadata" if method else ""
            return [each for each in found if each.metadata.type_url.endswith(kind)]
        request["page_token"] = page.next_page_token


def ended(client: Any, name: str) -> dict[str, Any] | None:
    """OperationTrigger's event if the operation of this name has ended, else None."""
    operation = client.get_operation({"name": name}, **REPEATABLE)
    return event_of(operation) if operation.done else None


def event_of(operation: Any) -> dict[str, Any]:
    """OperationTrigger's event for this operation, which has ended."""
    return {
        "name": operation.name,
        "done": True,
        "code": operation.error.code,
        "message": operation.error.message,
    }
