"""Wait for a BigQuery job in the triggerer, where thousands of waits share one process."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from airflow.providers.google.cloud.hooks.bigquery import BigQueryAsyncHook
from airflow.triggers.base import BaseTrigger, TriggerEvent
from google.api_core import exceptions

from trellis.waiting import in_trigger


class BigQueryJobTrigger(BaseTrigger):
    """Fires once, when the job is done: `{"job_id": ..., "found": whether it still exists}`.

    A failed poll does not count as the job's failure, as it does in the provider's trigger.

    When a person marks, clears or deletes the waiting task, the job is cancelled. A triggerer that
    restarts, or hands its work over, leaves the job alone.
    """

    def __init__(
        self,
        *,
        project_id: str,
        location: str,
        job_id: str,
        poll_interval: float,
        gcp_conn_id: str = "google_cloud_default",
        impersonation_chain: str | Sequence[str] | None = None,
    ):
        super().__init__()
        self.project_id = project_id
        self.location = location
        self.job_id = job_id
        self.poll_interval = poll_interval
        self.gcp_conn_id = gcp_conn_id
        self.impersonation_chain = impersonation_chain

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("project_id", "location", "job_id", "poll_interval", "gcp_conn_id")
        arguments = {name: getattr(self, name) for name in (*names, "impersonation_chain")}
        return "trellis.bigquery.triggers.BigQueryJobTrigger", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent(await in_trigger(self._poll, self.job_id, self.poll_interval, self.log))

    async def _poll(self) -> dict[str, Any] | None:
        try:
            status = await self._hook().get_job_status(
                job_id=self.job_id, project_id=self.project_id, location=self.location
            )
        except exceptions.NotFound:
            return {"job_id": self.job_id, "found": False}
        done = status["status"] in ("success", "error")
        return {"job_id": self.job_id, "found": True} if done else None

    async def on_kill(self) -> None:
        self.log.info("The task was killed: cancelling its BigQuery job %s", self.job_id)
        hook = await self._hook().get_sync_hook()
        # Not the asynchronous hook's own cancel: its aiohttp session ignores proxies.
        client = await asyncio.to_thread(hook.get_client, self.project_id, self.location)
        await asyncio.to_thread(client.cancel_job, self.job_id)

    def _hook(self) -> BigQueryAsyncHook:
        return BigQueryAsyncHook(
            gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain
        )
