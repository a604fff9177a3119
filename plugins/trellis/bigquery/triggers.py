"""Wait for a BigQuery job in the triggerer, where thousands of waits share one process."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.providers.google.cloud.triggers.bigquery import BigQueryInsertJobTrigger
from airflow.triggers.base import TriggerEvent
from google.api_core import exceptions

from trellis.waiting import in_trigger


class BigQueryJobTrigger(BigQueryInsertJobTrigger):
    """Fires once, when the job is done: `{"job_id": ..., "found": whether it still exists}`.

    A failed poll does not count as the job's failure, as it does in the provider's trigger.

    When a person marks, clears or deletes the waiting task, the job is cancelled. A triggerer that
    restarts, or hands its work over, leaves the job alone.
    """

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "trellis.bigquery.triggers.BigQueryJobTrigger", super().serialize()[1]

    async def run(self) -> AsyncIterator[TriggerEvent]:
        poll, job = self._poll, self.job_id or ""
        yield TriggerEvent(await in_trigger(poll, job, self.poll_interval, self.log))

    async def _poll(self) -> dict[str, Any] | None:
        try:
            status = await self._get_async_hook().get_job_status(
                job_id=self.job_id, project_id=self.project_id, location=self.location
            )
        except exceptions.NotFound:
            return {"job_id": self.job_id, "found": False}
        done = status["status"] in ("success", "error")
        return {"job_id": self.job_id, "found": True} if done else None

    async def on_kill(self) -> None:
        if not (self.job_id and self.cancel_on_kill):
            return
        self.log.info("The task was killed: cancelling its BigQuery job %s", self.job_id)
        hook = await self._get_async_hook().get_sync_hook()
        # Not the asynchronous hook's own cancel: its aiohttp session ignores proxies.
        client = await asyncio.to_thread(hook.get_client, self.project_id, self.location)
        await asyncio.to_thread(client.cancel_job, self.job_id)
