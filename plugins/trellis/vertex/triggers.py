"""Wait for a Vertex AI job in the triggerer, where thousands of waits share one process."""

import datetime
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

from airflow.providers.google.cloud.hooks.vertex_ai.custom_job import CustomJobAsyncHook
from airflow.triggers.base import BaseTrigger, TriggerEvent
from google.api_core import exceptions
from google.rpc import code_pb2

from trellis.vertex.calls import CALL_TIMEOUT_SECONDS
from trellis.vertex.jobs import KINDS, overstayed, state_of
from trellis.vertex.outcome import FINISHED
from trellis.waiting import in_trigger


class _VertexTrigger(BaseTrigger):
    """Fires once, when `_poll` returns an event.

    name: the resource name. poll_interval: seconds between two polls.
    """

    path: ClassVar[str]
    """The class, as the triggerer imports it."""
    _service = "job"

    def __init__(
        self,
        *,
        name: str,
        region: str,
        poll_interval: float,
        gcp_conn_id: str = "google_cloud_default",
        impersonation_chain: str | Sequence[str] | None = None,
    ):
        super().__init__()
        self.name = name
        self.region = region
        self.poll_interval = poll_interval
        self.gcp_conn_id = gcp_conn_id
        self.impersonation_chain = impersonation_chain
        self._connected: Any = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("name", "region", "poll_interval", "gcp_conn_id", "impersonation_chain")
        return self.path, {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent(await in_trigger(self._poll, self.name, self.poll_interval, self.log))

    async def _client(self) -> Any:
        if self._connected is None:
            hook = CustomJobAsyncHook(
                gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain
            )
            connect = getattr(hook, f"get_{self._service}_service_client")
            self._connected = await connect(region=self.region)
        return self._connected

    async def _poll(self) -> dict[str, Any] | None:
        """The event to fire, None until the work has ended."""
        raise NotImplementedError


class OperationTrigger(_VertexTrigger):
    """Fires when a long-running operation has ended, or its time is over: `{"name": ..., "done",
    "code", "message", "began"}`.

    done: whether it has ended. code, message: google.rpc.Status of an operation that failed; 0 for
    one that succeeded; NOT_FOUND for one deleted with its resource. When the task is killed, its
    operation goes on: those of datasets are short and cost nothing, those of deployments cannot be
    cancelled.

    name: the operation's resource name, of any of Vertex AI's services. began: a value that the
    waiting task gets back in the event. until: end of its time in Unix seconds; None: no end.
    """

    path = "trellis.vertex.triggers.OperationTrigger"

    def __init__(self, *, began: str | None = None, until: float | None = None, **arguments: Any):
        super().__init__(**arguments)
        self.began = began
        self.until = until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, arguments = super().serialize()
        return path, {"began": self.began, "until": self.until, **arguments}

    async def _poll(self) -> dict[str, Any] | None:
        client = await self._client()
        try:
            operation = await client.get_operation(
                {"name": self.name}, timeout=CALL_TIMEOUT_SECONDS
            )
        except exceptions.NotFound as error:
            return self._event(code_pb2.NOT_FOUND, error.message)
        if operation.done or (self.until is not None and time.time() > self.until):
            return self._event(operation.error.code, operation.error.message, operation.done)
        return None

    def _event(self, code: int, message: str, done: bool = True) -> dict[str, Any]:
        event = {"name": self.name, "done": done, "code": code, "message": message}
        return {**event, "began": self.began}


class VertexJobTrigger(_VertexTrigger):
    """Fires when the job has ended: `{"name": ..., "state": "JOB_STATE_..."}`.

    If the job is gone, the event has no state. When a person marks, clears or deletes the
    waiting task, the job is cancelled. A triggerer that restarts, or hands its work over, leaves
    the job alone.

    kind: the `field` of a `vertex.jobs.JobKind`. wait, limit: as `vertex.jobs.overstayed`; a job
    that passes one is cancelled.
    """

    path = "trellis.vertex.triggers.VertexJobTrigger"

    def __init__(
        self,
        *,
        kind: str,
        wait: float | None = None,
        limit: float | None = None,
        **arguments: Any,
    ):
        super().__init__(**arguments)
        self.kind = kind
        self._service = KINDS[kind].service
        self.wait = wait
        self.limit = limit
        self._last_state: Any = None
        self._stopped = False

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, arguments = super().serialize()
        return path, {"kind": self.kind, "wait": self.wait, "limit": self.limit, **arguments}

    async def on_kill(self) -> None:
        title = KINDS[self.kind].title
        self.log.info("The task was killed: cancelling its %s %s", title, self.name)
        await self._cancel(await self._client())

    async def _poll(self) -> dict[str, Any] | None:
        client = await self._client()
        try:
            job = await getattr(client, f"get_{self.kind}")(
                request={"name": self.name}, timeout=CALL_TIMEOUT_SECONDS
            )
        except exceptions.NotFound:
            return {"name": self.name, "state": None}
        state = state_of(job)
        if state in FINISHED:
            return {"name": self.name, "state": state.name}
        if state != self._last_state:
            self._last_state = state
            self.log.info("%s is %s", self.name, state.name)
        passed = overstayed(job, datetime.datetime.now(datetime.UTC), self.wait, self.limit)
        if passed and not self._stopped:
            self.log.warning("%s has passed its %s: cancelling it", self.name, passed)
            await self._cancel(client)
            self._stopped = True
        return None

    async def _cancel(self, client: Any) -> None:
        await getattr(client, f"cancel_{self.kind}")(
            request={"name": self.name}, timeout=CALL_TIMEOUT_SECONDS
        )
