"""Operators that look at what is there, do what is missing, wait for it, and look again.

Nothing is remembered between two steps, so a task may be killed between any two calls: the next
attempt finds what the one before has done, and waits for what it has begun.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from google.api_core import exceptions, retry

from vertex import submission
from vertex.base import VertexOperator
from vertex.jobs import CALL_TIMEOUT_SECONDS
from vertex.outcome import PASSING, VertexJobFailed, VertexJobFailedForGood
from vertex.submission import TRY_AGAIN, reason
from vertex.triggers import OperationTrigger


class StepwiseOperator(VertexOperator):
    """See the module. A subclass says in `_advance` what there is to do.

    Operations of Vertex AI (a deployment takes minutes) are waited for deferred. They cannot be
    cancelled: one whose task is killed goes on, and the next attempt, or whatever undoes the
    task's work, finds it and waits for it.
    """

    doing: ClassVar[str]
    """What the task does, for messages: "deploy the model"."""

    def execute(self, context: Any) -> Any:
        return self._patiently(lambda: self._advance(context, None))

    def resume(self, context: Any, event: dict[str, Any]) -> Any:
        """An operation has ended."""
        return self._patiently(lambda: self._ended(context, event))

    def _advance(self, context: Any, done: str | None) -> Any:
        """One look, and what follows from it: the task's result, or `_wait`'s.

        done: what this attempt's own operation, which just ended well, has done.
        """
        raise NotImplementedError

    def _advice(self, code: int) -> str:
        """A sentence for errors of a google.rpc.Code, "" if there is none to give."""
        return ""

    def _wait(self, context: Any, operation: Any, began: str | None) -> Any:
        """Wait for a google.longrunning.Operation, deferred, and `_advance` then.

        began: what this task did by it, None for someone else's.
        """
        if operation.done:
            return self._ended(context, {**_event(operation), "began": began})
        self.log.info("Waiting for %s", operation.name)
        self.defer(
            trigger=OperationTrigger(
                name=operation.name,
                began=began,
                region=self.region,
                poll_interval=self.poll_interval,
                gcp_conn_id=self.gcp_conn_id,
                impersonation_chain=self.impersonation_chain,
            ),
            method_name="resume",
        )

    def _ended(self, context: Any, event: dict[str, Any]) -> Any:
        began = event["began"]
        if event["code"] and began is None:
            # Whatever it was to do, this task looks itself at what there is to do.
            self.log.warning("%s failed: %s", event["name"], event["message"])
        elif event["code"]:
            raise_if_failed(event, began, self._advice(event["code"]))
        return self._advance(context, began)

    def _patiently(self, step: Callable[[], Any]) -> Any:
        """Take a step, again and again while Vertex AI is busy; each begins with a look."""
        patient = retry.Retry(
            predicate=retry.if_exception_type(*TRY_AGAIN),
            initial=submission.FIRST_PAUSE_SECONDS,
            maximum=submission.LONGEST_PAUSE_SECONDS,
            timeout=submission.PATIENCE_SECONDS,
            on_error=lambda error: self.log.warning(
                "Vertex AI refused, trying again: %s", reason(error)
            ),
        )
        try:
            return patient(step)()
        except exceptions.RetryError as error:
            cause, seconds = error.cause, submission.PATIENCE_SECONDS
            raise VertexJobFailed(
                f"Vertex AI in {self.region} did not {self.doing} for {seconds:.0f} s: "
                f"{reason(cause)}{self._advice_on(cause)}"
            ) from error
        except exceptions.FailedPrecondition as error:
            raise VertexJobFailed(
                f"Vertex AI could not {self.doing}: {reason(error)}{self._advice_on(error)}\n"
                "This may pass: the task is tried again."
            ) from error
        except exceptions.MethodNotImplemented as error:
            # What an address that serves no Vertex AI answers: that of a region without it.
            raise VertexJobFailedForGood(
                f"Vertex AI in {self.region} cannot {self.doing}: {reason(error)}\n"
                f"Is there a region {self.region} with Vertex AI?"
            ) from error
        except exceptions.ClientError as error:
            raise VertexJobFailedForGood(
                f"Vertex AI refuses to {self.doing}: {reason(error)}{self._advice_on(error)}\n"
                "Clear this task once the cause is gone."
            ) from error

    def _advice_on(self, error: Any) -> str:
        code = getattr(error, "grpc_status_code", None)
        advice = self._advice(code.value[0]) if code is not None else ""
        return f"\n{advice}" if advice else ""

    @property
    def _parent(self) -> str:
        return f"projects/{self.project_id}/locations/{self.region}"


def raise_if_failed(event: dict[str, Any], what: str, advice: str = "") -> None:
    """Raise VertexJobFailed or VertexJobFailedForGood for an OperationTrigger's event with a code.

    what: what the operation was to do: "create the dataset".
    """
    if not event["code"]:
        return
    text = f"Vertex AI could not {what}: {event['message']} (operation {event['name']})"
    if advice:
        text += f"\n{advice}"
    if event["code"] in PASSING:
        raise VertexJobFailed(f"{text}\nThis may pass: the task is tried again.")
    raise VertexJobFailedForGood(f"{text}\nClear this task once the cause is gone.")


def unfinished(client: Any, resource: str) -> list[Any]:
    """The operations under way on a resource, which may not be there yet.

    `client`: of the service that the resource belongs to.
    """
    request = {"name": resource}
    found: list[Any] = []
    while True:
        try:
            page = client.list_operations(request, timeout=CALL_TIMEOUT_SECONDS)
        except exceptions.NotFound:
            return []
        found += [operation for operation in page.operations if not operation.done]
        if not page.next_page_token:
            return found
        request["page_token"] = page.next_page_token


def _event(operation: Any) -> dict[str, Any]:
    """What OperationTrigger fires with for this operation, which has ended."""
    return {
        "name": operation.name,
        "code": operation.error.code,
        "message": operation.error.message,
    }
